//! [`Ear`]: who listens to a turn.

use std::any::Any;

use super::core::Core;
use super::end::TurnEnd;
use super::event::{CallEvent, ReplyOutcome, SpeechId};
use crate::message::{Content, Message, MessageId, Text, ToolCall, ToolCallId};
use crate::model::StopReason;

/// Who listens to a turn: a run, or a live call. It is called under the conversation's lock, and never waits.
pub(crate) trait Ear: Any + Send {
    /// The model said something more. `is_first` holds for the first words of the turn.
    fn text(&mut self, _turn: SpeechId, _text: &Text, _is_first: bool, _now_ms: i64, _events: &mut Vec<CallEvent>) {}

    /// What the turn says from here on reports the outcome of these tool calls. Returns those that count as told at once.
    fn reports(&mut self, _turn: SpeechId, calls: Vec<ToolCallId>) -> Vec<ToolCallId> {
        calls
    }

    /// `new` is in `message` now, at its end: something that the assistant said or called, or the result of a tool.
    fn added(&mut self, _turn: Option<SpeechId>, _message: &Message, _new: &[Content]) {}

    /// The model called a tool, which is in the conversation now.
    fn called(&mut self, _turn: SpeechId, _call: &ToolCall) {}

    /// The turn is over. What there is of its answer is in the conversation.
    fn ended(&mut self, turn: &EndedTurn, end: &TurnEnd, core: &mut Core) -> Ended {
        let _ = (turn, core);
        Ended { outcome: outcome_of(end), added_bytes: 0, message: None }
    }

    /// Whether somebody waits for the first words. Nothing else is begun meanwhile.
    fn waits(&self) -> bool {
        false
    }

    /// The oldest message that has to stay in memory, such as one that is still being played.
    fn oldest_needed(&self) -> Option<MessageId> {
        None
    }
}

/// A turn that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedTurn {
    pub id: SpeechId,
    /// Whether it said anything.
    pub has_spoken: bool,
}

/// What an ear made of the end of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub outcome: ReplyOutcome,
    /// Bytes of fixed text that were added, such as an apology.
    pub added_bytes: usize,
    /// The message with that text.
    pub message: Option<MessageId>,
}

/// Nobody listens.
pub(crate) struct Nobody;

impl Ear for Nobody {}

/// What an end means for the metrics.
pub(crate) fn outcome_of(end: &TurnEnd) -> ReplyOutcome {
    match end {
        TurnEnd::Answered(_) => ReplyOutcome::Complete,
        TurnEnd::Cut(StopReason::Filtered) => ReplyOutcome::Filtered,
        TurnEnd::Cut(_) => ReplyOutcome::Cut,
        TurnEnd::Interrupted => ReplyOutcome::Stopped,
        TurnEnd::Failed(_) => ReplyOutcome::Failed,
    }
}
