//! Adds the answer of a model to the conversation.

use super::core::{Answer, Core, Turn, since};
use super::ear::Ear;
use super::end::{TurnEnd, TurnFailure};
use super::event::{CallEvent, SpeechId};
use crate::manager::ManagerError;
use crate::message::{Attribute, Content, Draft, PlainMessage, Role, Text, Timing, ToolCall, ToolCallId, is_blank};
use crate::model::{Failure, ModelError, NoResult, StopReason};

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
            self.news.retain(|result| !reports.contains(result));
            self.ear.reports(id, reports);
        }
        true
    }

    /// Adds a tool call to the answer. Returns `false` if the turn is over.
    ///
    /// Appends a number to a repeated id. Otherwise the manager would refuse the whole message, including its words.
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

    /// Adds a tool call that cannot run. The model gets the reason as its result.
    pub(super) fn add_broken_call(&mut self, id: SpeechId, call: ToolCall, reason: NoResult) -> bool {
        let is_running = self.add_tool_call(id, call);
        if let Some(turn) = self.turn_of(id)
            && let Some(added) = turn.answer.calls.last()
        {
            turn.answer.broken.push((added.id().clone(), reason));
        }
        is_running
    }

    /// Returns a new id if this one was used before.
    fn unused_id(&self, id: &ToolCallId) -> Option<ToolCallId> {
        let pending =
            |id: &ToolCallId| self.turn.iter().flat_map(|turn| &turn.answer.calls).any(|call| call.id() == id);
        let is_used = |id: &ToolCallId| self.manager.invoked(id).is_some() || pending(id);
        if !is_used(id) {
            return None;
        }
        (2..).filter_map(|number| id.numbered(number).ok()).find(|id| !is_used(id))
    }

    /// Adds the answer to the conversation once the model has stopped.
    pub(super) fn finish_answer(&mut self, id: SpeechId, reason: &StopReason, offered_tools: bool) -> Next {
        let Some(mut turn) = self.turn.take_if(|turn| turn.id == id) else { return Next::Over };
        let is_cut = matches!(reason, StopReason::MaxTokens | StopReason::ContextFull | StopReason::Filtered);
        let says_something = !is_blank(&turn.answer.text);
        let now_ms = self.now_ms();
        turn.recorder.record_end(now_ms);
        let broken = std::mem::take(&mut turn.answer.broken);
        let can_correct = matches!(reason, StopReason::MaxTokens) || !is_cut;
        let asks_again = !broken.is_empty() && offered_tools && can_correct && !turn.is_corrected;
        if !is_cut && offered_tools {
            turn.answer.calls = self.with_keys(std::mem::take(&mut turn.answer.calls));
        }
        let committed =
            self.with_ear(|ear, core| core.commit(&mut turn, is_cut.then_some(Attribute::LlmInterrupted), ear));
        let max = self.setup.max_tool_rounds;
        let end = match committed {
            Err(error) => TurnEnd::Failed(TurnFailure::Manager(error)),
            Ok(calls) if asks_again => {
                (turn.is_corrected, turn.needs_room) = (true, is_cut);
                turn.rounds += 1;
                self.turn = Some(turn);
                let mut calls = self.end_broken(calls, &broken);
                if is_cut {
                    self.with_ear(|ear, core| core.end_calls(&calls, &NoResult::TooLong, ear));
                    calls.clear();
                }
                return self.run_tools(id, calls);
            }
            Ok(calls) if !broken.is_empty() && !is_cut && offered_tools => {
                self.with_ear(|ear, core| core.end_calls(&calls, &NoResult::CutOff, ear));
                let failure =
                    Failure::Malformed("the arguments of a tool call are no JSON, twice in a turn".to_owned());
                TurnEnd::Failed(TurnFailure::Model(ModelError::new(failure)))
            }
            Ok(calls) if is_cut => {
                turn.has_dropped_calls = !calls.is_empty();
                self.with_ear(|ear, core| core.end_calls(&calls, &NoResult::CutOff, ear));
                TurnEnd::Cut(reason.clone())
            }
            Ok(calls) if calls.is_empty() && !says_something && !turn.was_blank => {
                turn.was_blank = true;
                turn.recorder.record(|request| request.failure = Some("blank".into()));
                self.turn = Some(turn);
                return self.run_tools(id, Vec::new());
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
                self.turn = Some(turn);
                return self.run_tools(id, calls);
            }
        };
        let is_failure = match &end {
            TurnEnd::Failed(_) => true,
            TurnEnd::Cut(_) => turn.has_dropped_calls || !turn.has_spoken,
            TurnEnd::Answered(_) | TurnEnd::Interrupted => false,
        };
        self.turn = Some(turn);
        // No failure is reported while a tool runs, so the driver ends the turn later.
        if !(is_failure && self.tools_used.is_any_awaited()) {
            self.end_turn(id, &end);
        }
        Next::Ended(end)
    }

    fn run_tools(&mut self, id: SpeechId, calls: Vec<ToolCall>) -> Next {
        if let Some(turn) = self.turn_of(id) {
            turn.awaits = calls.iter().map(|call| call.id().clone()).collect();
        }
        self.is_to_be_logged = true;
        Next::RunTools(calls)
    }

    /// Adds the error result of each broken call of an answer, and returns the other calls.
    fn end_broken(&mut self, calls: Vec<ToolCall>, broken: &[(ToolCallId, NoResult)]) -> Vec<ToolCall> {
        let reason = |call: &ToolCall| broken.iter().find(|(id, _)| id == call.id()).map(|(_, reason)| reason);
        calls
            .into_iter()
            .filter(|call| match reason(call) {
                Some(reason) => {
                    self.end_call(call, reason);
                    false
                }
                None => true,
            })
            .collect()
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
        let Answer { text, calls, asked_ms, first_token_ms, .. } = std::mem::take(&mut turn.answer);
        let text_bytes = if is_blank(&text) { 0 } else { text.len() };
        let text = (text_bytes > 0).then(|| Content::from(text));
        let contents: Vec<Content> = text.into_iter().chain(calls.iter().cloned().map(Content::from)).collect();
        if contents.is_empty() {
            return Ok(calls);
        }
        let now_ms = self.now_ms();
        // A message holds the record of one turn, so a second turn must not merge into it. Nor may words of a model
        // merge into a fixed sentence.
        let stays_apart = |last: &PlainMessage| last.metadata().turn().is_some() || last.is_fixed();
        let is_apart = self.manager.all().next_back().is_some_and(stays_apart);
        let added = match is_apart {
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
        let seq = entry.position().seq();
        ear.added(Some(turn.id), &entry, &contents);
        for call in &calls {
            self.tools_used.add_call(call, now_ms, seq);
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
