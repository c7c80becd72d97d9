//! [`Run`]: takes one turn of a conversation and returns its messages one by one.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::config::ConfigError;
use super::error::{ConversationError, Problem};
use super::shared::Conversation;
use super::state::Attached;
use crate::message::{Content, Message, Role, Text, ToolCallId};
use crate::turn::{Core, Ear, Ended, Host, Nobody, SpeechId, Turn, TurnEnd, TurnFailure, drive, look_up_inherited};

/// The model's answer to a conversation, as a stream of messages: assistant messages with their tool calls, tool
/// results as they arrive, and the final text.
///
/// Each item holds the new contents, which the conversation already has when the run returns the item. An item that was
/// merged into an earlier message has the id of that message. A run advances only while it is read; the first read
/// sends the first request. The conversation can be used meanwhile: new messages and settings take effect with the next
/// request. The tool calls of one answer run concurrently.
///
/// An error is the last item. The conversation keeps the text before it, marked
/// [`LlmInterrupted`](crate::Attribute::LlmInterrupted) if the answer was cut. The failure of a tool is not an
/// error of the run: the model gets it as a [result](crate::model::Tool).
///
/// Dropping a run cancels its request. The conversation keeps the text so far, with the same mark, and does not run the
/// tool calls of the unfinished answer. Tools that are already running complete, and the conversation adds their
/// results.
///
/// A run needs a tokio runtime.
///
/// # Errors
///
/// The kinds are [`InUse`](super::ConversationErrorKind::InUse) if a live call or another run owns the turns,
/// [`NothingToAnswer`](super::ConversationErrorKind::NothingToAnswer),
/// [`Refused`](super::ConversationErrorKind::Refused) without a model or if the conversation is full,
/// [`Model`](super::ConversationErrorKind::Model), and [`NoAnswer`](super::ConversationErrorKind::NoAnswer).
pub struct Run(State);

enum State {
    Failed(ConversationError),
    Idle(Attachment),
    Driving(Driving, SpeechId, Attachment),
    /// The turn is over. Holds the items that are not yet read.
    Over(VecDeque<Message>, Option<ConversationError>),
}

type Driving = Pin<Box<dyn Future<Output = TurnEnd> + Send>>;

/// Owns the turns of the conversation until it is dropped.
struct Attachment(Conversation);

/// Collects the messages that a turn adds.
#[derive(Default)]
struct RunEar {
    added: VecDeque<Message>,
    /// The tool calls whose outcome the words of the turn report, if the answer becomes complete.
    reports: Vec<ToolCallId>,
}

impl Ear for RunEar {
    fn reports(&mut self, _turn: SpeechId, calls: Vec<ToolCallId>) {
        self.reports.extend(calls);
    }

    fn added(&mut self, _turn: Option<SpeechId>, message: &Message, new: &[Content]) {
        self.added.push_back(message.with_contents(new.to_vec().into()));
    }

    fn ended(&mut self, _turn: &Turn, end: &TurnEnd, core: &mut Core) -> Ended {
        // The words that report the outcomes may be among those that are missing.
        for call in std::mem::take(&mut self.reports).iter().filter(|_| matches!(end, TurnEnd::Answered(_))) {
            core.tools_used.mark_reported(call, core.manager.next_seq());
        }
        Ended::of(end)
    }
}

impl Run {
    /// Returns an error if another run or a live call owns the turns.
    pub(super) fn begin(conversation: &Conversation) -> Result<Self, Problem> {
        conversation.with_state(|state| {
            match state.attached {
                Attached::Nobody => {}
                Attached::Run => {
                    return Err(Problem::InRun { advice: "wait for that run to end, or drop it" });
                }
                Attached::Call => return Err(Problem::InCall { advice: "close the call first" }),
            }
            state.attach(Attached::Run);
            state.core.ear = Box::new(RunEar::default());
            Ok(())
        })?;
        Ok(Self(State::Idle(Attachment(conversation.clone()))))
    }

    pub(super) fn failed(error: ConversationError) -> Self {
        Self(State::Failed(error))
    }

    /// Returns the next message, or `None` after the last one or an error. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<Message, ConversationError>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Runs up to the final text. The caller must still [read](Self::next) the stream to its end.
    pub(super) async fn final_text(&mut self) -> Result<Text, ConversationError> {
        let mut text = None;
        while !self.is_answered()
            && let Some(message) = self.next().await
        {
            let message = message?;
            if message.role() == Role::Assistant {
                text = message.contents().texts().next().cloned();
            }
        }
        text.ok_or_else(|| Problem::Blank.into())
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
    /// Takes the next message. Submits it to the log first.
    fn pop(&self) -> Option<Message> {
        let message = self.with_added(|_, added| added.pop_front())?;
        self.0.with(|core| core.is_to_be_logged = true);
        Some(message)
    }

    fn with_added<T>(&self, read: impl FnOnce(&mut Core, &mut VecDeque<Message>) -> T) -> T {
        let mut state = self.0.state();
        let mut none = VecDeque::new();
        let mut ear = std::mem::replace(&mut state.core.ear, Box::new(Nobody));
        let added = (&mut *ear as &mut dyn Any).downcast_mut::<RunEar>().map_or(&mut none, |ear| &mut ear.added);
        let result = read(&mut state.core, added);
        state.core.ear = ear;
        result
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
    type Item = Result<Message, ConversationError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let over = || State::Over(VecDeque::new(), None);
        let mut state = std::mem::replace(&mut self.0, over());
        loop {
            state = match state {
                State::Failed(error) => return Poll::Ready(Some(Err(error))),
                State::Idle(attachment) if !attachment.0.with(|core| core.is_answerable()) => {
                    State::Over(VecDeque::new(), Some(Problem::NOTHING_TO_ANSWER.into()))
                }
                State::Idle(attachment) => {
                    let weak = attachment.0.downgrade();
                    look_up_inherited(&attachment.0, move || weak.upgrade());
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

/// Converts the end of a turn. A turn of a run is interrupted only if the run is dropped.
fn error_of(end: TurnEnd) -> Option<ConversationError> {
    let problem = match end {
        TurnEnd::Answered(_) | TurnEnd::Interrupted => return None,
        TurnEnd::Cut(reason) => Problem::Cut { reason },
        TurnEnd::Failed(failure) => match failure {
            TurnFailure::NoModel => ConfigError::NoModel.into(),
            TurnFailure::NothingToAnswer => Problem::NOTHING_TO_ANSWER,
            TurnFailure::Model(error) => error.into(),
            TurnFailure::Blank => Problem::Blank,
            TurnFailure::TooManyToolRounds { max } => Problem::TooManyToolRounds { max },
            TurnFailure::Manager(error) => error.into(),
            TurnFailure::Panicked => Problem::ModelPanicked,
        },
    };
    Some(problem.into())
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("has_ended", &matches!(self.0, State::Over(..))).finish_non_exhaustive()
    }
}
