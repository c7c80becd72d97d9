//! [`Speeches`]: the recent speeches of a call.
//!
//! Owns the rules for reports of playback that come late, twice or out of order. Does not depend on models or clocks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::effect::{Effect, Ignored};
use super::rate::{Rate, Skew};
use super::speech::{Part, Phase, Played, Reading, Speech, accuracy};
use crate::manager::MessagesManager;
use crate::message::{Attribute, HeardSource, MessageId, PlainMessage, ToolCallId};
use crate::turn::SpeechId;

/// The recent speeches of a call, oldest first.
#[derive(Debug)]
pub(super) struct Speeches {
    kept: VecDeque<Speech>,
    rate: Rate,
    /// The clock of the player.
    player: Skew,
}

/// The maximum number of speeches kept. Reports about older ones are ignored.
const MAX_KEPT: usize = 64;
/// The number of latest speeches about which a late report is likely, unless they were played to their end.
const LATEST: usize = 8;
/// The number of latest speeches that are kept although they were played to their end. The next speech may share a
/// message with them.
const LAST: usize = 2;

type Manager = MessagesManager<PlainMessage>;

impl Speeches {
    pub fn new(default_bytes_per_s: u64) -> Self {
        Self { kept: VecDeque::new(), rate: Rate::new(default_bytes_per_s), player: Skew::default() }
    }

    /// Adds an open speech. Forgets the oldest ones that were played to their end, except the last two.
    pub fn begin(&mut self, id: SpeechId) {
        let is_finished = |speech: &Speech| speech.phase == Phase::Finished;
        while self.kept.len() == MAX_KEPT || (self.kept.len() > LAST && self.kept.front().is_some_and(is_finished)) {
            self.kept.pop_front();
        }
        if self.kept.len() == self.kept.capacity() {
            // A deque grows to four at first, and most calls have one or two.
            self.kept.reserve_exact(1);
        }
        self.kept.push_back(Speech {
            id,
            parts: Vec::new(),
            phase: Phase::Open,
            started_ms: None,
            not_before_ms: None,
            reports: Vec::new(),
            is_incomplete: false,
            heard: None,
            reading: Arc::default(),
        });
    }

    /// Returns the first message of the oldest open speech.
    pub fn oldest_open(&self) -> Option<MessageId> {
        let open = self.kept.iter().find(|speech| speech.phase == Phase::Open && !speech.parts.is_empty())?;
        open.parts.first().map(|part| part.message)
    }

    /// Returns the first message of the oldest speech about which a report is likely: the speech is open, or it is
    /// among the latest and the end of its playback is only estimated.
    pub fn oldest_unsettled(&self) -> Option<MessageId> {
        let latest = self.kept.len().saturating_sub(LATEST);
        let is_unsettled = |(index, speech): &(usize, &Speech)| match speech.phase {
            Phase::Open => true,
            Phase::Interrupted { reported: None | Some(HeardSource::Estimate), .. } => *index >= latest,
            Phase::Interrupted { .. } | Phase::Finished => false,
        };
        let mut unsettled = self.kept.iter().enumerate().filter(is_unsettled);
        unsettled.find_map(|(_, speech)| speech.parts.first()).map(|part| part.message)
    }

    /// Forgets the speeches whose messages have left memory, except the last two.
    pub fn forget_released(&mut self, manager: &Manager) {
        let last_two = self.kept.len().saturating_sub(LAST);
        let is_left = |speech: &Speech| speech.parts.iter().all(|part| manager.newest_from(part.message).is_none());
        let left = self.kept.iter().take(last_two).take_while(|speech| is_left(speech)).count();
        self.kept.drain(..left);
        self.kept.shrink_to(2 * self.kept.len());
    }

    /// Returns the state that the speech shares with the reader of its reply.
    pub fn reading(&mut self, id: SpeechId) -> Arc<Reading> {
        self.get_mut(id).map(|speech| speech.reading.clone()).unwrap_or_default()
    }

    /// Adds the last text of a message to a speech.
    pub fn add_part(&mut self, id: SpeechId, message: MessageId, start: usize, bytes: usize) {
        if let Some(speech) = self.get_mut(id) {
            speech.parts.push(Part { message, start, bytes });
        }
    }

    /// Adds tool calls whose outcome the speech reports to the caller.
    pub fn add_reports(&mut self, id: SpeechId, calls: impl IntoIterator<Item = ToolCallId>) {
        if let Some(speech) = self.get_mut(id) {
            speech.reports.extend(calls);
        }
    }

    /// Returns the tool calls whose outcome the speech was to report to the caller.
    pub fn reports(&self, id: SpeechId) -> &[ToolCallId] {
        self.kept.iter().find(|speech| speech.id == id).map_or(&[], |speech| &speech.reports)
    }

    /// Notes that the speech is incomplete, so it reports no outcome of a tool call.
    pub fn note_incomplete(&mut self, id: SpeechId) {
        if let Some(speech) = self.get_mut(id) {
            speech.is_incomplete = true;
        }
    }

    /// Returns the open speeches, oldest first.
    pub fn open(&self) -> Vec<SpeechId> {
        self.kept.iter().filter(|speech| speech.phase == Phase::Open).map(|speech| speech.id).collect()
    }

    /// Applies the report that the playback of a speech started.
    pub fn start(&mut self, id: SpeechId, at_ms: i64, now_ms: i64, manager: &mut Manager) -> Effect {
        let known_ahead_ms = self.player.ahead_ms();
        self.player.note(at_ms, now_ms);
        let ahead_ms = self.player.ahead_ms();
        let Some(speech) = find(&mut self.kept, id) else { return Effect::ignored(Ignored::UNKNOWN_SPEECH) };
        if speech.started_ms.is_some() {
            return Effect::ignored(Ignored::REPEATED);
        }
        speech.started_ms = Some(at_ms);
        speech.set_start(manager);
        if let Phase::Interrupted { at_ms: until_ms, reported: reported @ (None | Some(HeardSource::Estimate)) } =
            speech.phase
        {
            // The time of a barge-in is a time of the call's clock, unless the player reported it.
            let shift_ms = if reported.is_none() { ahead_ms.saturating_sub(known_ahead_ms) } else { 0 };
            let until_ms = until_ms.saturating_add(shift_ms);
            speech.phase = Phase::Interrupted { at_ms: until_ms, reported };
            // The earlier estimate assumed another start.
            speech.heard = Some(speech.heard_by(&Played::Unknown, until_ms, ahead_ms, &self.rate, manager));
            speech.set_end(until_ms, manager);
            self.apply_heard(id, manager);
        }
        Effect::APPLIED
    }

    /// Applies the report that a speech was played to its end. Returns the tool calls whose outcome the caller now knows.
    pub fn finish(&mut self, id: SpeechId, at_ms: i64, manager: &mut Manager) -> Result<Vec<ToolCallId>, Ignored> {
        let speech = self.get_mut(id).ok_or(Ignored::UNKNOWN_SPEECH)?;
        match speech.phase {
            Phase::Finished => return Err(Ignored::REPEATED),
            // Players that drop the rest of the audio report the end of the speech.
            Phase::Interrupted { at_ms: cut_ms, reported } if reported.is_some() || at_ms > cut_ms => {
                return Err(Ignored::SUPERSEDED);
            }
            Phase::Interrupted { .. } | Phase::Open => {}
        }
        speech.phase = Phase::Finished;
        speech.heard = None;
        speech.parts.shrink_to_fit();
        speech.set_end(at_ms, manager);
        let (usual_ms, started_ms) = (speech.speaking_ms(manager), speech.started_ms);
        let reported = speech.reported();
        self.apply_heard(id, manager);
        if let Some(ms) = started_ms.and_then(|started_ms| u64::try_from(at_ms.saturating_sub(started_ms)).ok()) {
            self.rate.learn(usual_ms, ms);
        }
        Ok(reported)
    }

    /// Counts a speech as heard, if playback is not reported. Returns the tool calls whose outcome the caller now knows.
    pub fn assume_heard(&mut self, id: SpeechId) -> Vec<ToolCallId> {
        let Some(speech) = self.get_mut(id) else { return Vec::new() };
        speech.phase = Phase::Finished;
        speech.reported()
    }

    /// Interrupts an open speech at a time of the call's clock, and estimates what was heard. Returns whether it was
    /// cut. A speech without text is not cut, nor is a speech that must have ended before, if playback is not reported.
    pub fn interrupt(&mut self, id: SpeechId, at_ms: i64, manager: &mut Manager) -> bool {
        let ahead_ms = self.player.ahead_ms();
        let at_ms = at_ms.saturating_add(ahead_ms);
        let Some(index) = self.kept.iter().rposition(|speech| speech.id == id && speech.phase == Phase::Open) else {
            return false;
        };
        let before = index.checked_sub(1).and_then(|before| self.kept.get(before));
        let not_before_ms = before.and_then(|before| before.end_ms(ahead_ms, &self.rate, manager));
        let Some(speech) = self.kept.get_mut(index) else { return false };
        speech.not_before_ms = not_before_ms;
        speech.phase = Phase::Interrupted { at_ms, reported: None };
        speech.reading.cut();
        let heard = speech.heard_by(&Played::Unknown, at_ms, ahead_ms, &self.rate, manager);
        speech.heard = Some(heard);
        let is_cut = !speech.parts.is_empty() && speech.was_cut_off();
        if is_cut {
            speech.set_end(at_ms, manager);
        }
        self.apply_heard(id, manager);
        is_cut
    }

    /// Applies the player's report that a speech was interrupted. A more exact report replaces an earlier one.
    pub fn report_interrupted(&mut self, id: SpeechId, played: &Played, at_ms: i64, manager: &mut Manager) -> Effect {
        let ahead_ms = self.player.ahead_ms();
        let Some(speech) = find(&mut self.kept, id) else { return Effect::ignored(Ignored::UNKNOWN_SPEECH) };
        let heard = speech.heard_by(played, at_ms, ahead_ms, &self.rate, manager);
        match speech.phase {
            Phase::Finished => return Effect::ignored(Ignored::SUPERSEDED),
            Phase::Interrupted { reported: Some(known), .. } if accuracy(known) > accuracy(heard.source()) => {
                return Effect::ignored(Ignored::SUPERSEDED);
            }
            Phase::Interrupted { reported: Some(known), at_ms: known_ms }
                if known == heard.source() && known_ms == at_ms && speech.heard == Some(heard) =>
            {
                return Effect::ignored(Ignored::REPEATED);
            }
            Phase::Open | Phase::Interrupted { .. } => {}
        }
        speech.phase = Phase::Interrupted { at_ms, reported: Some(heard.source()) };
        speech.reading.cut();
        speech.heard = Some(heard);
        speech.set_end(at_ms, manager);
        self.apply_heard(id, manager);
        Effect::APPLIED
    }

    /// Returns whether the speech was interrupted.
    pub fn is_interrupted(&self, id: SpeechId) -> bool {
        self.kept.iter().any(|speech| speech.id == id && matches!(speech.phase, Phase::Interrupted { .. }))
    }

    /// Returns the size of the heard text of a speech.
    pub fn heard_bytes(&self, id: SpeechId) -> usize {
        let speech = self.kept.iter().find(|speech| speech.id == id);
        speech.map_or(0, |speech| speech.heard.map_or(usize::MAX, |heard| heard.bytes()).min(speech.bytes()))
    }

    fn get_mut(&mut self, id: SpeechId) -> Option<&mut Speech> {
        find(&mut self.kept, id)
    }

    /// Updates the heard text of a speech's messages. Another speech may share the first or last of them.
    fn apply_heard(&mut self, id: SpeechId, manager: &mut Manager) {
        let Some(speech) = self.get_mut(id) else { return };
        let (messages, was_cut_off) = (speech.messages(), speech.was_cut_off());
        if was_cut_off && let Some(mut last) = messages.last().and_then(|last| manager.entry(last)) {
            // The mark is set even if all of it was heard, so that a process that takes the call over does not count it
            // as played to its end.
            last.add_attribute(Attribute::SpeechInterrupted);
        }
        for message in messages {
            let heard = self.kept.iter().find_map(|speech| speech.cut_in(message));
            let Some(mut entry) = manager.entry(&message) else { continue };
            // Never fails: the message is the assistant's.
            let _ = entry.set_heard(heard);
            if heard.is_some() {
                entry.add_attribute(Attribute::SpeechInterrupted);
            }
        }
    }
}

fn find(speeches: &mut VecDeque<Speech>, id: SpeechId) -> Option<&mut Speech> {
    speeches.iter_mut().rev().find(|speech| speech.id == id)
}
