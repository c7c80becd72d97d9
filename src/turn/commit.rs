//! Adds the answer of a model to the conversation.

use super::core::{Answer, Core, Turn, since};
use super::ear::Ear;
use super::end::{TurnEnd, TurnFailure};
use super::event::{CallEvent, SpeechId};
use crate::manager::ManagerError;
use crate::message::{Attribute, Content, Draft, Role, Text, Timing, ToolCall, ToolCallId, is_blank};
use crate::model::{NoResult, StopReason};

/// The step after an answer.
pub(super) enum Next {
    /// The turn was ended from outside.
    Over,
    /// Run the tools that the model called.
    RunTools(Vec<ToolCall>),
    /// The turn has ended.
    Ended(TurnEnd),
}

impl Core {
    /// Adds a piece of text to the answer. Returns `false` if the turn is over.
    pub(super) fn add_text(&mut self, id: SpeechId, text: &Text) -> bool {
        let now_ms = self.now_ms();
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == id) else { return false };
        if turn.answer.first_token_ms.is_none() {
            turn.answer.first_token_ms = Some(now_ms);
            turn.recorder.record_first_token(now_ms);
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
            for reported in self.ear.reports(id, reports) {
                self.tools_used.mark_reported(&reported);
            }
        }
        true
    }

    /// Adds a tool call to the answer. Returns `false` if the turn is over.
    ///
    /// Appends a number to a repeated id, because the manager would refuse the whole message, including its words.
    pub(super) fn add_tool_call(&mut self, id: SpeechId, call: ToolCall) -> bool {
        let renamed = self
            .unused_id(call.id())
            .and_then(|unused| ToolCall::new(unused.as_str(), call.name().as_str(), call.arguments().clone()).ok());
        let now_ms = self.now_ms();
        let Some(turn) = self.turn_of(id) else { return false };
        if turn.answer.first_token_ms.is_none() {
            turn.recorder.record_first_token(now_ms);
        }
        turn.answer.calls.push(renamed.unwrap_or(call));
        true
    }

    /// Returns a new id if this one was used before.
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

    /// Adds the answer to the conversation once the model has stopped.
    pub(super) fn finish_answer(&mut self, id: SpeechId, reason: &StopReason, offered_tools: bool) -> Next {
        let Some(mut turn) = self.turn.take_if(|turn| turn.id == id) else { return Next::Over };
        let is_cut = matches!(reason, StopReason::MaxTokens | StopReason::ContextFull | StopReason::Filtered);
        let says_something = !is_blank(&turn.answer.text);
        let now_ms = self.now_ms();
        turn.recorder.record(|request| request.end_ms = Some(now_ms));
        let committed =
            self.with_ear(|ear, core| core.commit(&mut turn, is_cut.then_some(Attribute::LlmInterrupted), ear));
        let max = self.setup.max_tool_rounds;
        let end = match committed {
            Err(error) => TurnEnd::Failed(TurnFailure::Manager(error)),
            Ok(calls) if is_cut => {
                self.with_ear(|ear, core| core.end_calls(&calls, &NoResult::CutOff, ear));
                TurnEnd::Cut(reason.clone())
            }
            Ok(calls) if calls.is_empty() && !says_something => TurnEnd::Failed(TurnFailure::Blank),
            Ok(calls) if calls.is_empty() => TurnEnd::Answered(reason.clone()),
            Ok(calls) if !offered_tools => {
                self.with_ear(|ear, core| core.end_calls(&calls, &NoResult::TooManyRounds, ear));
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

    /// Adds the part of an answer that was generated before the turn ended. Its tool calls are not run.
    pub(super) fn commit_partial(&mut self, turn: &mut Turn, ear: &mut dyn Ear) {
        match self.commit(turn, Some(Attribute::LlmInterrupted), ear) {
            Ok(calls) => self.end_calls(&calls, &NoResult::CutOff, ear),
            Err(error) => {
                tracing::error!(%error, "cannot add a partial answer to the conversation; its words are lost")
            }
        }
    }

    /// Discards the answer before the model is asked again.
    pub(super) fn discard_answer(&mut self, id: SpeechId) {
        if let Some(turn) = self.turn_of(id) {
            turn.answer = Answer::default();
        }
    }

    /// Returns whether the answer has no words yet.
    pub(super) fn is_silent(&mut self, id: SpeechId) -> bool {
        self.turn_of(id).is_some_and(|turn| is_blank(&turn.answer.text))
    }

    /// Adds the answer to the conversation and returns its tool calls.
    fn commit(
        &mut self,
        turn: &mut Turn,
        mark: Option<Attribute>,
        ear: &mut dyn Ear,
    ) -> Result<Vec<ToolCall>, ManagerError> {
        let Answer { text, calls, asked_ms, first_token_ms } = std::mem::take(&mut turn.answer);
        let text_bytes = if is_blank(&text) { 0 } else { text.len() };
        let text = (text_bytes > 0).then(|| Content::from(text));
        let contents: Vec<Content> = text.into_iter().chain(calls.iter().cloned().map(Content::from)).collect();
        if contents.is_empty() {
            return Ok(calls);
        }
        let now_ms = self.now_ms();
        // A message holds the record of one turn, so a second turn must not merge into it.
        let has_record = self.manager.all().next_back().is_some_and(|last| last.metadata().turn().is_some());
        let added = match has_record {
            true => self.manager.add_apart(Draft::new(Role::Assistant, contents.clone())),
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
        turn.recorder.message = Some(entry.id());
        ear.added(Some(turn.id), entry.message(), &contents);
        for call in &calls {
            self.tools_used.add_call(call, now_ms);
        }
        Ok(calls)
    }

    fn end_calls(&mut self, calls: &[ToolCall], reason: &NoResult, ear: &mut dyn Ear) {
        for call in calls {
            // The call is in the conversation, so only a second result is refused.
            let _ = self.add_result_for(&reason.of(call), ear);
        }
    }
}
