//! [`Run`]: the model's answer to a conversation, message by message, with the tools that it calls.
//!
//! Owns the order of asking, running tools and asking again, and what becomes of an answer that is cut. Nothing is kept
//! here that is not in the conversation once it is given.

mod answer;
mod request;
mod rounds;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::error::RunError;
use super::shared::Conversation;
use crate::message::{Message, Text};
use rounds::Rounds;

/// The model's answer to a conversation, message by message: what the assistant says with the tools that it calls, the
/// result of each tool as it comes, and so on until the final text.
///
/// Each message holds what is new, and is in the conversation when it is given; where it was merged into one that stood
/// there, it has that one's id. It is driven by being read: nothing is sent before that. The conversation can be used
/// meanwhile: what is applied to it, and how it is configured, holds from the next request on. Several calls of one answer
/// run side by side.
///
/// An error is the last item. What was said before it is kept, marked [`LlmInterrupted`](crate::Attribute::LlmInterrupted)
/// where the answer was cut. A tool's failure is no error, but a [result](super::Tool). The model is not asked again, but by
/// its own client: run the conversation anew.
///
/// Dropping a run cancels the request and stops its tools. What the model had said stays, marked the same way; a call
/// without a result gets one that says whether it is known [not to have run](crate::model::NOT_RUN) or
/// [may have acted](crate::model::OUTCOME_UNKNOWN).
///
/// It needs tokio, for its deadlines and for the tools.
///
/// Errors: see [`RunError`].
pub struct Run(State);

enum State {
    Failed(RunError),
    Idle(Box<Rounds>),
    Working(Step),
    Ended,
}

type Item = Result<Message, RunError>;
type Step = Pin<Box<dyn Future<Output = (Box<Rounds>, Option<Item>)> + Send>>;

impl Run {
    /// Errors: another run goes on.
    pub(super) fn begin(conversation: &Conversation) -> Result<Self, RunError> {
        let running = conversation.begin_run()?;
        Ok(Self(State::Idle(Box::new(Rounds::new(conversation.clone(), running)))))
    }

    pub(super) fn failed(error: RunError) -> Self {
        Self(State::Failed(error))
    }

    /// The next message; `None` behind the last one, or behind an error. Nothing is lost if this is dropped.
    pub async fn next(&mut self) -> Option<Result<Message, RunError>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Runs up to the final text. What the model's answer has behind it is [still to be read](Self::next).
    pub(super) async fn final_text(&mut self) -> Result<Text, RunError> {
        let mut text = None;
        while !self.is_answered()
            && let Some(message) = self.next().await
        {
            text = message?.contents().texts().next().cloned();
        }
        text.ok_or(RunError::Blank)
    }

    fn is_answered(&self) -> bool {
        matches!(&self.0, State::Idle(rounds) if rounds.are_over())
    }
}

impl Stream for Run {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Item>> {
        let mut state = std::mem::replace(&mut self.0, State::Ended);
        loop {
            state = match state {
                State::Failed(error) => return Poll::Ready(Some(Err(error))),
                State::Idle(rounds) => State::Working(Box::pin(rounds.next())),
                State::Working(mut working) => match working.as_mut().poll(context) {
                    Poll::Pending => {
                        self.0 = State::Working(working);
                        return Poll::Pending;
                    }
                    Poll::Ready((_, None)) => return Poll::Ready(None),
                    Poll::Ready((rounds, item)) => {
                        self.0 = State::Idle(rounds);
                        return Poll::Ready(item);
                    }
                },
                State::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("has_ended", &matches!(self.0, State::Ended)).finish_non_exhaustive()
    }
}
