//! [`CallEar`]: the state of a live call beside its conversation: speeches, heard text, and the waiting caller.
//!
//! It is synchronous and runs under the conversation's lock. `events.rs` has the effects of the service's reports.

use std::sync::Arc;

use super::effect::Effect;
use super::rate::Skew;
use super::reply::Outlet;
use super::settings::CallSettings;
use super::silence::Silence;
use super::speeches::Speeches;
use crate::manager::ManagerError;
use crate::message::{Attribute, Content, Message, MessageId, Role, Text, ToolCall, ToolCallId, is_blank};
use crate::model::{Failure, StopReason};
use crate::turn::{CallEvent, Core, Ear, Ended, Manager, ReplyEnd, SpeechId, Turn, TurnEnd, TurnFailure, count, since};

/// The state of a live call beside its conversation.
pub(super) struct CallEar {
    /// Also identifies the call, because each call has its own allocation.
    pub settings: Arc<CallSettings>,
    pub opened_ms: i64,
    pub speeches: Speeches,
    /// The reader of the running reply.
    pub outlet: Option<Outlet>,
    /// The silence of the running reply.
    pub silence: Silence,
    /// When the player reported the end of the running reply. The report takes effect if no more text follows.
    pub played_ms: Option<i64>,
    /// Whether the call is closing. Nothing new starts then, and only results of tools are accepted.
    pub is_closing: bool,
    /// Whether the caller is waiting for an answer. No background work starts then.
    pub caller_waits: bool,
    /// When the caller started to speak, until the words arrive.
    pub speaking_since_ms: Option<i64>,
    /// When the caller's words ended, until the first words of the answer.
    pub words_ended_ms: Option<i64>,
    /// The last words, to detect repeated reports.
    pub last_words: Option<LastWords>,
    /// The clock of the reports that the caller started to speak, and the clock of the times of the caller's words.
    pub starts: Skew,
    pub words: Skew,
    /// Whether a part of the caller's words is below the minimum confidence.
    pub is_doubtful: bool,
}

/// The last words of the caller that were reported with their times.
pub(super) struct LastWords {
    pub text: Text,
    /// When they started and ended, by the clock of the report.
    pub times: (i64, i64),
    /// When they were reported, by the call's clock.
    pub received_ms: i64,
    /// When the caller started to speak, if that was reported before.
    pub start_ms: Option<i64>,
}

impl CallEar {
    pub fn new(settings: Arc<CallSettings>, opened_ms: i64) -> Self {
        Self {
            speeches: Speeches::new(settings.speech_bytes_per_s),
            settings,
            opened_ms,
            outlet: None,
            silence: Silence::default(),
            played_ms: None,
            is_closing: false,
            caller_waits: false,
            speaking_since_ms: None,
            words_ended_ms: None,
            last_words: None,
            starts: Skew::default(),
            words: Skew::default(),
            is_doubtful: false,
        }
    }

    /// Speaks a sentence that fills a silence. The caller continues to wait for the answer.
    pub fn speak_filler(&mut self, speech: SpeechId, text: &Text, core: &mut Core) -> Result<(), ManagerError> {
        self.add_fixed(speech, text, core)?;
        self.played_ms = None;
        self.note_audible(text.len(), core.now_ms());
        if let Some(outlet) = &self.outlet {
            // Line breaks separate the sentence from the words around it.
            outlet.text(format!("\n{}\n", text.as_str()).into());
        }
        core.is_to_be_logged = true;
        Ok(())
    }

    fn note_audible(&mut self, bytes: usize, now_ms: i64) {
        self.silence.note_text(bytes, self.settings.speech_bytes_per_s, now_ms);
    }

    /// Adds a fixed sentence to the conversation and to `speech`. Returns its message.
    pub fn add_fixed(&mut self, speech: SpeechId, text: &Text, core: &mut Core) -> Result<MessageId, ManagerError> {
        let mut entry = core.manager.add_assistant(text.clone())?;
        let all = texts_bytes(&entry);
        // The sentence may have merged into a generated message, which must not get the mark.
        if all == text.len() {
            entry.add_attribute(Attribute::Hardcoded);
        }
        let message = entry.id();
        self.speeches.add_part(speech, message, all - text.len(), text.len());
        Ok(message)
    }

    /// Speaks a fixed sentence in place of a reply, or at its end. Returns its message.
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
                // A line break separates the sentence from an unfinished one before it.
                let line = if has_spoken { format!("\n{}", text.as_str()).into() } else { text.clone() };
                if let Some(outlet) = &self.outlet {
                    outlet.text(line);
                }
                let now_ms = core.now_ms();
                self.note_first_words(speech, now_ms, &mut core.events);
                Some(message)
            }
            Err(error) => {
                tracing::error!(%error, "cannot speak a fixed sentence; the caller hears nothing");
                None
            }
        }
    }

    fn note_first_words(&mut self, speech: SpeechId, now_ms: i64, events: &mut Vec<CallEvent>) {
        self.caller_waits = false;
        if let Some(ended_ms) = self.words_ended_ms.take() {
            events.push(CallEvent::FirstWords { speech, after_ms: since(ended_ms, now_ms) });
        }
    }

    /// Notes that all text of a speech is generated.
    pub fn finish_generating(&mut self, speech: SpeechId, core: &mut Core) {
        core.may_summarize = true;
        if !self.settings.reports_playback {
            for call in self.speeches.assume_heard(speech) {
                core.tools_used.mark_reported(&call, core.manager.next_seq());
            }
        }
    }

    /// Applies the report that a complete speech was played to its end.
    pub fn finish_playback(&mut self, speech: SpeechId, at_ms: i64, core: &mut Core) -> Effect {
        match self.speeches.finish(speech, at_ms, &mut core.manager) {
            Ok(reported) => {
                for call in reported {
                    core.tools_used.mark_reported(&call, core.manager.next_seq());
                    core.news.retain(|untold| *untold != call);
                }
                self.note_heard(speech, core);
                core.is_to_be_logged = true;
                Effect::APPLIED
            }
            Err(ignored) => Effect::ignored(ignored),
        }
    }

    /// Interrupts all open speeches and estimates what was heard until `at_ms`. Returns whether one of them was cut.
    pub fn interrupt_speeches(&mut self, at_ms: i64, core: &mut Core) -> bool {
        let mut any = false;
        for speech in self.speeches.open() {
            let is_cut = self.speeches.interrupt(speech, at_ms, &mut core.manager);
            core.note_untold(self.speeches.reports(speech));
            if is_cut {
                self.note_heard(speech, core);
                any = true;
            }
        }
        any
    }

    pub fn note_heard(&mut self, speech: SpeechId, core: &mut Core) {
        if self.speeches.is_interrupted(speech) {
            core.note_untold(self.speeches.reports(speech));
        }
        core.events.push(CallEvent::Heard { speech, heard_bytes: count(self.speeches.heard_bytes(speech)) });
    }

    /// Ends the running reply for its reader.
    pub fn end_reply(&mut self, end: ReplyEnd) {
        if let Some(outlet) = self.outlet.take() {
            outlet.end(end);
        }
    }

    /// Returns the failure for which the caller hears an apology. `Some(None)` is a failure outside the model.
    fn needs_apology(end: &TurnEnd, turn: &Turn) -> Option<Option<Failure>> {
        match end {
            TurnEnd::Answered(_) | TurnEnd::Interrupted => None,
            TurnEnd::Cut(_) | TurnEnd::Failed(TurnFailure::Blank | TurnFailure::TooManyToolRounds { .. })
                if turn.has_spoken && !turn.has_dropped_calls =>
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
            self.note_audible(text.len(), now_ms);
        }
        if let Some(outlet) = &self.outlet {
            outlet.text(text.clone());
        }
        if is_first {
            self.note_first_words(turn, now_ms, events);
        }
    }

    /// Outcomes count as reported once the caller has heard the speech.
    fn reports(&mut self, turn: SpeechId, calls: Vec<ToolCallId>) {
        self.speeches.add_reports(turn, calls);
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

    fn ended(&mut self, turn: &Turn, end: &TurnEnd, core: &mut Core) -> Ended {
        let mut ended = Ended::of(end);
        if !matches!(end, TurnEnd::Answered(_)) {
            // The missing words may be the ones that report the outcomes.
            self.speeches.note_incomplete(turn.id);
        }
        match (Self::needs_apology(end, turn), end) {
            (Some(failure), _) => {
                let settings = &self.settings;
                let is_unchanged = turn.is_not_done && !turn.has_acted && !core.tools_used.is_any_running();
                let apology = if is_unchanged { settings.not_done.clone() } else { settings.apology.clone() };
                ended.message = self.speak_fixed(turn.id, &apology, turn.has_spoken, core);
                (ended.end, ended.added_bytes) = (ReplyEnd::Failed(failure), apology.len());
            }
            (None, TurnEnd::Failed(_)) => ended.end = ReplyEnd::Complete(StopReason::EndTurn),
            (None, _) => {}
        }
        if ended.end != ReplyEnd::Interrupted {
            self.caller_waits = false;
            self.finish_generating(turn.id, core);
        }
        if let Some(at_ms) = self.played_ms.take() {
            self.finish_playback(turn.id, at_ms, core);
        }
        self.end_reply(ended.end.clone());
        ended
    }

    fn waits(&self) -> bool {
        self.caller_waits || self.is_closing
    }

    fn oldest_needed(&self) -> Option<MessageId> {
        self.speeches.oldest_open()
    }

    fn oldest_unsettled(&self) -> Option<MessageId> {
        self.speeches.oldest_unsettled()
    }

    fn released(&mut self, manager: &Manager) {
        self.speeches.forget_released(manager);
    }
}

fn texts_bytes(message: &Message) -> usize {
    message.contents().texts().map(|text| text.len()).sum()
}
