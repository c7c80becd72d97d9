//! What the events do that the service reports.

use super::effect::{Effect, Ignored};
use super::observer::{CallEvent, ToolOutcome};
use super::reply::ReplyEnd;
use super::speech::{Played, SpeechId};
use super::state::{State, count, since};
use super::utterance::Utterance;
use crate::manager::ManagerError;
use crate::message::{Confidence, InvocationId, InvocationResult, Part, Timing, check_ms, is_blank};

impl State {
    pub fn caller_started_speaking(&mut self, at_ms: i64) -> Effect {
        if self.is_closing {
            return Effect::Ignored(Ignored::Closed);
        }
        // Of words that were said already: to break in would stop the answer to them.
        if self.last_said.as_ref().is_some_and(|(_, ended_ms)| at_ms < *ended_ms) {
            return Effect::Ignored(Ignored::Repeated);
        }
        let broke_in = self.break_in(at_ms);
        if self.listening_since_ms.is_some() && !broke_in {
            return Effect::Ignored(Ignored::Repeated);
        }
        self.listening_since_ms.get_or_insert(at_ms);
        Effect::Applied
    }

    pub fn caller_said(&mut self, utterance: Utterance) -> Result<Effect, ManagerError> {
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
        for at_ms in started_ms.into_iter().chain(ended_ms) {
            check_ms(at_ms)?;
        }
        let now_ms = self.now_ms();
        let started_ms = started_ms.or(self.listening_since_ms);
        self.break_in(started_ms.unwrap_or(now_ms));
        let ended_ms = ended_ms.unwrap_or(now_ms);
        let mut entry = self.manager.add_user(text)?;
        if let Some(started_ms) = started_ms {
            entry.put_part_timing(Timing::ListenStart, started_ms);
        }
        entry.put_part_timing(Timing::ListenEnd, ended_ms);
        if let Some(confidence) = confidence.and_then(|confidence| Confidence::try_from(confidence).ok()) {
            entry.set_confidence(confidence);
        }
        // A part that was not understood stays so when a clear one follows.
        let is_doubtful = |least| {
            let mut confidences = entry.message().parts().filter_map(Part::confidence);
            confidences.any(|confidence| (confidence.to_f64() as f32) < least)
        };
        self.not_understood = self.settings.min_confidence.is_some_and(is_doubtful);
        self.last_said = said;
        self.listening_since_ms = None;
        self.listened_until_ms = Some(ended_ms);
        (self.caller_waits, self.is_unanswered) = (true, true);
        self.log();
        Ok(Effect::Applied)
    }

    /// Stops the reply in the making, and cuts off what is being spoken. Says whether there was anything.
    fn break_in(&mut self, at_ms: i64) -> bool {
        let stopped = self.stop_turn(ReplyEnd::Interrupted);
        let cut = self.cut_off(at_ms);
        if stopped || cut {
            self.events.push(CallEvent::BargedIn);
            self.log();
        }
        stopped || cut
    }

    /// Of what may still be heard, what was heard until `at_ms` is estimated. Says whether there was anything.
    pub fn cut_off(&mut self, at_ms: i64) -> bool {
        let mut any = false;
        for speech in self.speeches.open() {
            if self.speeches.interrupt(speech, at_ms, &mut self.manager) {
                self.note_heard(speech);
                any = true;
            }
        }
        any
    }

    pub fn playback_started(&mut self, speech: SpeechId, at_ms: i64) -> Effect {
        if self.is_closing {
            return Effect::Ignored(Ignored::Closed);
        }
        self.summaries.is_to_be_looked_at = true;
        let effect = self.speeches.started(speech, at_ms, &mut self.manager);
        if effect.is_applied() && self.speeches.is_cut_off(speech) {
            self.note_heard(speech);
            self.log();
        }
        effect
    }

    pub fn playback_finished(&mut self, speech: SpeechId, at_ms: i64) -> Effect {
        if self.is_closing {
            return Effect::Ignored(Ignored::Closed);
        }
        if let Some(turn) = self.turn_of(speech) {
            turn.played_ms = Some(at_ms);
            return Effect::Ignored(Ignored::StillGenerated);
        }
        self.finished(speech, at_ms)
    }

    /// A speech of which there will be no more was played to its end.
    pub fn finished(&mut self, speech: SpeechId, at_ms: i64) -> Effect {
        match self.speeches.finished(speech, at_ms, &mut self.manager) {
            Ok(told) => {
                self.told(told);
                self.note_heard(speech);
                self.log();
                Effect::Applied
            }
            Err(ignored) => Effect::Ignored(ignored),
        }
    }

    pub fn playback_interrupted(&mut self, speech: SpeechId, played: &Played, at_ms: i64) -> Effect {
        if self.is_closing {
            return Effect::Ignored(Ignored::Closed);
        }
        // The player may know of the caller's breaking in before the session does.
        let broke_in =
            self.turn.as_ref().is_some_and(|turn| turn.speech == speech) && self.stop_turn(ReplyEnd::Interrupted);
        if broke_in {
            self.events.push(CallEvent::BargedIn);
        }
        let effect = self.speeches.interrupted(speech, played, at_ms, &mut self.manager);
        if effect.is_applied() {
            self.note_heard(speech);
        }
        if effect.is_applied() || broke_in {
            self.log();
        }
        effect
    }

    /// What came of a tool, from wherever it ran.
    pub fn tool_result(&mut self, result: InvocationResult) -> Effect {
        if self.is_closed {
            return Effect::Ignored(Ignored::Closed);
        }
        let now_ms = self.now_ms();
        let id = result.invocation_id().clone();
        let effect = self.note_result(&result, now_ms);
        if !effect.is_applied() {
            return effect;
        }
        let called_at_ms = self.ledger.get(&id).map_or(now_ms, |entry| entry.called_at_ms());
        let outcome = ToolOutcome::from(&result);
        self.events.push(CallEvent::ToolFinished { id, outcome, after_ms: since(called_at_ms, now_ms) });
        // What has acted is not to be in memory alone.
        self.log();
        Effect::Applied
    }

    pub fn told(&mut self, calls: Vec<InvocationId>) {
        for id in calls {
            // One that is told by two speeches is told.
            let _ = self.ledger.told(&id);
        }
    }

    fn note_heard(&mut self, speech: SpeechId) {
        let (_, heard) = self.speeches.heard_of(speech);
        self.events.push(CallEvent::Heard { speech, heard_bytes: count(heard) });
    }
}
