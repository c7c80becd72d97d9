//! [`ToolHistory`]: the tool calls of a conversation and their outcomes, so that none is made twice.
//!
//! A summary may omit a tool call, and a barge-in may hide its result, but the model must always know which tools have
//! acted. This module never runs a tool.

mod attempt;
mod bounds;
mod entry;
mod fork;
mod line;
mod listing;
mod places;
mod reads;
mod state;
mod word;

use std::collections::{BTreeSet, HashMap, HashSet};

pub(crate) use attempt::Attempt;
pub(crate) use entry::ToolUse;
pub(crate) use listing::Listing;

use places::Places;
pub(crate) use state::ToolState;

use super::facts::{Fact, FactSource};
use crate::manager::List;
use crate::message::{
    Attribute, Content, Message, Role, Timing, ToolCall, ToolCallId, ToolResult, TurnRecord, is_blank,
};

/// The tool calls of a conversation, oldest first, with their outcomes. A [fork](Self::fork) shares them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolHistory {
    uses: List<ToolUse>,
    places: Places,
    /// The calls that are not settled: running, with an unknown outcome, or not reported to the caller.
    pending: BTreeSet<usize>,
    /// The calls whose tool a task of this process runs, perhaps after its deadline.
    running: BTreeSet<usize>,
    /// The results and reports of calls in their order, which a fork may have to undo.
    changes: List<Change>,
    /// The number of calls that were made before the conversation was forked.
    inherited: usize,
    /// Whether a message was said or played in a live call, so that playback decides what the caller knows.
    is_spoken: bool,
    /// The number of calls, from the first one on, that were shortened to their ids.
    released: usize,
}

/// A result or a report of a call.
#[derive(Debug, Clone, Copy)]
struct Change {
    place: usize,
    /// The number of messages after which the call has the change.
    messages: u32,
}

impl ToolHistory {
    /// Adds the calls and results of messages that the engine did not add, for example of a restored conversation. A
    /// call without a result is [`Unknown`](ToolState::Unknown), because no task of this process runs it. Known calls
    /// stay.
    ///
    /// An outcome counts as reported if the caller heard a complete answer that was requested after the outcome
    /// arrived.
    pub fn extend<'a>(&mut self, messages: impl IntoIterator<Item = &'a Message>) {
        let messages: Vec<&Message> = messages.into_iter().collect();
        self.is_spoken |= messages.iter().any(|message| is_spoken(message));
        let known = self.uses.end();
        for message in messages {
            let seq = message.position().seq();
            if let Some(asked_ms) = reports_since(message, self.is_spoken) {
                let is_told = |place: &usize| self.uses.get(*place).is_some_and(|used| used.has_arrived_by(asked_ms));
                let told: Vec<usize> = self.pending.iter().copied().filter(is_told).collect();
                told.into_iter().for_each(|place| self.report(place, seq + 1));
            }
            for part in message.parts() {
                for content in part.contents() {
                    match content {
                        Content::ToolCall(tool_call) => self.add_call(tool_call, part.created_ms(), seq),
                        Content::ToolResult(result) => {
                            self.add_result(result, result.late_ms().unwrap_or(part.created_ms()), seq + 1);
                        }
                        _ => {}
                    }
                }
            }
            if message.metadata().forked_from().is_some_and(|source| source.after.is_some()) {
                self.inherited = self.uses.end();
            }
        }
        let lost: Vec<usize> = self.pending.range(known..).copied().collect();
        lost.into_iter().for_each(|place| self.update(place, ToolUse::mark_unknown));
    }

    /// Rebuilds the history from edited messages. Keeps which outcomes were reported, which calls are running, and the calls
    /// whose messages left memory, for which `has_left` returns `true`.
    pub fn rebuild<'a>(
        &mut self,
        messages: impl IntoIterator<Item = &'a Message>,
        has_left: impl Fn(&ToolCallId) -> bool,
    ) {
        let before = std::mem::take(self);
        let is_left = |used: &&ToolUse| has_left(used.id());
        self.inherited = before.uses.range(0..before.inherited).filter(is_left).count();
        before.uses.iter().filter(is_left).for_each(|used| self.push(used.clone()));
        self.extend(messages);
        for (place, known) in before.uses.iter().enumerate() {
            let Some(now) = self.place(known.id()) else { continue };
            if before.running.contains(&place) {
                self.running.insert(now);
            }
            if known.state() == ToolState::Running {
                self.update(now, |used| {
                    if used.state() == ToolState::Unknown {
                        *used = known.clone();
                    }
                });
            } else if known.state().reported() == Some(true) {
                self.report(now, 0);
            } else if known.state().reported() == Some(false) {
                self.update(now, |used| used.set_reported(false));
            }
        }
    }

    /// Adds a call in message `seq`, made at `at_ms` milliseconds since the Unix epoch. A known call stays as it is.
    pub fn add_call(&mut self, tool_call: &ToolCall, at_ms: i64, seq: u32) {
        if self.place(tool_call.id()).is_none() {
            self.push(ToolUse::new(tool_call, at_ms, seq));
        }
    }

    /// Adds the outcome of a call, which arrived at `at_ms` in the last of `messages` messages. The first known outcome
    /// stays.
    pub fn add_result(&mut self, result: &ToolResult, at_ms: i64, messages: u32) {
        let Some(place) = self.place(result.tool_call_id()) else { return };
        let is_open = |used: &ToolUse| matches!(used.state(), ToolState::Running | ToolState::Unknown);
        if self.uses.get(place).is_some_and(is_open) {
            self.update(place, |used| used.add_result(result, at_ms));
            self.note(place, messages);
        }
    }

    /// Notes whether a task of this process runs the tool of a call.
    pub fn set_running(&mut self, id: &ToolCallId, is_running: bool) {
        if let Some(place) = self.place(id) {
            if is_running {
                self.running.insert(place)
            } else {
                self.running.remove(&place)
            };
        }
    }

    /// Returns whether a task of this process runs any tool.
    pub fn is_any_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Returns whether a call is still before its deadline and has no result yet.
    pub fn is_any_awaited(&self) -> bool {
        self.at(&self.pending).any(|used| used.state() == ToolState::Running)
    }

    /// Returns the calls whose tool a task of this process runs.
    pub fn running(&self) -> Vec<ToolCallId> {
        self.at(&self.running).map(|used| used.id().clone()).collect()
    }

    /// Iterates over the calls whose outcome is unknown, oldest first.
    pub fn unknown(&self) -> impl Iterator<Item = &ToolUse> {
        self.at(&self.pending).filter(|used| used.state() == ToolState::Unknown)
    }

    /// Iterates over the acts whose outcome is unknown, without those that belong to the source of a fork.
    pub fn lost_acts(&self) -> impl Iterator<Item = &ToolCallId> {
        let own = self.at(self.pending.range(self.inherited..));
        own.filter(|used| used.state() == ToolState::Unknown && used.act().is_some()).map(ToolUse::id)
    }

    /// Returns whether the outcome of a call is unknown.
    pub fn is_lost(&self, id: &ToolCallId) -> bool {
        self.get(id).is_some_and(|used| used.state() == ToolState::Unknown)
    }

    /// Iterates over the ids of the calls that are not settled and were made before the conversation was forked.
    pub fn inherited(&self) -> impl Iterator<Item = &ToolCallId> {
        self.at(self.pending.range(..self.inherited)).map(ToolUse::id)
    }

    /// Notes that the caller knows the outcome of a call, as of the first `messages` messages.
    pub fn mark_reported(&mut self, id: &ToolCallId, messages: u32) {
        if let Some(place) = self.place(id) {
            self.report(place, messages);
        }
    }

    /// Returns a call by its id.
    pub fn get(&self, id: &ToolCallId) -> Option<&ToolUse> {
        self.uses.get(self.place(id)?)
    }

    /// Iterates over the calls whose outcome the caller does not know yet, oldest first.
    pub fn unreported(&self) -> impl Iterator<Item = &ToolUse> {
        self.at(&self.pending).filter(|used| used.state().reported() == Some(false))
    }

    /// Returns the latest value of each field that tools returned, oldest first. Each value of a field with several
    /// values is a fact. A result that arguments identify, such as that of a reservation, replaces only its own earlier
    /// one.
    pub fn facts(&self) -> Vec<Fact> {
        let mut latest: HashMap<(&str, String), usize> = HashMap::new();
        let mut facts: Vec<(usize, Fact)> = Vec::new();
        for (index, used) in self.uses.indexed(self.latest()..usize::MAX) {
            if !matches!(used.state(), ToolState::Succeeded { .. }) {
                continue;
            }
            let of = used.arguments().values().find(|(name, value)| word::is_id_of(name, value));
            let of = of.map(|(_, value)| value).unwrap_or_default();
            for (name, value) in used.outcome().values() {
                latest.insert((of, name.clone()), index);
                facts.push((index, Fact::new(name, value.to_owned(), FactSource::Tool)));
            }
        }
        // A call has one identifying argument, so the index of the call identifies it.
        let latest: HashSet<(usize, &str)> = latest.iter().map(|((_, name), last)| (*last, name.as_str())).collect();
        facts.retain(|(index, fact)| latest.contains(&(*index, fact.slot())));
        facts.into_iter().map(|(_, fact)| fact).collect()
    }

    fn place(&self, id: &ToolCallId) -> Option<usize> {
        self.places.of(id).find(|place| self.uses.get(*place).is_some_and(|used| used.id() == id))
    }

    fn at<'a>(&'a self, places: impl IntoIterator<Item = &'a usize>) -> impl Iterator<Item = &'a ToolUse> {
        places.into_iter().filter_map(|place| self.uses.get(*place))
    }

    fn push(&mut self, used: ToolUse) {
        let (id, is_settled) = (used.id().clone(), used.is_settled());
        let place = self.uses.push(used);
        self.places.insert(id, place);
        if !is_settled {
            self.pending.insert(place);
        }
    }

    fn report(&mut self, place: usize, messages: u32) {
        self.update(place, |used| used.set_reported(true));
        self.note(place, messages);
    }

    fn update(&mut self, place: usize, change: impl FnOnce(&mut ToolUse)) {
        let Some(used) = self.uses.get_mut(place) else { return };
        change(used);
        if used.is_settled() {
            self.pending.remove(&place)
        } else {
            self.pending.insert(place)
        };
    }

    fn note(&mut self, place: usize, messages: u32) {
        let last = self.changes.last().map_or(0, |last| last.messages);
        self.changes.push(Change { place, messages: messages.max(last) });
    }
}

/// Returns the time up to which a message reports outcomes, or `None` if it reports none.
///
/// Fixed sentences report no outcome. Neither do words that were cut off, or that the caller may not have heard to
/// their end.
fn reports_since(message: &Message, is_spoken: bool) -> Option<i64> {
    let metadata = message.metadata();
    let is_said = message.role() == Role::Assistant && !message.is_fake() && !message.is_fixed();
    let length: usize = message.contents().texts().map(|text| text.len()).sum();
    let is_whole = message.heard().is_none_or(|heard| heard.bytes() >= length)
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
