//! Runs the tools of an answer: which calls may run, the write-ahead to the log, and the wait for results.

use std::cell::{Cell, OnceCell};
use std::time::Duration;

use tokio::time::{sleep_until, timeout};
use tracing::Instrument;

use super::core::{Core, Host};
use super::event::{CallEvent, SpeechId};
use super::setup::Setup;
use super::spans;
use crate::clock::{Randomness, SystemRandomness, from_now};
use crate::memory::{Attempt, ToolUse};
use crate::message::{ToolCall, ToolCallId, ToolResult};
use crate::model::{NoResult, Tool, ToolContext};

/// How long a tool that may act, but does not act once, waits for the log.
const PATIENCE: Duration = Duration::from_millis(300);

/// Starts the calls of an answer and waits for their results.
pub(super) async fn run_tools<H: Host>(host: &H, turn: SpeechId, calls: Vec<ToolCall>, setup: &Setup) {
    let ids: Vec<ToolCallId> = calls.iter().map(|call| call.id().clone()).collect();
    for call in calls {
        start(host, turn, call, setup);
    }
    let results = host.with(|core| core.results.clone());
    loop {
        // Registered before the check, so that a result in between is not missed.
        let changed = results.notified();
        if !host.with(|core| core.has_open(&ids) || core.is_observed) {
            return;
        }
        changed.await;
    }
}

/// Waits for the tools of earlier turns, so that no failure is reported while they run. Their deadlines end the wait.
/// Returns whether there were any.
pub(super) async fn finish_tools<H: Host>(host: &H, turn: SpeechId) -> bool {
    let mut has_waited = false;
    let results = host.with(|core| core.results.clone());
    loop {
        // Registered before the check, so that a result in between is not missed.
        let changed = results.notified();
        if !host.with(|core| core.turn_of(turn).is_some() && core.tools_used.is_any_awaited()) {
            return has_waited;
        }
        has_waited = true;
        changed.await;
    }
}

fn start<H: Host>(host: &H, turn: SpeechId, call: ToolCall, setup: &Setup) {
    let Some(tool) = setup.tools.get(call.name()).cloned() else {
        let names = setup.tools.all().iter().map(|tool| tool.name().as_str().to_owned()).collect();
        return host.with(|core| core.end_call(&call, &NoResult::UnknownTool(names)));
    };
    let refused = host.with(|core| core.refuse(&call, &tool));
    if let Some(result) = refused {
        // The call is in the conversation and has no result.
        let _ = host.with(|core| core.add_result(&result));
        return;
    }
    let waits = tool.acting.acts_once() || tool.acting.may_act() && host.is_logged();
    if !waits {
        return execute(host.clone(), turn, call, &tool, setup.tool_timeout);
    }
    let (host, setup) = (host.clone(), setup.clone());
    tokio::spawn(async move {
        let patience = if tool.acting.acts_once() { setup.log_timeout } else { PATIENCE };
        if !host.stored(from_now(patience)).await {
            if tool.acting.acts_once() {
                return host.with(|core| {
                    core.end_call(&call, &NoResult::NotLogged);
                    if let Some(turn) = core.turn_of(turn) {
                        turn.is_not_done = true;
                    }
                });
            }
            host.with(|core| core.events.push(CallEvent::ToolUnlogged { id: call.id().clone() }));
        }
        execute(host, turn, call, &tool, setup.tool_timeout);
    });
}

/// Runs a tool in a task that outlives the turn, and adds its result whenever it arrives. An external tool is left to
/// the service.
fn execute<H: Host>(host: H, turn: SpeechId, call: ToolCall, tool: &Tool, tool_timeout: Duration) {
    if !host.with(|core| core.announce(turn, &call, tool.acting.may_act())) {
        return host.with(|core| core.end_call(&call, &NoResult::Interrupted));
    }
    let limit = tool.timeout_or(tool_timeout);
    let context = ToolContext::of(host.call_id().as_str(), &call);
    let Some(running) = tool.run(call.clone(), context) else {
        let deadline = from_now(limit);
        tokio::spawn(async move {
            sleep_until(deadline).await;
            host.with(|core| core.end_call(&call, &NoResult::TimedOut));
        });
        return;
    };
    host.with(|core| core.tools_used.set_running(call.id(), true));
    let span = spans::execute_tool(host.call_id(), &call);
    let running = async move {
        let mut running = std::pin::pin!(running);
        let result = match timeout(limit, &mut running).await {
            Ok(result) => result,
            Err(_) => {
                // At the deadline only the waiting ends; the tool continues.
                host.with(|core| core.end_call(&call, &NoResult::TimedOut));
                running.await
            }
        };
        host.with(|core| {
            core.tools_used.set_running(call.id(), false);
            // A call with a known outcome keeps it.
            let _ = core.add_result(&result);
            core.results.notify_waiters();
        });
    };
    tokio::spawn(running.instrument(span));
}

impl Core {
    /// Gives calls that may act their idempotency keys: the key of an earlier, unsettled attempt at the same act, or a new
    /// one. The attempts of one answer share their key.
    pub(super) fn with_keys(&mut self, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        let mut keyed: Vec<ToolCall> = Vec::with_capacity(calls.len());
        let mut panicked = Vec::new();
        for call in calls {
            let Some(tool) = self.setup.tools.get(call.name()).filter(|tool| tool.acting.may_act()) else {
                keyed.push(call);
                continue;
            };
            let has_panicked = Cell::new(false);
            let is_same = |earlier: &&ToolCall| is_same(tool, earlier, &call, &has_panicked);
            let shared = keyed.iter().rev().find(is_same).and_then(ToolCall::idempotency_key).map(str::to_owned);
            let key = shared.unwrap_or_else(|| self.key(&call, tool, &has_panicked));
            if has_panicked.get() {
                panicked.push(CallEvent::SameActPanicked { id: call.id().clone() });
            }
            keyed.push(call.with_idempotency_key(key.into()));
        }
        self.events.extend(panicked);
        keyed
    }

    fn key(&self, call: &ToolCall, tool: &Tool, has_panicked: &Cell<bool>) -> String {
        match self.attempt(call, tool, has_panicked) {
            Attempt::First => new_key(),
            // Despite an error, the request may have arrived. With the same key, the service acts at most once.
            Attempt::Failed(_) if !tool.acting.deduplicates_by_key() => new_key(),
            Attempt::Untold(..) if !tool.acting.acts_once() => new_key(),
            Attempt::Failed(key)
            | Attempt::NotRun(key)
            | Attempt::Untold(key, _)
            | Attempt::Unknown(key)
            | Attempt::Running(key) => key,
        }
    }

    /// Returns the result of a call that must not run because of another attempt at the same act.
    fn refuse(&self, call: &ToolCall, tool: &Tool) -> Option<ToolResult> {
        // The choice of the key made the same comparisons, so a panic is already reported.
        let reason = match self.attempt(call, tool, &Cell::default()) {
            Attempt::Running(_) => NoResult::AlreadyRunning,
            Attempt::Unknown(_) if !tool.acting.may_repeat() => NoResult::EarlierUnknown,
            Attempt::Untold(_, earlier) if tool.acting.acts_once() => {
                // Equal redacted arguments may come from different ones, and the comparison may have panicked.
                let act = self.tools_used.get(&earlier).and_then(ToolUse::act);
                let is_certain = act.is_some_and(|earlier| tool.acting.is_same(earlier, call) == Some(true));
                match self.manager.result_of(&earlier).map(ToolResult::outcome) {
                    Some(Ok(contents)) if is_certain => return Some(call.success(contents.clone())),
                    _ => NoResult::AlreadyDone,
                }
            }
            _ => return None,
        };
        Some(reason.of(call))
    }

    fn attempt(&self, call: &ToolCall, tool: &Tool, has_panicked: &Cell<bool>) -> Attempt {
        if !tool.acting.may_act() {
            return Attempt::First;
        }
        // The log of an earlier process has redacted arguments. A hash of the original ones would reveal them.
        let redacted = OnceCell::new();
        let redacted = || redacted.get_or_init(|| self.writer.as_ref()?.redacted(call)).as_ref();
        let is_same = |earlier: &ToolCall, later: &ToolCall| is_same(tool, earlier, later, has_panicked);
        self.tools_used.attempt(call.id(), |earlier| {
            is_same(earlier, call)
                || earlier.name() == call.name() && redacted().is_some_and(|redacted| is_same(earlier, redacted))
        })
    }

    /// Reports that a call runs now. Returns `false` if its turn is over.
    fn announce(&mut self, turn: SpeechId, call: &ToolCall, may_act: bool) -> bool {
        let Some(running) = self.turn_of(turn) else { return false };
        running.has_acted |= may_act;
        self.events.push(CallEvent::ToolCalled { id: call.id().clone() });
        self.ear.called(turn, call);
        true
    }

    /// Returns whether one of these calls has no result.
    fn has_open(&self, ids: &[ToolCallId]) -> bool {
        ids.iter().any(|id| self.manager.invoked(id).is_some_and(|(_, is_answered)| !is_answered))
    }
}

/// Returns whether two calls attempt the same act. The later one is a call of `tool`, whose comparison may panic; they
/// attempt the same act then, because a second effect is worse than none.
fn is_same(tool: &Tool, earlier: &ToolCall, later: &ToolCall, has_panicked: &Cell<bool>) -> bool {
    if earlier.name() != later.name() {
        return false;
    }
    let is_same = tool.acting.is_same(earlier, later);
    if is_same.is_none() && !has_panicked.replace(true) {
        tracing::error!(tool = later.name().as_str(), "`same_act` panicked; the call counts as the same act");
    }
    is_same.unwrap_or(true)
}

/// Returns 128 random bits as hexadecimal digits.
fn new_key() -> String {
    format!("{:016x}{:016x}", SystemRandomness.next_u64(), SystemRandomness.next_u64())
}
