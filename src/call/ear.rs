//! [`CallEar`]: what a live call knows beside its conversation: what is spoken, what was heard, and who waits.
//!
//! Synchronous, under the conversation's lock. What the service's events do is in `events.rs`.

use std::sync::Arc;

use super::effect::{Effect, Ignored};
use super::reply::{Outlet, ReplyEnd};
use super::settings::{CallSettings, Playback};
use super::speeches::Speeches;
use crate::manager::ManagerError;
use crate::message::{Attribute, Content, Message, MessageId, Role, Text, ToolCall, ToolCallId, is_blank};
use crate::model::Failure;
use crate::turn::{
    CallEvent, Core, Ear, Ended, EndedTurn, ReplyOutcome, SpeechId, TurnEnd, TurnFailure, count, outcome_of, since,
};

/// What a live call knows beside its conversation.
pub(super) struct CallEar {
    /// Which call this is: the settings of another one are elsewhere.
    pub settings: Arc<CallSettings>,
    pub opened_ms: i64,
    pub speeches: Speeches,
    /// Where the reply that is generated goes.
    pub outlet: Option<Outlet>,
    /// When all that was generated so far was reported to be played. It counts if nothing more is said.
    pub played_ms: Option<i64>,
    /// Nothing is begun or reported any more; only the results of tools are still taken.
    pub is_closing: bool,
    /// Between the end of the caller's words and the first of the answer nothing else begins.
    pub caller_waits: bool,
    pub listening_since_ms: Option<i64>,
    /// When the caller had finished, until it was answered.
    pub listened_until_ms: Option<i64>,
    pub last_said: Option<(Text, i64)>,
    pub not_understood: bool,
}

impl CallEar {
    pub fn new(settings: Arc<CallSettings>, opened_ms: i64) -> Self {
        Self {
            speeches: Speeches::new(settings.speech_bytes_per_s),
            settings,
            opened_ms,
            outlet: None,
            played_ms: None,
            is_closing: false,
            caller_waits: false,
            listening_since_ms: None,
            listened_until_ms: None,
            last_said: None,
            not_understood: false,
        }
    }

    /// Adds a fixed sentence as a part of `speech`. Returns the message that it is in.
    pub fn add_fixed(&mut self, speech: SpeechId, text: &Text, core: &mut Core) -> Result<MessageId, ManagerError> {
        let mut entry = core.manager.add_assistant(text.clone())?;
        let all = texts_bytes(entry.message());
        // A message that was generated in part is not marked.
        if all == text.len() {
            entry.add_attribute(Attribute::Hardcoded);
        }
        let message = entry.id();
        self.speeches.add_part(speech, message, all - text.len(), text.len());
        Ok(message)
    }

    /// Speaks a fixed sentence after what was said, in place of a reply or at its end. Returns the message that it is in.
    pub fn speak_fixed(
        &mut self,
        speech: SpeechId,
        text: &Text,
        has_spoken: bool,
        core: &mut Core,
    ) -> Option<MessageId> {
        self.played_ms = None;
        match self.add_fixed(speech, text, core) {
            Ok(message) => {
                // A line break parts it from a sentence that has no end.
                let line = if has_spoken { format!("\n{}", text.as_str()).into() } else { text.clone() };
                if let Some(outlet) = &self.outlet {
                    outlet.text(line);
                }
                let now_ms = core.now_ms();
                self.first_words(speech, now_ms, &mut core.events);
                Some(message)
            }
            Err(error) => {
                tracing::error!(%error, "a fixed sentence cannot be spoken");
                None
            }
        }
    }

    /// There is something to speak: the caller's wait is over.
    fn first_words(&mut self, speech: SpeechId, now_ms: i64, events: &mut Vec<CallEvent>) {
        self.caller_waits = false;
        if let Some(until_ms) = self.listened_until_ms.take() {
            events.push(CallEvent::FirstWords { speech, after_ms: since(until_ms, now_ms) });
        }
    }

    /// All of a speech is generated.
    pub fn generated(&mut self, speech: SpeechId, core: &mut Core) {
        core.may_summarize = true;
        if self.settings.playback == Playback::Unreported {
            for call in self.speeches.assume_heard(speech) {
                core.tools_used.mark_reported(&call);
            }
        }
    }

    /// A speech of which no more will come was played to its end.
    pub fn finished(&mut self, speech: SpeechId, at_ms: i64, core: &mut Core) -> Effect {
        match self.speeches.finished(speech, at_ms, &mut core.manager) {
            Ok(told) => {
                for call in told {
                    core.tools_used.mark_reported(&call);
                }
                self.note_heard(speech, core);
                core.is_to_be_logged = true;
                Effect::Applied
            }
            Err(ignored) => Effect::Ignored(ignored),
        }
    }

    /// Cuts off what may still be heard: what was heard until `at_ms` is estimated. Returns whether there was anything.
    pub fn cut_off(&mut self, at_ms: i64, core: &mut Core) -> bool {
        let mut any = false;
        for speech in self.speeches.open() {
            if self.speeches.interrupt(speech, at_ms, &mut core.manager) {
                self.note_heard(speech, core);
                any = true;
            }
        }
        any
    }

    pub fn note_heard(&mut self, speech: SpeechId, core: &mut Core) {
        let (_, heard) = self.speeches.heard_of(speech);
        core.events.push(CallEvent::Heard { speech, heard_bytes: count(heard) });
    }

    /// Ends the reply that is generated for whoever reads it.
    pub fn end_reply(&mut self, end: ReplyEnd) {
        if let Some(outlet) = self.outlet.take() {
            outlet.end(end);
        }
    }

    /// What the caller hears in place of an answer, or after half of one; `None` if the end needs no apology.
    fn needs_apology(end: &TurnEnd, has_spoken: bool) -> Option<Option<Failure>> {
        match end {
            TurnEnd::Answered(_) | TurnEnd::Interrupted => None,
            TurnEnd::Cut(_) | TurnEnd::Failed(TurnFailure::Blank | TurnFailure::TooManyToolRounds { .. })
                if has_spoken =>
            {
                None
            }
            TurnEnd::Failed(TurnFailure::Model(error)) => Some(Some(error.kind().clone())),
            TurnEnd::Cut(_) | TurnEnd::Failed(_) => Some(None),
        }
    }
}

impl Ear for CallEar {
    fn text(&mut self, turn: SpeechId, text: &Text, is_first: bool, now_ms: i64, events: &mut Vec<CallEvent>) {
        if !is_blank(text) {
            self.played_ms = None;
        }
        if let Some(outlet) = &self.outlet {
            outlet.text(text.clone());
        }
        if is_first {
            self.first_words(turn, now_ms, events);
        }
    }

    /// They are told once the caller has heard it.
    fn reports(&mut self, turn: SpeechId, calls: Vec<ToolCallId>) -> Vec<ToolCallId> {
        self.speeches.tell(turn, calls);
        Vec::new()
    }

    fn added(&mut self, turn: Option<SpeechId>, message: &Message, new: &[Content]) {
        let bytes: usize = new.iter().filter_map(Content::as_text).map(|text| text.len()).sum();
        if let Some(turn) = turn.filter(|_| message.role() == Role::Assistant && bytes > 0) {
            self.speeches.add_part(turn, message.id(), texts_bytes(message) - bytes, bytes);
        }
    }

    fn called(&mut self, _turn: SpeechId, call: &ToolCall) {
        if let Some(outlet) = &self.outlet {
            outlet.tool_called(call.clone());
        }
    }

    fn ended(&mut self, turn: &EndedTurn, end: &TurnEnd, core: &mut Core) -> Ended {
        let mut ended = Ended { outcome: outcome_of(end), added_bytes: 0, message: None };
        let reply_end = match (Self::needs_apology(end, turn.has_spoken), end) {
            (Some(failure), _) => {
                let apology = self.settings.apology.clone();
                ended.message = self.speak_fixed(turn.id, &apology, turn.has_spoken, core);
                (ended.outcome, ended.added_bytes) = (ReplyOutcome::Failed, apology.len());
                ReplyEnd::Apologised(failure)
            }
            (None, TurnEnd::Interrupted) => ReplyEnd::Interrupted,
            (None, TurnEnd::Answered(reason) | TurnEnd::Cut(reason)) => ReplyEnd::Complete(reason.clone()),
            (None, TurnEnd::Failed(_)) => {
                ended.outcome = ReplyOutcome::Complete;
                ReplyEnd::Complete(crate::model::StopReason::EndTurn)
            }
        };
        if reply_end != ReplyEnd::Interrupted {
            self.caller_waits = false;
            self.generated(turn.id, core);
        }
        if let Some(at_ms) = self.played_ms.take() {
            self.finished(turn.id, at_ms, core);
        }
        self.end_reply(reply_end);
        ended
    }

    fn waits(&self) -> bool {
        self.caller_waits || self.is_closing
    }

    fn oldest_needed(&self) -> Option<MessageId> {
        self.speeches.oldest_open()
    }
}

fn texts_bytes(message: &Message) -> usize {
    message.contents().texts().map(|text| text.len()).sum()
}

/// Why a result of a tool changed nothing, as events say it.
impl From<crate::turn::ResultRefused> for Ignored {
    fn from(refused: crate::turn::ResultRefused) -> Self {
        use crate::turn::ResultRefused;
        match refused {
            ResultRefused::SecondResult => Self::SecondResult,
            ResultRefused::OtherTool => Self::OtherTool,
            ResultRefused::UnknownCall => Self::UnknownToolCall,
        }
    }
}
