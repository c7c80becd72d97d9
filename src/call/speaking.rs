//! What is generated and what is fixed, on its way into the list.

use super::effect::{Effect, Ignored};
use super::ledger::NOT_RUN;
use super::observer::{CallEvent, ReplyOutcome};
use super::reply::ReplyEnd;
use super::settings::Playback;
use super::speech::SpeechId;
use super::state::{State, Turn, count, since};
use super::tool::failed;
use crate::manager::ManagerError;
use crate::message::{
    Attribute, Content, Invocation, InvocationId, InvocationResult, MessageWrapper, Text, Timing, is_blank,
};
use crate::model::StopReason;

impl State {
    /// Stops the reply in the making; what it has said so far stays.
    pub fn stop_turn(&mut self, end: ReplyEnd) -> bool {
        let Some(mut turn) = self.turn.take() else { return false };
        if let Some(task) = turn.task.take() {
            task.abort();
        }
        self.commit_cut(&mut turn);
        if let Some(at_ms) = turn.played_ms {
            self.finished(turn.speech, at_ms);
        }
        self.note_end(turn.speech, ReplyOutcome::Stopped);
        turn.outlet.end(end);
        true
    }

    /// Takes note of a call that the model asks for. An id that was used before would be refused, and what was said with
    /// it: such a call gets an id of its own.
    pub fn asked_for(&mut self, speech: SpeechId, invocation: Invocation) -> bool {
        let id = self.unused_id(invocation.id());
        let Some(turn) = self.turn_of(speech) else { return false };
        let renamed = id.and_then(|id| {
            Invocation::new(id.as_str(), invocation.name().as_str(), invocation.arguments().clone()).ok()
        });
        turn.invocations.push(renamed.unwrap_or(invocation));
        true
    }

    /// An id to take the place of one that was used before; `None` where it was not.
    fn unused_id(&self, id: &InvocationId) -> Option<InvocationId> {
        let is_asked_for =
            |id: &InvocationId| self.turn.iter().flat_map(|turn| &turn.invocations).any(|call| call.id() == id);
        let is_used = |id: &InvocationId| self.ledger.get(id).is_some() || is_asked_for(id);
        if !is_used(id) {
            return None;
        }
        // An id has 64 characters at most, all of one byte.
        let stem: String = id.as_str().chars().take(56).collect();
        let others = (2_u32..).filter_map(|number| InvocationId::new(format!("{stem}-{number}")).ok());
        others.into_iter().find(|id| !is_used(id))
    }

    /// Puts what was generated so far into the list, marked as cut. Calls in it were not run, and that is their outcome.
    pub fn commit_cut(&mut self, turn: &mut Turn) {
        let asked_for = std::mem::take(&mut turn.invocations);
        let added = self.commit(turn, &asked_for, Some(Attribute::LlmInterrupted));
        let now_ms = self.now_ms();
        for invocation in asked_for.iter().filter(|_| added) {
            self.note_call(invocation, now_ms);
            self.note_result(&failed(invocation, NOT_RUN, "The tool was not run: the answer was cut off."), now_ms);
        }
    }

    /// A call that is in the list now.
    pub fn note_call(&mut self, invocation: &Invocation, at_ms: i64) {
        if let Err(error) = self.ledger.called(invocation, at_ms) {
            tracing::error!(%error, "the ledger of tool calls differs from the conversation");
        }
    }

    /// What came of a call that is in the list, and has no result.
    pub fn note_result(&mut self, result: &InvocationResult, at_ms: i64) -> Effect {
        match self.manager.add_user(Content::from(result.clone())) {
            Ok(_) => {}
            Err(ManagerError::SecondResult { .. }) => return Effect::Ignored(Ignored::SecondResult),
            Err(ManagerError::MismatchedResult { .. }) => return Effect::Ignored(Ignored::OtherTool),
            Err(_) => return Effect::Ignored(Ignored::UnknownInvocation),
        }
        if let Err(error) = self.ledger.finished(result, at_ms) {
            tracing::error!(%error, "the ledger of tool calls differs from the conversation");
        }
        Effect::Applied
    }

    /// Puts what was generated into the list. Says whether there was anything.
    pub fn commit(&mut self, turn: &mut Turn, invocations: &[Invocation], mark: Option<Attribute>) -> bool {
        let text = std::mem::take(&mut turn.text);
        let bytes = if is_blank(&text) { 0 } else { text.len() };
        let mut contents: Vec<Content> = Vec::with_capacity(1 + invocations.len());
        if bytes > 0 {
            contents.push(text.into());
        }
        contents.extend(invocations.iter().cloned().map(Content::from));
        let now_ms = self.now_ms();
        let Ok(mut entry) = self.manager.add_assistant(contents) else { return false };
        if entry.metadata().timing(Timing::LlmStart).is_none() {
            entry.put_timing(Timing::LlmStart, turn.asked_ms);
            if let Some(first_token_ms) = turn.first_token_ms {
                entry.put_timing(Timing::LlmFirstToken, first_token_ms);
            }
        }
        entry.put_timing(Timing::LlmEnd, now_ms);
        if let Some(mark) = mark {
            entry.add_attribute(mark);
        }
        if bytes > 0 {
            let all: usize = entry.message().contents().texts().map(|text| text.len()).sum();
            let message = entry.id();
            self.speeches.add_part(turn.speech, message, all - bytes, bytes);
        }
        true
    }

    /// Speaks a fixed sentence as a part of `speech`.
    pub fn add_fixed(&mut self, speech: SpeechId, text: &Text) -> Result<(), ManagerError> {
        let mut entry = self.manager.add_assistant(text.clone())?;
        let all: usize = entry.message().contents().texts().map(|text| text.len()).sum();
        // Of a message that was generated in part nothing else is said.
        if all == text.len() {
            entry.add_attribute(Attribute::Hardcoded);
        }
        let message = entry.id();
        self.speeches.add_part(speech, message, all - text.len(), text.len());
        Ok(())
    }

    /// Speaks a fixed sentence behind what was said, and ends the reply.
    pub fn speak(&mut self, mut turn: Turn, text: &Text, end: ReplyEnd) {
        turn.played_ms = None;
        match self.add_fixed(turn.speech, text) {
            Ok(()) => {
                // A line break parts it from a sentence that has no end.
                let line = if turn.has_spoken { format!("\n{}", text.as_str()).into() } else { text.clone() };
                turn.outlet.text(line);
                self.first_words(turn.speech);
            }
            Err(error) => tracing::error!(%error, "a fixed sentence cannot be spoken"),
        }
        self.ended(turn, end);
    }

    /// A reply came to its end by itself.
    pub fn ended(&mut self, turn: Turn, end: ReplyEnd) {
        self.caller_waits = false;
        self.generated(turn.speech);
        let outcome = match &end {
            ReplyEnd::Complete(StopReason::MaxTokens | StopReason::ContextFull) => ReplyOutcome::Cut,
            ReplyEnd::Complete(StopReason::Filtered) => ReplyOutcome::Filtered,
            ReplyEnd::Complete(_) | ReplyEnd::AskedToRepeat => ReplyOutcome::Complete,
            ReplyEnd::Interrupted => ReplyOutcome::Stopped,
            ReplyEnd::Apologised(_) => ReplyOutcome::Failed,
        };
        if let Some(at_ms) = turn.played_ms {
            self.finished(turn.speech, at_ms);
        }
        self.note_end(turn.speech, outcome);
        turn.outlet.end(end);
        self.log();
    }

    /// There is something to speak: the caller's wait is over.
    pub fn first_words(&mut self, speech: SpeechId) {
        self.caller_waits = false;
        if let Some(until_ms) = self.listened_until_ms.take() {
            let after_ms = since(until_ms, self.now_ms());
            self.events.push(CallEvent::FirstWords { speech, after_ms });
        }
    }

    fn note_end(&mut self, speech: SpeechId, outcome: ReplyOutcome) {
        let (generated, _) = self.speeches.heard_of(speech);
        self.events.push(CallEvent::ReplyEnded { speech, outcome, generated_bytes: count(generated) });
    }

    /// All of a speech is generated.
    pub fn generated(&mut self, speech: SpeechId) {
        self.summaries.is_to_be_looked_at = true;
        if self.settings.playback == Playback::Unreported {
            let told = self.speeches.assume_heard(speech);
            self.told(told);
        }
    }
}
