//! [`Speeches`]: what was given to be spoken lately.
//!
//! Owns the rules for playback reports that come late, twice or out of order. Knows no model and no clock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::effect::{Effect, Ignored};
use super::speech::{Part, Phase, Played, Speech, rank};
use crate::manager::MessagesManager;
use crate::message::{Attribute, HeardSource, MessageId, PlainMessage, ToolCallId};
use crate::turn::SpeechId;

/// What was given to be spoken lately, oldest first.
#[derive(Debug)]
pub(super) struct Speeches {
    kept: VecDeque<Speech>,
    rate: Rate,
}

/// Reports about older ones come too late.
const MOST_KEPT: usize = 64;

/// How fast it is spoken, learnt from what was played to its end.
#[derive(Debug)]
struct Rate {
    usual_bytes_per_s: u64,
    bytes: u64,
    ms: u64,
}

type Manager = MessagesManager<PlainMessage>;

impl Speeches {
    pub fn new(usual_bytes_per_s: u64) -> Self {
        Self { kept: VecDeque::new(), rate: Rate { usual_bytes_per_s, bytes: 0, ms: 0 } }
    }

    /// Something more is to be spoken.
    pub fn begin(&mut self, id: SpeechId) {
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Speech {
            id,
            parts: Vec::new(),
            phase: Phase::Open,
            started_ms: None,
            tells: Vec::new(),
            heard: None,
            is_cut: Arc::default(),
        });
    }

    /// The first message of the oldest speech that may still be heard.
    pub fn oldest_open(&self) -> Option<MessageId> {
        let open = self.kept.iter().find(|speech| speech.phase == Phase::Open && !speech.parts.is_empty())?;
        open.parts.first().map(|part| part.message)
    }

    /// Is set once it is cut off.
    pub fn cut_flag(&mut self, id: SpeechId) -> Arc<AtomicBool> {
        self.get_mut(id).map(|speech| speech.is_cut.clone()).unwrap_or_default()
    }

    /// Takes note that the last text of a message is spoken in it.
    pub fn add_part(&mut self, id: SpeechId, message: MessageId, start: usize, bytes: usize) {
        if let Some(speech) = self.get_mut(id) {
            speech.parts.push(Part { message, start, bytes });
        }
    }

    /// Takes note that it will tell what became of these calls.
    pub fn tell(&mut self, id: SpeechId, calls: impl IntoIterator<Item = ToolCallId>) {
        if let Some(speech) = self.get_mut(id) {
            speech.tells.extend(calls);
        }
    }

    /// Those that may still be heard, oldest first.
    pub fn open(&self) -> Vec<SpeechId> {
        self.kept.iter().filter(|speech| speech.phase == Phase::Open).map(|speech| speech.id).collect()
    }

    /// Its playback began.
    pub fn started(&mut self, id: SpeechId, at_ms: i64, manager: &mut Manager) -> Effect {
        let rate = self.rate.bytes_per_s();
        let Some(speech) = self.get_mut(id) else { return Effect::Ignored(Ignored::UnknownSpeech) };
        if speech.started_ms.is_some() {
            return Effect::Ignored(Ignored::Repeated);
        }
        speech.started_ms = Some(at_ms);
        speech.set_start(manager);
        if let Phase::Interrupted { at_ms: until_ms, reported: None | Some(HeardSource::Estimate) } = speech.phase {
            // It was thought not to have begun.
            speech.heard = Some(speech.heard_by(&Played::Unknown, until_ms, rate, manager));
            speech.set_end(until_ms, manager);
            self.apply_heard(id, manager);
        }
        Effect::Applied
    }

    /// It was played to its end. Gives the calls whose outcome the caller has been told by it.
    pub fn finished(&mut self, id: SpeechId, at_ms: i64, manager: &mut Manager) -> Result<Vec<ToolCallId>, Ignored> {
        let speech = self.get_mut(id).ok_or(Ignored::UnknownSpeech)?;
        match speech.phase {
            Phase::Finished => return Err(Ignored::Repeated),
            // Players that drop what is left report it as finished.
            Phase::Interrupted { at_ms: cut_ms, reported } if reported.is_some() || at_ms > cut_ms => {
                return Err(Ignored::Interrupted);
            }
            Phase::Interrupted { .. } | Phase::Open => {}
        }
        speech.phase = Phase::Finished;
        speech.heard = None;
        speech.set_end(at_ms, manager);
        let (bytes, started_ms) = (speech.bytes(), speech.started_ms);
        let told = std::mem::take(&mut speech.tells);
        self.apply_heard(id, manager);
        if let Some(ms) = started_ms.and_then(|started_ms| u64::try_from(at_ms.saturating_sub(started_ms)).ok()) {
            self.rate.learn(bytes, ms);
        }
        Ok(told)
    }

    /// All of it counts as heard, for nothing will be reported.
    pub fn assume_heard(&mut self, id: SpeechId) -> Vec<ToolCallId> {
        let Some(speech) = self.get_mut(id) else { return Vec::new() };
        speech.phase = Phase::Finished;
        std::mem::take(&mut speech.tells)
    }

    /// The caller broke in, or hung up: what was heard is estimated until it is reported. Says whether
    /// there was anything to cut off.
    pub fn interrupt(&mut self, id: SpeechId, at_ms: i64, manager: &mut Manager) -> bool {
        let rate = self.rate.bytes_per_s();
        let Some(speech) = self.get_mut(id).filter(|speech| speech.phase == Phase::Open) else { return false };
        speech.phase = Phase::Interrupted { at_ms, reported: None };
        speech.cut();
        speech.heard = Some(speech.heard_by(&Played::Unknown, at_ms, rate, manager));
        speech.set_end(at_ms, manager);
        let says_something = !speech.parts.is_empty();
        self.apply_heard(id, manager);
        says_something
    }

    /// The player reports that it was cut off, and how much was played. A better report replaces a worse one.
    pub fn interrupted(&mut self, id: SpeechId, played: &Played, at_ms: i64, manager: &mut Manager) -> Effect {
        let rate = self.rate.bytes_per_s();
        let Some(speech) = self.get_mut(id) else { return Effect::Ignored(Ignored::UnknownSpeech) };
        let heard = speech.heard_by(played, at_ms, rate, manager);
        match speech.phase {
            Phase::Finished => return Effect::Ignored(Ignored::Finished),
            Phase::Interrupted { reported: Some(known), .. } if rank(known) > rank(heard.source()) => {
                return Effect::Ignored(Ignored::KnownBetter);
            }
            Phase::Interrupted { reported: Some(known), at_ms: known_ms }
                if known == heard.source() && known_ms == at_ms && speech.heard == Some(heard) =>
            {
                return Effect::Ignored(Ignored::Repeated);
            }
            Phase::Open | Phase::Interrupted { .. } => {}
        }
        speech.phase = Phase::Interrupted { at_ms, reported: Some(heard.source()) };
        speech.cut();
        speech.heard = Some(heard);
        speech.set_end(at_ms, manager);
        self.apply_heard(id, manager);
        Effect::Applied
    }

    /// Whether it was cut off, as far as is known.
    pub fn is_cut_off(&self, id: SpeechId) -> bool {
        self.kept.iter().any(|speech| speech.id == id && matches!(speech.phase, Phase::Interrupted { .. }))
    }

    /// How much of it there is, and how much of that was heard, in bytes.
    pub fn heard_of(&self, id: SpeechId) -> (usize, usize) {
        self.kept.iter().find(|speech| speech.id == id).map_or((0, 0), |speech| {
            let bytes = speech.bytes();
            (bytes, speech.heard.map_or(bytes, |heard| heard.len().min(bytes)))
        })
    }

    fn get_mut(&mut self, id: SpeechId) -> Option<&mut Speech> {
        self.kept.iter_mut().rev().find(|speech| speech.id == id)
    }

    /// Tells the messages of a speech what was heard of them. Others may speak of them too, before and behind.
    fn apply_heard(&mut self, id: SpeechId, manager: &mut Manager) {
        let messages = self.get_mut(id).map(|speech| speech.messages()).unwrap_or_default();
        for message in messages {
            let heard = self.kept.iter().find_map(|speech| speech.cut_in(message));
            let Some(mut entry) = manager.entry(&message) else { continue };
            // It is the assistant's.
            let _ = entry.set_heard(heard);
            if heard.is_some() {
                entry.add_attribute(Attribute::SpeechInterrupted);
            }
        }
    }
}

impl Rate {
    fn bytes_per_s(&self) -> u64 {
        /// Below this, what was learnt says little.
        const ENOUGH_MS: u64 = 2_000;
        if self.ms < ENOUGH_MS { self.usual_bytes_per_s } else { (self.bytes * 1_000 / self.ms).max(1) }
    }

    fn learn(&mut self, bytes: usize, ms: u64) {
        // Nobody speaks so fast or so slowly: a report that is wrong teaches nothing.
        let plausible = self.usual_bytes_per_s / 4..=self.usual_bytes_per_s.saturating_mul(4);
        if ms > 0 && plausible.contains(&(bytes as u64 * 1_000 / ms)) {
            self.bytes += bytes as u64;
            self.ms += ms;
        }
    }
}
