//! [`LastStep`]: the step that a builder continues.

use super::MessageBuilder;
use crate::message::{Draft, Message, MessageWrapper};

/// The step that a builder continues: a number, or the step of a message, a draft, or a builder.
///
/// A message without a step counts as step 0, and so does `None`. The next step is then 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastStep(pub(super) u32);

impl From<u32> for LastStep {
    fn from(step: u32) -> Self {
        Self(step)
    }
}

impl From<&Message> for LastStep {
    fn from(message: &Message) -> Self {
        message.metadata().decision().and_then(|decision| decision.step).into()
    }
}

impl<W: MessageWrapper> From<&W> for LastStep {
    fn from(wrapper: &W) -> Self {
        wrapper.message().into()
    }
}

impl From<&Draft> for LastStep {
    fn from(draft: &Draft) -> Self {
        draft.decision.step.into()
    }
}

impl From<&MessageBuilder> for LastStep {
    fn from(builder: &MessageBuilder) -> Self {
        Self(builder.step)
    }
}

impl<T: Into<Self>> From<Option<T>> for LastStep {
    fn from(last: Option<T>) -> Self {
        last.map_or(Self(0), Into::into)
    }
}
