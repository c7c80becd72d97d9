//! [`Draft`]: a message that is in no conversation yet.

use crate::message::{Contents, Decision, Role};

/// A message that is in no conversation yet: it has no id, no place and no time.
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
}

impl Draft {
    /// A message of nobody's decision.
    pub fn new(role: Role, contents: impl Into<Contents>) -> Self {
        Self { role, contents: contents.into(), decision: Decision::default() }
    }

    /// The same as of a decision.
    #[must_use]
    pub fn with_decision(mut self, decision: Decision) -> Self {
        self.decision = decision;
        self
    }
}
