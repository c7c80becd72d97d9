//! The effects of the events that the service reports.

use super::ear::{CallEar, LastWords};
use super::effect::{Effect, Ignored};
use super::settings::CallSettings;
use super::speech::Played;
use super::utterance::Utterance;
use crate::manager::ManagerError;
use crate::message::{Confidence, Message, MessageWrapper, Part, Role, Timing, check_ms, is_blank};
use crate::turn::{CallEvent, Core, SpeechId};

impl CallEar {
    /// Returns the reason why any event at this time is ignored.
    fn refuse(&self, at_ms: i64) -> Option<Ignored> {
        if self.is_closing {
            return Some(Ignored::CLOSED);
        }
        check_ms(at_ms).is_err().then_some(Ignored::SECONDS)
    }

    pub fn caller_started_speaking(&mut self, at_ms: i64, core: &mut Core) -> Effect {
        if let Some(ignored) = self.refuse(at_ms) {
            return Effect::ignored(ignored);
        }
        self.starts.note(at_ms, core.now_ms());
        if self.is_late_start(at_ms, core.now_ms()) {
            return Effect::ignored(Ignored::REPEATED);
        }
        let is_barge_in = self.barge_in(self.starts.to_call_ms(at_ms), core);
        if self.speaking_since_ms.is_some() && !is_barge_in {
            return Effect::ignored(Ignored::REPEATED);
        }
        self.speaking_since_ms.get_or_insert(at_ms);
        Effect::APPLIED
    }

    /// Returns whether a start of speech belongs to words that were already added. A barge-in would stop the answer to
    /// them.
    fn is_late_start(&self, at_ms: i64, now_ms: i64) -> bool {
        /// The longest usual time from the words to the report of their start. A later report of an earlier time comes from
        /// a clock that is slow.
        const LATE_MS: i64 = 1_500;
        let Some(LastWords { times: (started_ms, ended_ms), received_ms, start_ms, .. }) = self.last_words else {
            return false;
        };
        match start_ms {
            // Each difference uses one clock, so the two clocks may differ.
            Some(start_ms) => at_ms == start_ms || at_ms.saturating_sub(start_ms) < ended_ms.saturating_sub(started_ms),
            None => {
                now_ms.saturating_sub(received_ms) <= LATE_MS
                    && self.starts.to_call_ms(at_ms) < self.words.to_call_ms(ended_ms).min(received_ms)
            }
        }
    }

    pub fn caller_said(&mut self, utterance: Utterance, core: &mut Core) -> Result<Effect, ManagerError> {
        if self.is_closing {
            return Ok(Effect::ignored(Ignored::CLOSED));
        }
        let Utterance { text, times, confidence, data } = utterance;
        if is_blank(&text) {
            self.speaking_since_ms = None;
            return Ok(Effect::ignored(Ignored::BLANK));
        }
        let is_repeated = |last: &LastWords| last.text == text && Some(last.times.1) == times.map(|times| times.1);
        if self.last_words.as_ref().is_some_and(is_repeated) {
            return Ok(Effect::ignored(Ignored::REPEATED));
        }
        if let Some((started_ms, ended_ms)) = times {
            check_ms(started_ms)?;
            check_ms(ended_ms)?;
        }
        let now_ms = core.now_ms();
        let words = times.map(|times| LastWords {
            text: text.clone(),
            times,
            received_ms: now_ms,
            start_ms: self.speaking_since_ms,
        });
        if let Some((_, ended_ms)) = times {
            self.words.note(ended_ms, now_ms);
        }
        let started_ms = times.map(|(started_ms, _)| started_ms).or(self.speaking_since_ms);
        let barge_in_ms = match (times, self.speaking_since_ms) {
            (Some((started_ms, _)), _) => self.words.to_call_ms(started_ms),
            (None, Some(since_ms)) => self.starts.to_call_ms(since_ms),
            (None, None) => now_ms,
        };
        self.barge_in(barge_in_ms, core);
        let ended_ms = times.map_or(now_ms, |(_, ended_ms)| ended_ms);
        let mut entry = core.manager.add_user(text)?;
        if let Some(started_ms) = started_ms {
            entry.put_part_timing(Timing::ListenStart, started_ms);
        }
        entry.put_part_timing(Timing::ListenEnd, ended_ms);
        if let Some(confidence) = confidence.and_then(|confidence| Confidence::try_from(confidence).ok()) {
            entry.set_confidence(confidence);
        }
        for (key, value) in data {
            entry.set_data(key, value)?;
        }
        self.is_doubtful = is_doubtful(entry.message(), &self.settings);
        self.last_words = words;
        self.speaking_since_ms = None;
        self.words_ended_ms = Some(times.map_or(ended_ms, |_| self.words.to_call_ms(ended_ms)));
        self.caller_waits = true;
        core.is_to_be_logged = true;
        Ok(Effect::APPLIED)
    }

    /// Continues a call whose caller may still wait for the answer to words that were not understood.
    pub fn resume(&mut self, core: &Core) {
        let last = core.manager.all().map(MessageWrapper::message).rfind(|message| message.is_said());
        let words = last.filter(|last| last.role() == Role::User);
        self.is_doubtful = words.is_some_and(|words| is_doubtful(words, &self.settings));
    }

    /// Stops the running reply and interrupts open speeches. Returns whether there were any.
    fn barge_in(&mut self, at_ms: i64, core: &mut Core) -> bool {
        let stopped = core.stop_turn(self);
        let interrupted = self.interrupt_speeches(at_ms, core);
        if stopped || interrupted {
            core.events.push(CallEvent::BargedIn);
            core.is_to_be_logged = true;
        }
        stopped || interrupted
    }

    pub fn playback_started(&mut self, speech: SpeechId, at_ms: i64, core: &mut Core) -> Effect {
        if let Some(ignored) = self.refuse(at_ms) {
            return Effect::ignored(ignored);
        }
        core.may_summarize = true;
        let effect = self.speeches.start(speech, at_ms, core.now_ms(), &mut core.manager);
        if effect.is_applied() && self.speeches.is_interrupted(speech) {
            self.note_heard(speech, core);
            core.is_to_be_logged = true;
        }
        effect
    }

    pub fn playback_finished(&mut self, speech: SpeechId, at_ms: i64, core: &mut Core) -> Effect {
        if let Some(ignored) = self.refuse(at_ms) {
            return Effect::ignored(ignored);
        }
        if core.turn_of(speech).is_some() {
            self.played_ms = Some(at_ms);
            return Effect::ignored(Ignored::STILL_GENERATED);
        }
        self.finish_playback(speech, at_ms, core)
    }

    pub fn playback_interrupted(&mut self, speech: SpeechId, played: &Played, at_ms: i64, core: &mut Core) -> Effect {
        if let Some(ignored) = self.refuse(at_ms) {
            return Effect::ignored(ignored);
        }
        // The player may report the interruption before the speech recognition reports the caller.
        let is_barge_in = core.turn_of(speech).is_some() && core.stop_turn(self);
        if is_barge_in {
            core.events.push(CallEvent::BargedIn);
        }
        let effect = self.speeches.report_interrupted(speech, played, at_ms, &mut core.manager);
        if effect.is_applied() {
            self.note_heard(speech, core);
        }
        if effect.is_applied() || is_barge_in {
            core.is_to_be_logged = true;
        }
        effect
    }
}

/// Returns whether a part of the caller's words is below the minimum confidence. A clear part does not clarify a
/// doubtful one before it.
fn is_doubtful(words: &Message, settings: &CallSettings) -> bool {
    let mut confidences = words.parts().filter_map(Part::confidence);
    let mut is_below = |least: f32| confidences.any(|confidence| (confidence.to_f64() as f32) < least);
    settings.ask_to_repeat.as_ref().is_some_and(|(least, _)| is_below(*least))
}
