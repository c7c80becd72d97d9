//! What the events do that the service reports.

use super::ear::CallEar;
use super::effect::{Effect, Ignored};
use super::speech::Played;
use super::utterance::Utterance;
use crate::manager::ManagerError;
use crate::message::{MessageWrapper, Timing, Value, is_blank};
use crate::turn::{CallEvent, Core, SpeechId};

impl CallEar {
    pub fn caller_started_speaking(&mut self, at_ms: i64, core: &mut Core) -> Effect {
        if self.is_closing {
            return Effect::Ignored(Ignored::Closed);
        }
        // Of words that were said already: to interrupt would stop the answer to them.
        if self.last_said.as_ref().is_some_and(|(_, ended_ms)| at_ms < *ended_ms) {
            return Effect::Ignored(Ignored::Repeated);
        }
        let broke_in = self.break_in(at_ms, core);
        if self.listening_since_ms.is_some() && !broke_in {
            return Effect::Ignored(Ignored::Repeated);
        }
        self.listening_since_ms.get_or_insert(at_ms);
        Effect::Applied
    }

    pub fn caller_said(&mut self, utterance: Utterance, core: &mut Core) -> Result<Effect, ManagerError> {
        if self.is_closing {
            return Ok(Effect::Ignored(Ignored::Closed));
        }
        let Utterance { text, started_ms, ended_ms, confidence } = utterance;
        if is_blank(&text) {
            self.listening_since_ms = None;
            return Ok(Effect::Ignored(Ignored::Blank));
        }
        let said = ended_ms.map(|ended_ms| (text.clone(), ended_ms));
        if said.is_some() && said == self.last_said {
            return Ok(Effect::Ignored(Ignored::Repeated));
        }
        let now_ms = core.now_ms();
        let started_ms = started_ms.or(self.listening_since_ms);
        self.break_in(started_ms.unwrap_or(now_ms), core);
        let ended_ms = ended_ms.unwrap_or(now_ms);
        let mut entry = core.manager.add_user(text)?;
        if let Some(started_ms) = started_ms
            && entry.metadata().timing(Timing::ListenStart).is_none()
        {
            entry.set_timing(Timing::ListenStart, started_ms);
        }
        entry.set_timing(Timing::ListenEnd, ended_ms);
        if let Some(confidence) = confidence.and_then(|confidence| Value::try_from(f64::from(confidence)).ok()) {
            entry.set_data("confidence", confidence);
        }
        let least = self.settings.min_confidence;
        self.not_understood = least.zip(confidence).is_some_and(|(least, confidence)| confidence < least);
        self.last_said = said;
        self.listening_since_ms = None;
        self.listened_until_ms = Some(ended_ms);
        self.caller_waits = true;
        core.is_to_be_logged = true;
        Ok(Effect::Applied)
    }

    /// Stops the reply that is generated, and cuts off what is spoken. Returns whether there was anything.
    fn break_in(&mut self, at_ms: i64, core: &mut Core) -> bool {
        let stopped = core.stop_turn(self);
        let cut = self.cut_off(at_ms, core);
        if stopped || cut {
            core.events.push(CallEvent::BargedIn);
            core.is_to_be_logged = true;
        }
        stopped || cut
    }

    pub fn playback_started(&mut self, speech: SpeechId, at_ms: i64, core: &mut Core) -> Effect {
        if self.is_closing {
            return Effect::Ignored(Ignored::Closed);
        }
        core.may_summarize = true;
        let effect = self.speeches.started(speech, at_ms, &mut core.manager);
        if effect.is_applied() && self.speeches.is_cut_off(speech) {
            self.note_heard(speech, core);
            core.is_to_be_logged = true;
        }
        effect
    }

    pub fn playback_finished(&mut self, speech: SpeechId, at_ms: i64, core: &mut Core) -> Effect {
        if self.is_closing {
            return Effect::Ignored(Ignored::Closed);
        }
        if core.turn_of(speech).is_some() {
            self.played_ms = Some(at_ms);
            return Effect::Ignored(Ignored::StillGenerated);
        }
        self.finished(speech, at_ms, core)
    }

    pub fn playback_interrupted(&mut self, speech: SpeechId, played: &Played, at_ms: i64, core: &mut Core) -> Effect {
        if self.is_closing {
            return Effect::Ignored(Ignored::Closed);
        }
        // The player may know of the interruption before the session does.
        let broke_in = core.turn_of(speech).is_some() && core.stop_turn(self);
        if broke_in {
            core.events.push(CallEvent::BargedIn);
        }
        let effect = self.speeches.interrupted(speech, played, at_ms, &mut core.manager);
        if effect.is_applied() {
            self.note_heard(speech, core);
        }
        if effect.is_applied() || broke_in {
            core.is_to_be_logged = true;
        }
        effect
    }
}
