//! [`Draft`]: a message that no conversation contains yet.

use crate::message::{Confidence, Contents, Decision, MessageError, MessageId, Number, Role};

/// A message that no conversation contains yet. It has neither a position nor a time.
///
/// [`MessagesManager::add`](crate::MessagesManager::add) adds one draft.
/// [`add_all`](crate::MessagesManager::add_all) adds several, or none of them if one is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub(crate) role: Role,
    pub(crate) contents: Contents,
    pub(crate) decision: Decision,
    pub(crate) id: Option<MessageId>,
    pub(crate) confidence: Option<Confidence>,
    /// Whether nobody said it.
    pub(crate) is_background: bool,
}

impl Draft {
    /// Creates a draft without a decision, an id or a confidence.
    pub fn new(role: Role, contents: impl Into<Contents>) -> Self {
        Self {
            role,
            contents: contents.into(),
            decision: Decision::default(),
            id: None,
            confidence: None,
            is_background: false,
        }
    }

    /// Creates a draft of background for the model, which nobody said.
    pub(crate) fn background(contents: impl Into<Contents>) -> Self {
        Self { is_background: true, ..Self::new(Role::User, contents) }
    }

    /// Sets the decision that made the message. Messages of different decisions are not merged.
    #[must_use]
    pub fn with_decision(mut self, decision: Decision) -> Self {
        self.decision = decision;
        self
    }

    /// Sets the id of the new message, or of the new part if the draft is merged into the last message.
    ///
    /// The manager refuses an id that the conversation already contains. Without an id, the manager makes one.
    #[must_use]
    pub fn with_id(mut self, id: MessageId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the confidence of the speech recognition in the words of the draft, from 0 to 1. It is logged as given.
    ///
    /// Returns a [`MessageError`] if the number is not from 0 to 1.
    pub fn with_confidence(self, confidence: Number) -> Result<Self, MessageError> {
        Ok(Self { confidence: Some(confidence.try_into()?), ..self })
    }
}
