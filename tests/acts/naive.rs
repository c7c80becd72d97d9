//! [`Naive`]: a model that calls a tool for each unconfirmed wish in every turn, whatever memory says.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::sleep;
use verbale::message::Text;
use verbale::model::{Failure, Generation, Model, ModelError, ModelEvent, ModelRequest, StopReason};
use verbale::{Content, Message, ToolCall, Value};

use super::bookings::{HOLDER, Kind, numbers};
use super::check;
use super::process::Process;
use super::remembered::remembered;
use super::world::World;

/// The word by which a message of the caller is known to ask for something.
pub const PLEASE: &str = "please";

#[derive(Clone)]
pub struct Naive(pub Process);

enum Step {
    Wait(u64),
    Emit(ModelEvent),
    Fail(Failure),
    Hang,
}

/// Returns the sentence that confirms a wish.
pub fn confirmation(wish: usize) -> String {
    format!("Wish {wish} is fulfilled. ")
}

impl Model for Naive {
    fn generate(&self, request: ModelRequest) -> Generation {
        check::request(&self.0, &request);
        let steps = self.steps(&request);
        let run = |step| async {
            match step {
                Step::Wait(ms) => {
                    sleep(Duration::from_millis(ms)).await;
                    None
                }
                Step::Emit(event) => Some(Ok(event)),
                Step::Fail(failure) => Some(Err(ModelError::new(failure))),
                Step::Hang => std::future::pending().await,
            }
        };
        Box::pin(stream::iter(steps).filter_map(run))
    }
}

impl Naive {
    fn steps(&self, request: &ModelRequest) -> Vec<Step> {
        let world = self.0.world();
        let faults = world.plan().model_faults;
        let mut steps = vec![Step::Wait(world.below(600))];
        if world.fault(faults / 3) {
            let failure = match world.below(5) {
                0 => Failure::Denied(String::new()),
                1 => Failure::Unreachable,
                2 | 3 => Failure::Throttled,
                _ => {
                    steps.push(Step::Hang);
                    return steps;
                }
            };
            steps.push(Step::Fail(failure));
            return steps;
        }
        let asks = request.messages.last().is_some_and(asks) && !request.tools.is_empty();
        let text = if asks { self.ask(&mut steps) } else { self.tell(request) };
        let words: Vec<&str> = text.split_inclusive(' ').collect();
        let fails_after = world.fault(faults / 2).then(|| world.below(words.len() as u64 + 2) as usize);
        let mut said = Vec::new();
        for (index, word) in words.iter().enumerate() {
            if fails_after == Some(index) {
                break;
            }
            said.extend([Step::Emit(ModelEvent::Text(Text::from(*word))), Step::Wait(world.below(60))]);
        }
        let calls = steps.split_off(1);
        steps.extend(said);
        if fails_after.is_some() {
            let partial_calls = world.chance(30);
            if partial_calls {
                steps.extend(calls);
            }
            steps.push(match world.below(6) {
                0 => Step::Fail(Failure::Cut),
                1 => Step::Hang,
                2 => Step::Emit(ModelEvent::Stop(StopReason::MaxTokens)),
                3 => Step::Emit(ModelEvent::Stop(StopReason::Filtered)),
                4 => Step::Fail(Failure::Throttled),
                // No stop.
                _ => Step::Wait(1),
            });
            return steps;
        }
        let reason = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        steps.extend(calls);
        steps.push(Step::Emit(ModelEvent::Stop(reason)));
        if world.fault(faults / 10) {
            // The stream never ends.
            steps.push(Step::Hang);
        }
        steps
    }

    /// Adds a call for each open wish, and returns the words before them.
    fn ask(&self, steps: &mut Vec<Step>) -> String {
        let world = self.0.world();
        for wish in world.open_wishes() {
            let times = if world.fault(8) { 2 } else { 1 };
            if times == 2 {
                world.count("tool called twice in an answer");
            }
            for _ in 0..times {
                let call = self.call(wish);
                world.say(format!("{}: the model calls {} for wish {wish}", self.0, call.id()));
                steps.push(Step::Emit(ModelEvent::ToolCall(call)));
            }
        }
        match world.below(3) {
            0 => "One moment. ".to_owned(),
            _ => String::new(),
        }
    }

    fn call(&self, wish: usize) -> ToolCall {
        let world = self.0.world();
        let mut truth = world.truth();
        truth.next_call += 1;
        let id = format!("c{}", truth.next_call);
        let (kind, item) = (truth.wishes[wish].kind, truth.wishes[wish].item);
        let arguments = [
            ("holder", Value::from(format!("{HOLDER}-{item}"))),
            ("item_id", Value::from(item)),
            ("wish_id", Value::from(wish as u64)),
        ];
        let arguments = Value::map(arguments).unwrap();
        ToolCall::new(id.as_str(), kind.name(), arguments).unwrap()
    }

    /// Returns what the results for each open wish say.
    fn tell(&self, request: &ModelRequest) -> String {
        let outcomes = outcomes(request);
        let told: String = self
            .0
            .world()
            .open_wishes()
            .into_iter()
            .map(|wish| match outcomes.iter().filter(|(of, _)| *of == wish).map(|(_, succeeded)| *succeeded).max() {
                Some(true) => confirmation(wish),
                Some(false) => format!("Wish {wish} is not fulfilled, as far as I know. "),
                None => format!("Of wish {wish} I know nothing. "),
            })
            .collect();
        if told.is_empty() { "Is there anything else? ".to_owned() } else { told }
    }
}

/// Returns whether the last message has words of the caller that ask for something.
fn asks(last: &Message) -> bool {
    last.contents().texts().any(|text| text.contains(PLEASE))
}

/// Returns the wish and the success of each outcome: first those in memory, then those in the window.
fn outcomes(request: &ModelRequest) -> Vec<(usize, bool)> {
    let remembered = remembered(request).into_iter().filter(|call| call.is_named);
    let remembered = remembered.filter_map(|call| Some((call.wish?, call.state == "succeeded")));
    let mut outcomes: Vec<(usize, bool)> = remembered.collect();
    let contents = || request.messages.iter().flat_map(|message| message.contents().iter());
    for result in contents().filter_map(Content::as_result) {
        let call = contents().filter_map(Content::as_tool_call).find(|call| call.id() == result.tool_call_id());
        if let Some(call) = call.filter(|call| Kind::of_name(call.name().as_str()).is_some()) {
            outcomes.push((numbers(call.arguments()).1, result.outcome().is_ok()));
        }
    }
    outcomes
}

/// Returns the open wishes that a conversation has fulfilled.
pub fn fulfilled(world: &World, messages: &[Message]) -> Vec<usize> {
    let contents = || messages.iter().flat_map(|message| message.contents().iter());
    let succeeded: Vec<_> = contents()
        .filter_map(Content::as_result)
        .filter(|result| result.outcome().is_ok())
        .map(|result| result.tool_call_id().clone())
        .collect();
    let calls = contents().filter_map(Content::as_tool_call).filter(|call| succeeded.contains(call.id()));
    let fulfilled: Vec<usize> = calls.map(|call| numbers(call.arguments()).1).collect();
    world.open_wishes().into_iter().filter(|wish| fulfilled.contains(wish)).collect()
}
