//! [`ToolHistory`]: the tool calls of a conversation and their outcomes, so that none is made twice.
//!
//! A summary may omit a tool call, and a barge-in may hide its result, but the model must always know what has acted.
//! Never runs a tool.

mod entry;
mod line;
mod listing;

use std::collections::{HashMap, HashSet};

pub(crate) use entry::{ToolState, ToolUse};
pub(crate) use listing::Listing;

use super::facts::{Fact, FactSource};
use crate::message::{
    Attribute, Content, Message, Outcome, Role, Timing, ToolCall, ToolCallId, ToolResult, TurnRecord, is_blank,
};
use crate::model::{NOT_RUN, OUTCOME_UNKNOWN};

/// The tool calls of a conversation, oldest first, with their outcomes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolHistory {
    /// In the order of the calls.
    uses: Vec<ToolUse>,
    /// The index of each call in `uses`.
    index: HashMap<ToolCallId, usize>,
}

impl ToolHistory {
    /// Adds the calls of a restored conversation. A call without a result is [`Unknown`](ToolState::Unknown), because its
    /// process is gone.
    ///
    /// An outcome counts as reported if the caller heard a complete answer to its end that was asked for afterwards.
    #[must_use]
    pub fn with_messages<'a>(mut self, messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let messages: Vec<&Message> = messages.into_iter().collect();
        let is_spoken = messages.iter().any(|message| is_spoken(message));
        let mut arrivals: HashMap<&ToolCallId, i64> = HashMap::new();
        for message in messages {
            if let Some(asked_ms) = reports_since(message, is_spoken) {
                let is_told = |used: &&mut ToolUse| arrivals.get(used.id()).is_some_and(|at_ms| *at_ms <= asked_ms);
                self.uses.iter_mut().filter(is_told).for_each(ToolUse::mark_reported);
            }
            for part in message.parts() {
                for content in part.contents() {
                    match content {
                        Content::ToolCall(tool_call) => self.add_call(tool_call, part.created_ms()),
                        Content::ToolResult(result) => {
                            let at_ms = result.late_ms().unwrap_or(part.created_ms());
                            arrivals.insert(result.tool_call_id(), at_ms);
                            self.add_result(result);
                        }
                        _ => {}
                    }
                }
            }
        }
        self.uses.iter_mut().for_each(ToolUse::mark_unknown);
        self
    }

    /// Rebuilds the history from edited messages. Keeps which outcomes were reported, which calls are running, and the calls
    /// whose messages left memory, for which `has_left` returns `true`.
    pub fn rebuild<'a>(
        &mut self,
        messages: impl IntoIterator<Item = &'a Message>,
        has_left: impl Fn(&ToolCallId) -> bool,
    ) {
        let mut before = std::mem::take(self);
        let (left, before): (Vec<ToolUse>, _) = before.uses.drain(..).partition(|used| has_left(used.id()));
        self.index = left.iter().enumerate().map(|(index, used)| (used.id().clone(), index)).collect();
        self.uses = left;
        *self = std::mem::take(self).with_messages(messages);
        for known in before {
            if let Some(used) = self.get_mut(known.id()) {
                used.set_running(known.is_running());
                match known.state() {
                    ToolState::Running if used.state() == ToolState::Unknown => *used = known,
                    state => drop(state.reported().map(|reported| used.set_reported(reported))),
                }
            }
        }
    }

    /// Adds a call made at `at_ms` milliseconds since the Unix epoch. A known call stays as it is.
    pub fn add_call(&mut self, tool_call: &ToolCall, at_ms: i64) {
        if self.index.contains_key(tool_call.id()) {
            return;
        }
        self.index.insert(tool_call.id().clone(), self.uses.len());
        self.uses.push(ToolUse::new(tool_call, at_ms));
    }

    /// Adds the outcome of a call. The first known outcome stays.
    pub fn add_result(&mut self, result: &ToolResult) {
        let Some(used) = self.get_mut(result.tool_call_id()) else { return };
        if !matches!(used.state(), ToolState::Running | ToolState::Unknown) {
            return;
        }
        match result.outcome() {
            Outcome::Failure(error) if error.error_type() == Some(OUTCOME_UNKNOWN) => used.mark_unknown(),
            Outcome::Failure(error) if error.error_type() == Some(NOT_RUN) => used.mark_not_run(result),
            _ => used.finish(result),
        }
    }

    /// Notes whether a task of this process runs the tool of a call.
    pub fn set_running(&mut self, id: &ToolCallId, is_running: bool) {
        if let Some(used) = self.get_mut(id) {
            used.set_running(is_running);
        }
    }

    /// Returns whether a task of this process runs any tool.
    pub fn is_any_running(&self) -> bool {
        self.uses.iter().any(ToolUse::is_running)
    }

    /// Returns whether a call has no result yet, and its deadline has not passed.
    pub fn is_any_awaited(&self) -> bool {
        self.uses.iter().any(|used| used.state() == ToolState::Running)
    }

    /// Returns the calls whose tool a task of this process runs.
    pub fn running(&self) -> Vec<ToolCallId> {
        self.uses.iter().filter(|used| used.is_running()).map(|used| used.id().clone()).collect()
    }

    /// Returns whether an earlier attempt at the act of a call stands against running it. `is_same` decides whether an
    /// earlier call attempts the same act.
    pub fn attempt(&self, call: &ToolCallId, is_same: impl Fn(&ToolCall) -> bool) -> Attempt {
        let index = self.index.get(call).copied().unwrap_or(self.uses.len());
        let earlier = self.uses.get(..index).unwrap_or_default();
        let same = earlier.iter().filter(|used| used.act().is_some_and(&is_same));
        let attempts = same.filter_map(ToolUse::key).map(|key| Attempt::with_key(key, earlier));
        attempts
            .reduce(|first, later| if later.rank() < first.rank() { first } else { later })
            .unwrap_or(Attempt::First)
    }

    /// Iterates over the calls whose outcome is unknown, oldest first.
    pub fn unknown(&self) -> impl Iterator<Item = &ToolUse> {
        self.uses.iter().filter(|used| used.state() == ToolState::Unknown)
    }

    /// Returns whether the outcome of a call is unknown.
    pub fn is_lost(&self, id: &ToolCallId) -> bool {
        self.get(id).is_some_and(|used| used.state() == ToolState::Unknown)
    }

    /// Notes that the caller knows the outcome of a call.
    pub fn mark_reported(&mut self, id: &ToolCallId) {
        if let Some(used) = self.get_mut(id) {
            used.mark_reported();
        }
    }

    /// Returns a call by its id.
    pub fn get(&self, id: &ToolCallId) -> Option<&ToolUse> {
        self.uses.get(*self.index.get(id)?)
    }

    /// Iterates over the calls whose outcome the caller does not know yet, oldest first.
    pub fn unreported(&self) -> impl Iterator<Item = &ToolUse> {
        self.uses.iter().filter(|used| used.state().reported() == Some(false))
    }

    /// Returns the latest value of each field that tools returned, oldest first. Values of one field in one result are
    /// facts of their own. A result that arguments identify, such as that of a reservation, replaces only its own earlier
    /// one.
    pub fn facts(&self) -> Vec<Fact> {
        let mut latest: HashMap<(&str, String), usize> = HashMap::new();
        let mut facts: Vec<(usize, Fact)> = Vec::new();
        for (index, used) in self.uses.iter().enumerate() {
            if !matches!(used.state(), ToolState::Succeeded { .. }) {
                continue;
            }
            let of = used.arguments().values().map(|(_, value)| value).find(|value| entry::is_id(value));
            let of = of.unwrap_or_default();
            for (name, value) in used.outcome().values() {
                latest.insert((of, name.clone()), index);
                facts.push((index, Fact::new(name, value.to_owned(), FactSource::Tool)));
            }
        }
        // A call has one identifying argument, so its index says which.
        let latest: HashSet<(usize, &str)> = latest.iter().map(|((_, name), last)| (*last, name.as_str())).collect();
        facts.retain(|(index, fact)| latest.contains(&(*index, fact.slot())));
        facts.into_iter().map(|(_, fact)| fact).collect()
    }

    fn get_mut(&mut self, id: &ToolCallId) -> Option<&mut ToolUse> {
        self.uses.get_mut(*self.index.get(id)?)
    }
}

/// The earlier attempts at an act, as far as they matter for another one. Holds the idempotency key that they share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// There is none, or it is settled and the caller may want the act again.
    First,
    /// The last of them failed, so the act is still wanted.
    Failed(String),
    /// None of them has run.
    NotRun(String),
    /// One succeeded, and the caller does not know yet.
    Untold(String, ToolCallId),
    /// The outcome of one is unknown.
    Unknown(String),
    /// One is running.
    Running(String),
}

impl Attempt {
    /// Returns the state of the attempts with one key. They have one effect at most, so a known outcome holds for all.
    fn with_key(key: &str, uses: &[ToolUse]) -> Self {
        let states = || uses.iter().filter(|used| used.key() == Some(key)).map(|used| (used.state(), used));
        let any = |is_it: fn(ToolState) -> bool| states().any(|(state, _)| is_it(state));
        if states().any(|(state, used)| used.is_running() || state == ToolState::Running) {
            return Self::Running(key.to_owned());
        }
        if any(|state| state == ToolState::Succeeded { reported: true }) {
            return Self::First;
        }
        if let Some((_, used)) = states().find(|(state, _)| matches!(state, ToolState::Succeeded { .. })) {
            return Self::Untold(key.to_owned(), used.id().clone());
        }
        if any(|state| state == ToolState::Unknown) {
            return Self::Unknown(key.to_owned());
        }
        if any(|state| matches!(state, ToolState::Failed { .. })) {
            return Self::Failed(key.to_owned());
        }
        Self::NotRun(key.to_owned())
    }

    /// A higher rank matters more. Of the same rank, the later attempt matters.
    fn rank(&self) -> u8 {
        match self {
            Self::NotRun(_) | Self::Failed(_) | Self::First => 0,
            Self::Untold(..) => 1,
            Self::Unknown(_) => 2,
            Self::Running(_) => 3,
        }
    }
}

/// Returns the time up to which the outcomes are reported by a message, or `None` if it reports none.
///
/// A fixed sentence reports none, nor do words that were cut off, or that were perhaps not heard to their end.
fn reports_since(message: &Message, is_spoken: bool) -> Option<i64> {
    let metadata = message.metadata();
    let is_said = message.role() == Role::Assistant && !message.is_fake() && !message.is_fixed();
    let length: usize = message.contents().texts().map(|text| text.len()).sum();
    let is_whole = message.heard().is_none_or(|heard| heard.len() >= length)
        && !metadata.has(Attribute::LlmInterrupted)
        && !metadata.has(Attribute::SpeechInterrupted);
    let is_played = !is_spoken || metadata.timing(Timing::PlayEnd).is_some();
    let has_words = message.contents().texts().any(|text| !is_blank(text));
    if !(is_said && has_words && is_whole && is_played) {
        return None;
    }
    match metadata.timing(Timing::LlmStart) {
        Some(asked_ms) => metadata.turn().is_some_and(TurnRecord::is_complete).then_some(asked_ms),
        None => metadata.timing(Timing::Creation),
    }
}

/// Returns whether a message was said or played in a live call, so that playback decides what the caller knows.
fn is_spoken(message: &Message) -> bool {
    let of_speech = [Timing::ListenStart, Timing::ListenEnd, Timing::PlayStart, Timing::PlayEnd];
    message.parts().any(|part| of_speech.iter().any(|timing| part.timing(*timing).is_some()))
}

#[cfg(test)]
mod tests;
