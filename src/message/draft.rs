//! [`Draft`]: a message that is in no conversation yet.

use crate::message::{Confidence, Contents, Decision, MessageId, Role};

/// A message that is in no conversation yet: it has no place and no time.
///
/// [`MessagesManager::add`](crate::MessagesManager::add) takes it, and
/// [`add_all`](crate::MessagesManager::add_all) takes several, or none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Draft {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub contents: Contents,
    /// What made it.
    pub decision: Decision,
    /// The id that it gets, as a message or as a part of one. With `None`, the manager makes one.
    pub id: Option<MessageId>,
    /// How sure the speech recognition is of it.
    pub confidence: Option<Confidence>,
}

impl Draft {
    /// A message of nobody's decision.
    pub fn new(role: Role, contents: impl Into<Contents>) -> Self {
        let decision = Decision::default();
        Self { role, contents: contents.into(), decision, id: None, confidence: None }
    }

    /// The same as of a decision.
    #[must_use]
    pub fn with_decision(mut self, decision: Decision) -> Self {
        self.decision = decision;
        self
    }

    /// The same with an id that the service gives. One that the conversation already has is refused.
    #[must_use]
    pub fn with_id(mut self, id: MessageId) -> Self {
        self.id = Some(id);
        self
    }

    /// The same with how sure the speech recognition is of it.
    #[must_use]
    pub fn with_confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = Some(confidence);
        self
    }
}
