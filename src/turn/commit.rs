//! What a model says, on its way into the conversation.

use super::core::{Answer, Core, Turn, since};
use super::ear::Ear;
use super::end::{TurnEnd, TurnFailure};
use super::event::{CallEvent, SpeechId};
use crate::manager::ManagerError;
use crate::message::{Attribute, Content, MessageWrapper, Role, Text, Timing, ToolCall, ToolCallId, is_blank};
use crate::model::{NOT_RUN, StopReason, failed};

const CUT_OFF: &str = "The tool was not run: the answer was cut off.";
const TOO_MANY: &str = "The tool was not run: too many were called for one answer.";

/// What follows once the model has stopped.
pub(super) enum Next {
    /// The turn was ended from outside.
    Over,
    /// The tools that it called are to be run.
    RunTools(Vec<ToolCall>),
    /// The turn has ended.
    Ended(TurnEnd),
}

impl Core {
    /// The model said something more. Returns `false` if the turn is over.
    pub(super) fn text(&mut self, id: SpeechId, text: &Text) -> bool {
        let now_ms = self.now_ms();
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == id) else { return false };
        if turn.answer.first_token_ms.is_none() {
            turn.answer.first_token_ms = Some(now_ms);
            turn.recorder.first_token(now_ms);
            let after_ms = since(turn.answer.asked_ms, now_ms);
            self.events.push(CallEvent::FirstToken { speech: id, after_ms });
        }
        turn.answer.text.push_str(text);
        let says_something = !is_blank(text);
        let is_first = says_something && !turn.has_spoken;
        turn.has_spoken |= says_something;
        let reports = if says_something { std::mem::take(&mut turn.reports) } else { Vec::new() };
        self.ear.text(id, text, is_first, now_ms, &mut self.events);
        if !reports.is_empty() {
            for told in self.ear.reports(id, reports) {
                self.tools_used.mark_reported(&told);
            }
        }
        true
    }

    /// The model calls a tool. An id that was used before gets a number: the manager would refuse the message, and the words
    /// in it. Returns `false` if the turn is over.
    pub(super) fn calls(&mut self, id: SpeechId, call: ToolCall) -> bool {
        let renamed = self
            .unused_id(call.id())
            .and_then(|unused| ToolCall::new(unused.as_str(), call.name().as_str(), call.arguments().clone()).ok());
        let now_ms = self.now_ms();
        let Some(turn) = self.turn_of(id) else { return false };
        if turn.answer.first_token_ms.is_none() {
            turn.recorder.first_token(now_ms);
        }
        turn.answer.calls.push(renamed.unwrap_or(call));
        true
    }

    /// An id in place of one that was used before; `None` if it was not.
    fn unused_id(&self, id: &ToolCallId) -> Option<ToolCallId> {
        let pending =
            |id: &ToolCallId| self.turn.iter().flat_map(|turn| &turn.answer.calls).any(|call| call.id() == id);
        let is_used = |id: &ToolCallId| self.manager.invoked(id).is_some() || pending(id);
        if !is_used(id) {
            return None;
        }
        // An id has at most 64 characters, each of one byte.
        let stem: String = id.as_str().chars().take(56).collect();
        let others = (2_u32..).filter_map(|number| ToolCallId::new(format!("{stem}-{number}")).ok());
        others.into_iter().find(|id| !is_used(id))
    }

    /// The model has stopped: what it said goes into the conversation.
    pub(super) fn stopped(&mut self, id: SpeechId, reason: &StopReason, offered_tools: bool) -> Next {
        let Some(mut turn) = self.turn.take_if(|turn| turn.id == id) else { return Next::Over };
        let is_cut = matches!(reason, StopReason::MaxTokens | StopReason::ContextFull | StopReason::Filtered);
        let says_something = !is_blank(&turn.answer.text);
        let now_ms = self.now_ms();
        turn.recorder.stopped(now_ms);
        let committed =
            self.with_ear(|ear, core| core.commit(&mut turn, is_cut.then_some(Attribute::LlmInterrupted), ear));
        let max = self.setup.max_tool_rounds;
        let end = match committed {
            Err(error) => TurnEnd::Failed(TurnFailure::Manager(error)),
            Ok(calls) if is_cut => {
                self.with_ear(|ear, core| core.not_run(&calls, CUT_OFF, ear));
                TurnEnd::Cut(reason.clone())
            }
            Ok(calls) if calls.is_empty() && !says_something => TurnEnd::Failed(TurnFailure::Blank),
            Ok(calls) if calls.is_empty() => TurnEnd::Answered(reason.clone()),
            Ok(calls) if !offered_tools => {
                self.with_ear(|ear, core| core.not_run(&calls, TOO_MANY, ear));
                if says_something {
                    TurnEnd::Answered(reason.clone())
                } else {
                    TurnEnd::Failed(TurnFailure::TooManyToolRounds { max })
                }
            }
            Ok(calls) => {
                turn.rounds += 1;
                for call in &calls {
                    self.events.push(CallEvent::ToolCalled { id: call.id().clone() });
                    self.ear.called(id, call);
                }
                self.turn = Some(turn);
                self.is_to_be_logged = true;
                return Next::RunTools(calls);
            }
        };
        self.turn = Some(turn);
        self.end_turn(id, &end);
        Next::Ended(end)
    }

    /// Keeps what was said before the answer was cut. Its calls were not run.
    pub(super) fn commit_cut(&mut self, turn: &mut Turn, ear: &mut dyn Ear) {
        match self.commit(turn, Some(Attribute::LlmInterrupted), ear) {
            Ok(calls) => self.not_run(&calls, CUT_OFF, ear),
            Err(error) => tracing::error!(%error, "what the model said is not in the conversation"),
        }
    }

    /// Forgets an answer of which nothing was shown: the model is asked again.
    pub(super) fn retract(&mut self, id: SpeechId) {
        if let Some(turn) = self.turn_of(id) {
            turn.answer = Answer::default();
        }
    }

    /// Whether nothing of the answer that is being generated was shown.
    pub(super) fn has_shown_nothing(&mut self, id: SpeechId) -> bool {
        self.turn_of(id).is_some_and(|turn| is_blank(&turn.answer.text))
    }

    /// Puts what the model has said into the conversation, and returns the calls in it.
    fn commit(
        &mut self,
        turn: &mut Turn,
        mark: Option<Attribute>,
        ear: &mut dyn Ear,
    ) -> Result<Vec<ToolCall>, ManagerError> {
        let Answer { text, calls, asked_ms, first_token_ms } = std::mem::take(&mut turn.answer);
        let text_bytes = if is_blank(&text) { 0 } else { text.len() };
        let said = (text_bytes > 0).then(|| Content::from(text));
        let contents: Vec<Content> = said.into_iter().chain(calls.iter().cloned().map(Content::from)).collect();
        if contents.is_empty() {
            return Ok(calls);
        }
        let now_ms = self.now_ms();
        // A message has the record of one turn.
        let has_record = self.manager.all().next_back().is_some_and(|last| last.metadata().turn().is_some());
        let added = match has_record {
            true => self.manager.add_apart(Role::Assistant, contents.clone()),
            false => self.manager.add_assistant(contents.clone()),
        };
        let mut entry = added?;
        if entry.metadata().timing(Timing::LlmStart).is_none() {
            entry.put_timing(Timing::LlmStart, asked_ms);
            if let Some(first_token_ms) = first_token_ms {
                entry.put_timing(Timing::LlmFirstToken, first_token_ms);
            }
        }
        entry.put_timing(Timing::LlmEnd, now_ms);
        if let Some(mark) = mark {
            entry.add_attribute(mark);
        }
        turn.generated_bytes += text_bytes;
        turn.recorder.said_in(entry.id());
        ear.added(Some(turn.id), entry.message(), &contents);
        for call in &calls {
            self.tools_used.add_call(call, now_ms);
        }
        Ok(calls)
    }

    fn not_run(&mut self, calls: &[ToolCall], message: &str, ear: &mut dyn Ear) {
        for call in calls {
            // The call is in the conversation, so only a second result is refused.
            let _ = self.add_result_for(&failed(call, NOT_RUN, message), ear);
        }
    }
}
