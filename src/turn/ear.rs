//! [`Ear`]: the listener of a turn.

use std::any::Any;

use super::core::{Core, Manager, Turn};
use super::end::{TurnEnd, TurnFailure};
use super::event::{CallEvent, ReplyEnd, SpeechId};
use crate::message::{Content, Message, MessageId, Text, ToolCall, ToolCallId};

/// The listener of a turn: a run or a live call. Its methods run under the conversation's lock and never block.
pub(crate) trait Ear: Any + Send {
    /// The model generated more text. `is_first` is true for the first words of the turn.
    fn text(&mut self, _turn: SpeechId, _text: &Text, _is_first: bool, _now_ms: i64, _events: &mut Vec<CallEvent>) {}

    /// The following words of the turn report the outcome of these tool calls. The ear marks them as reported once these
    /// words have reached the caller.
    fn reports(&mut self, _turn: SpeechId, _calls: Vec<ToolCallId>) {}

    /// `new` was added at the end of `message`: words or tool calls of the assistant, or the result of a tool.
    fn added(&mut self, _turn: Option<SpeechId>, _message: &Message, _new: &[Content]) {}

    /// The model called a tool. The call is in the conversation.
    fn called(&mut self, _turn: SpeechId, _call: &ToolCall) {}

    /// The turn ended. Its answer is in the conversation.
    fn ended(&mut self, turn: &Turn, end: &TurnEnd, core: &mut Core) -> Ended {
        let _ = (turn, core);
        Ended::of(end)
    }

    /// Returns whether the caller is waiting for the first words of the answer. No background work starts during that
    /// time.
    fn waits(&self) -> bool {
        false
    }

    /// Returns the oldest message that is being played.
    fn oldest_needed(&self) -> Option<MessageId> {
        None
    }

    /// Returns the oldest message that must stay in memory, because reports about it are likely.
    fn oldest_unsettled(&self) -> Option<MessageId> {
        self.oldest_needed()
    }

    /// Messages have left memory.
    fn released(&mut self, _manager: &Manager) {}
}

/// The reaction of an [`Ear`] to the end of a turn.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub end: ReplyEnd,
    /// The size of the fixed text that was added, such as an apology, in bytes.
    pub added_bytes: usize,
    /// The message that holds this text.
    pub message: Option<MessageId>,
}

impl Ended {
    /// Returns the reaction of an ear that adds nothing.
    pub fn of(end: &TurnEnd) -> Self {
        let end = match end {
            TurnEnd::Answered(reason) | TurnEnd::Cut(reason) => ReplyEnd::Complete(reason.clone()),
            TurnEnd::Interrupted => ReplyEnd::Interrupted,
            TurnEnd::Failed(TurnFailure::Model(error)) => ReplyEnd::Failed(Some(error.kind().clone())),
            TurnEnd::Failed(_) => ReplyEnd::Failed(None),
        };
        Self { end, added_bytes: 0, message: None }
    }
}

/// An [`Ear`] that ignores everything.
pub(crate) struct Nobody;

impl Ear for Nobody {}
