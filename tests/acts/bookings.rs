//! The booking service, which counts its effects, and the tools that call it.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;
use verbale::message::ResultContent;
use verbale::model::{Tool, ToolContext, ToolError, ToolSpec};
use verbale::{ToolCall, ToolResult, Value};

use super::process::Process;
use super::world::{Effect, World};

/// The kinds of tools, each with its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It may act, and may be repeated.
    Repeatable,
    RepeatableExternal,
    Once,
    OnceExternal,
    OnceLookedUp,
    Key,
    KeyExternal,
    KeyLookedUp,
}

impl Kind {
    pub const ALL: [Self; 8] = [
        Self::Repeatable,
        Self::RepeatableExternal,
        Self::Once,
        Self::OnceExternal,
        Self::OnceLookedUp,
        Self::Key,
        Self::KeyExternal,
        Self::KeyLookedUp,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Repeatable => "repeatable",
            Self::RepeatableExternal => "repeatable_external",
            Self::Once => "once",
            Self::OnceExternal => "once_external",
            Self::OnceLookedUp => "once_looked_up",
            Self::Key => "key",
            Self::KeyExternal => "key_external",
            Self::KeyLookedUp => "key_looked_up",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub fn acts_once(self) -> bool {
        !matches!(self, Self::Repeatable | Self::RepeatableExternal)
    }

    fn deduplicates(self) -> bool {
        matches!(self, Self::Key | Self::KeyExternal | Self::KeyLookedUp)
    }

    pub fn is_external(self) -> bool {
        matches!(self, Self::RepeatableExternal | Self::OnceExternal | Self::KeyExternal)
    }

    fn is_looked_up(self) -> bool {
        matches!(self, Self::OnceLookedUp | Self::KeyLookedUp)
    }

    pub fn tool(self, process: &Process) -> Tool {
        let schema = Value::map([("type", Value::from("object"))]).unwrap();
        let spec = ToolSpec::new(self.name(), "Books an item.", schema).unwrap();
        let tool = if self.is_external() {
            Tool::external(spec)
        } else {
            let process = process.clone();
            Tool::raw(spec, move |arguments: Value, context: ToolContext| {
                let request = Request {
                    kind: self,
                    numbers: numbers(&arguments),
                    call: context.tool_call_id().to_string(),
                    key: context.idempotency_key().to_owned(),
                };
                let process = process.clone();
                async move { request.run(&process).await }
            })
        };
        let tool = tool.same_act(|earlier, later| holder(earlier) == holder(later));
        let tool = if self.acts_once() { tool.acts_once() } else { tool };
        let tool = if self.deduplicates() { tool.deduplicates_by_key() } else { tool };
        if !self.is_looked_up() {
            return tool;
        }
        let process = process.clone();
        tool.resume(move |context: ToolContext| {
            let (process, key) = (process.clone(), context.idempotency_key().to_owned());
            async move {
                let world = process.world();
                world.count("lookup after a takeover");
                world.pass(3_000).await;
                process.alive().await;
                if world.fault(world.plan().service_faults) {
                    return Err(ToolError::new("the service is away"));
                }
                let is_found = world.truth().keys.contains(&key);
                Ok(is_found.then(|| vec![ResultContent::from("BOOKED")]))
            }
        })
    }
}

/// Returns the item and the wish in the arguments of a call.
pub fn numbers(arguments: &Value) -> (u64, usize) {
    let json = serde_json::to_value(arguments).unwrap();
    (json["item_id"].as_u64().unwrap(), json["wish_id"].as_u64().unwrap() as usize)
}

/// The text that a redactor may replace in the log.
pub const HOLDER: &str = "Nadia";

/// Returns the holder of an item, who is different for each item.
fn holder(arguments: &Value) -> serde_json::Value {
    serde_json::to_value(arguments).unwrap()["holder"].clone()
}

/// The answer of the service.
enum Answer {
    Booked,
    /// It failed, and certainly did not act.
    Refused,
    /// Nobody knows.
    Unclear,
}

/// A request to the service.
pub struct Request {
    kind: Kind,
    numbers: (u64, usize),
    call: String,
    key: String,
}

impl Request {
    async fn run(self, process: &Process) -> Result<Vec<ResultContent>, ToolError> {
        let world = process.world().clone();
        let (sender, receiver) = oneshot::channel();
        process.alive().await;
        world.say(format!("{process}: {} runs", self.call));
        let (sent, wish) = (process.clone(), self.numbers.1);
        // The request is on its way, whatever happens to its process.
        tokio::spawn(async move {
            if let Some(answer) = self.arrive(&sent).await {
                let _ = sender.send(answer);
            }
        });
        let answer = receiver.await;
        process.alive().await;
        match answer {
            Ok(Answer::Booked) => {
                world.truth().arrived.insert((wish, process.number()));
                Ok(vec![ResultContent::from("BOOKED")])
            }
            Ok(Answer::Refused) => Err(ToolError::new("no room").with_type("Refused")),
            // A panic has an unknown outcome, too. Unlike `panic!`, this prints nothing.
            Ok(Answer::Unclear) if world.chance(50) => std::panic::resume_unwind(Box::new("a tool of the service")),
            Ok(Answer::Unclear) => Err(ToolError::new("no answer").with_type("OutcomeUnknown")),
            Err(_) => std::future::pending().await,
        }
    }

    /// Serves the request, in another process that never dies. Returns `None` if the answer is lost.
    async fn arrive(self, process: &Process) -> Option<Answer> {
        let world = process.world().clone();
        let (plan, (item, wish)) = (world.plan(), self.numbers);
        let faults = plan.service_faults;
        let way_ms = if world.fault(10) { 30_000 } else { 400 };
        world.pass(way_ms).await;
        if world.fault(faults / 2) {
            world.count("service failed before it acted");
            return Some(Answer::Refused);
        }
        let slow_ms = if world.is_calm() { 500 } else { plan.slowest_ms };
        if world.chance(30) {
            world.pass(slow_ms).await;
        }
        let is_known = {
            let mut truth = world.truth();
            let is_known = !truth.keys.insert(self.key.clone()) && self.kind.deduplicates();
            if !is_known {
                let call = self.call.clone();
                truth.effects.push(Effect { kind: self.kind, item, call });
            }
            is_known
        };
        if is_known {
            world.count("key known, no second effect");
        } else {
            world.count("effect");
            world.say(format!("{} of {process} has an effect for wish {wish}", self.call));
            if process.is_dead() {
                world.count("effect after the process died");
            }
            super::check::effects(&world);
        }
        sleep(Duration::from_millis(world.below(slow_ms))).await;
        if world.fault(faults / 2) {
            world.count("answer of the service is lost");
            return world.chance(60).then_some(Answer::Unclear);
        }
        Some(Answer::Booked)
    }
}

/// Runs a call of an external tool, as the service of a process does.
pub async fn run_external(world: World, process: Process, call: ToolCall) -> Option<ToolResult> {
    let kind = Kind::of_name(call.name().as_str()).filter(|kind| kind.is_external())?;
    let request = Request {
        kind,
        numbers: numbers(call.arguments()),
        call: call.id().to_string(),
        key: call.idempotency_key()?.to_owned(),
    };
    world.pass(200).await;
    let outcome = tokio::spawn({
        let process = process.clone();
        async move { request.run(&process).await }
    });
    match outcome.await {
        Ok(Ok(contents)) => Some(call.success(contents)),
        Ok(Err(error)) => Some(call.failure(error)),
        // A service that panics reports nothing.
        Err(_) => None,
    }
}
