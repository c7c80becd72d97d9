//! [`Run`]: the model's answer to a conversation, message by message, with the tools that it calls.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::config::ConfigError;
use super::error::RunError;
use super::shared::Conversation;
use super::state::Attached;
use crate::message::{Content, Message, Role, Text};
use crate::turn::{Core, Ear, Host, Nobody, SpeechId, TurnEnd, TurnFailure, drive};

/// The model's answer to a conversation, message by message: what the assistant says with the tools that it calls, the
/// result of each tool as it comes, and so on until the final text.
///
/// Each message holds what is new, and is in the conversation when it is given; if it was merged into another one, it has
/// that one's id. A run is driven by being read: nothing is sent before that. The conversation can be used meanwhile: what
/// is applied to it, and how it is configured, holds from the next request on. Several calls of one answer run side by side.
///
/// An error is the last item. What was said before it is kept, marked [`LlmInterrupted`](crate::Attribute::LlmInterrupted)
/// if the answer was cut. A tool's failure is no error, but a [result](crate::model::Tool).
///
/// Dropping a run cancels the request. What the model had said stays, marked; the calls in it were
/// not run. Tools that run already belong to the conversation: they come to their end, and their
/// results are added when they come.
///
/// A run needs a tokio runtime, for its deadlines and its tools.
///
/// Errors: see [`RunError`].
pub struct Run(State);

enum State {
    Failed(RunError),
    Idle(Attachment),
    Driving(Driving, SpeechId, Attachment),
    /// The turn is over: what is left to give.
    Over(VecDeque<Message>, Option<RunError>),
}

type Driving = Pin<Box<dyn Future<Output = TurnEnd> + Send>>;

/// Takes the conversation's turns, until it is dropped.
struct Attachment(Conversation);

/// Collects the messages that a turn adds.
#[derive(Default)]
struct RunEar {
    added: VecDeque<Message>,
}

impl Ear for RunEar {
    fn added(&mut self, _turn: Option<SpeechId>, message: &Message, new: &[Content]) {
        self.added.push_back(message.with_contents(new.to_vec().into()));
    }
}

impl Run {
    /// Returns an error if another run or a live call takes the turns.
    pub(super) fn begin(conversation: &Conversation) -> Result<Self, RunError> {
        conversation.with_state(|state| {
            match state.attached {
                Attached::Nobody => {}
                Attached::Run => return Err(RunError::AlreadyRunning),
                Attached::Call => return Err(RunError::InCall),
            }
            state.attach(Attached::Run);
            state.core.ear = Box::new(RunEar::default());
            Ok(())
        })?;
        Ok(Self(State::Idle(Attachment(conversation.clone()))))
    }

    pub(super) fn failed(error: RunError) -> Self {
        Self(State::Failed(error))
    }

    /// The next message; `None` after the last one, or after an error. Nothing is lost if this is dropped.
    pub async fn next(&mut self) -> Option<Result<Message, RunError>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Runs up to the final text. The end of the model's answer is [still to be read](Self::next).
    pub(super) async fn final_text(&mut self) -> Result<Text, RunError> {
        let mut text = None;
        while !self.is_answered()
            && let Some(message) = self.next().await
        {
            let message = message?;
            if message.role() == Role::Assistant {
                text = message.contents().texts().next().cloned();
            }
        }
        text.ok_or(RunError::Blank)
    }

    fn is_answered(&self) -> bool {
        match &self.0 {
            State::Driving(_, turn, attachment) => {
                attachment.with_added(|core, added| core.turn_of(*turn).is_none() && added.is_empty())
            }
            State::Over(added, error) => added.is_empty() && error.is_none(),
            _ => false,
        }
    }
}

impl Attachment {
    /// The next message to give. What is given goes to the log first.
    fn pop(&self) -> Option<Message> {
        let message = self.with_added(|_, added| added.pop_front())?;
        self.0.with(|core| core.is_to_be_logged = true);
        Some(message)
    }

    fn with_added<T>(&self, look: impl FnOnce(&mut Core, &mut VecDeque<Message>) -> T) -> T {
        let mut state = self.0.state();
        let mut none = VecDeque::new();
        let mut ear = std::mem::replace(&mut state.core.ear, Box::new(Nobody));
        let added = (&mut *ear as &mut dyn Any).downcast_mut::<RunEar>().map_or(&mut none, |ear| &mut ear.added);
        let looked = look(&mut state.core, added);
        state.core.ear = ear;
        looked
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.0.with_state(|state| {
            state.core.ear = Box::new(Nobody);
            state.attach(Attached::Nobody);
        });
    }
}

impl Stream for Run {
    type Item = Result<Message, RunError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let over = || State::Over(VecDeque::new(), None);
        let mut state = std::mem::replace(&mut self.0, over());
        loop {
            state = match state {
                State::Failed(error) => return Poll::Ready(Some(Err(error))),
                State::Idle(attachment) if !attachment.0.read(|manager| manager.is_answerable()) => {
                    State::Over(VecDeque::new(), Some(RunError::NothingToAnswer))
                }
                State::Idle(attachment) => {
                    let turn = attachment.0.with(Core::begin_turn);
                    State::Driving(Box::pin(drive(attachment.0.clone(), turn)), turn, attachment)
                }
                State::Driving(mut driving, turn, attachment) => {
                    let given = |message| Poll::Ready(Some(Ok(message)));
                    let pop = Attachment::pop;
                    if let Some(message) = pop(&attachment) {
                        self.0 = State::Driving(driving, turn, attachment);
                        return given(message);
                    }
                    match driving.as_mut().poll(context) {
                        Poll::Pending => {
                            let message = pop(&attachment);
                            self.0 = State::Driving(driving, turn, attachment);
                            return message.map_or(Poll::Pending, given);
                        }
                        Poll::Ready(end) => {
                            let added = attachment.with_added(|_, added| std::mem::take(added));
                            State::Over(added, error_of(end))
                        }
                    }
                }
                State::Over(mut added, error) => match added.pop_front() {
                    Some(message) => {
                        self.0 = State::Over(added, error);
                        return Poll::Ready(Some(Ok(message)));
                    }
                    None => return Poll::Ready(error.map(Err)),
                },
            }
        }
    }
}

/// An end as a run has it. A run is interrupted by its own drop alone.
fn error_of(end: TurnEnd) -> Option<RunError> {
    Some(match end {
        TurnEnd::Answered(_) | TurnEnd::Interrupted => return None,
        TurnEnd::Cut(reason) => RunError::Cut { reason },
        TurnEnd::Failed(failure) => match failure {
            TurnFailure::NoModel => ConfigError::NoModel.into(),
            TurnFailure::NothingToAnswer => RunError::NothingToAnswer,
            TurnFailure::Model(error) => error.into(),
            TurnFailure::Blank => RunError::Blank,
            TurnFailure::TooManyToolRounds { max } => RunError::TooManyToolRounds { max },
            TurnFailure::Manager(error) => error.into(),
            TurnFailure::Panicked => RunError::ModelPanicked,
        },
    })
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("has_ended", &matches!(self.0, State::Over(..))).finish_non_exhaustive()
    }
}
