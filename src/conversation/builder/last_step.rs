//! [`LastStep`]: the step behind which a message is built, or of which it is.

use super::MessageBuilder;
use crate::message::{Draft, Message, MessageWrapper, Step};

/// The step that a conversation is at: of a message, a draft, a builder, or by its number.
///
/// A message of no step counts as before the first one: as step 0, as does no message at all. So the next step behind it
/// is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastStep(Step);

impl LastStep {
    /// The step.
    pub fn step(self) -> Step {
        self.0
    }
}

impl From<Step> for LastStep {
    fn from(step: Step) -> Self {
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
        Self(builder.step())
    }
}

impl<T: Into<Self>> From<Option<T>> for LastStep {
    fn from(last: Option<T>) -> Self {
        last.map_or(Self(Step(0)), Into::into)
    }
}
