//! [`ModelError`]: why a model did not answer, or not to the end.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Why a model did not answer, or not to the end. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[error("{kind}; received before: {received}")]
pub struct ModelError {
    kind: Failure,
    received: Partial,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The request cannot be made valid; it was not sent.
    Invalid(String),
    /// The provider refuses the request: it is not to be asked again like this.
    Refused(String),
    /// The provider has no access, no credentials or no such model for us: a matter for an operator.
    Denied(String),
    /// Too many requests at once, or a quota is used up.
    Throttled,
    /// The provider cannot answer now.
    Unavailable(String),
    /// There is no connection to the provider.
    Unreachable,
    /// It took too long.
    TimedOut {
        /// What was waited for.
        wait: Wait,
        /// How long it was waited for.
        after: Duration,
    },
    /// The connection broke in the answer.
    Cut,
    /// The answer ended without its stop.
    Truncated,
    /// The answer cannot be read, such as a tool call whose arguments are no JSON.
    Malformed(String),
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The connection to the provider.
    Connection,
    /// The first piece of the answer.
    FirstToken,
    /// The next piece of the answer.
    NextEvent,
    /// The whole answer.
    WholeAnswer,
}

/// How much of an answer had come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Partial {
    /// Bytes of text.
    pub text_bytes: usize,
    /// Whole tool calls.
    pub tool_calls: usize,
}

impl ModelError {
    /// An error after `received` had come.
    pub fn new(kind: Failure, received: Partial) -> Self {
        Self { kind, received, source: None }
    }

    /// The same with what is behind it, which tells nothing of what was said either.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// What went wrong.
    pub fn kind(&self) -> &Failure {
        &self.kind
    }

    /// How much of the answer had come.
    pub fn received(&self) -> Partial {
        self.received
    }

    /// Returns whether the same request may be answered if it is sent again, at once or later.
    pub fn is_retryable(&self) -> bool {
        !matches!(self.kind, Failure::Invalid(_) | Failure::Refused(_) | Failure::Denied(_))
    }
}

impl Failure {
    /// Returns whether the request should be sent again at once.
    ///
    /// That is so where the client has not retried it itself: the answer broke off, came too late or could not be read, or
    /// the provider failed. A throttled or unreachable provider was asked again by the client already.
    pub fn is_worth_another_try(&self) -> bool {
        matches!(self, Self::Cut | Self::Truncated | Self::Malformed(_) | Self::TimedOut { .. } | Self::Unavailable(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(what) => write!(f, "the request is not valid and was not sent: {what}"),
            Self::Refused(what) => write!(f, "the model's provider refused the request: {what}"),
            Self::Denied(what) => write!(f, "the model cannot be used; check credentials, access and model id: {what}"),
            Self::Throttled => {
                f.write_str("the model's provider has too many requests; ask again later, or raise the quota")
            }
            Self::Unavailable(what) => write!(f, "the model's provider cannot answer now; ask again: {what}"),
            Self::Unreachable => {
                f.write_str("the model's provider cannot be reached; check the network and the region")
            }
            Self::TimedOut { wait, after } => write!(f, "{wait} did not come within {} ms", after.as_millis()),
            Self::Cut => f.write_str("the connection broke in the answer"),
            Self::Truncated => f.write_str("the answer ended without its stop"),
            Self::Malformed(what) => write!(f, "the answer cannot be read: {what}"),
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Connection => "a connection to the model",
            Self::FirstToken => "the first token",
            Self::NextEvent => "the next piece of the answer",
            Self::WholeAnswer => "the whole answer",
        })
    }
}

impl fmt::Display for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of text, {} tool calls", self.text_bytes, self.tool_calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_after_which_another_try_helps_are_retryable() {
        let timed_out = Failure::TimedOut { wait: Wait::FirstToken, after: Duration::from_secs(5) };
        for (failure, is_worth_another_try, is_retryable) in [
            (Failure::Invalid(String::new()), false, false),
            (Failure::Refused(String::new()), false, false),
            (Failure::Denied(String::new()), false, false),
            (Failure::Throttled, false, true),
            (Failure::Unreachable, false, true),
            (Failure::Unavailable(String::new()), true, true),
            (timed_out, true, true),
            (Failure::Cut, true, true),
            (Failure::Truncated, true, true),
            (Failure::Malformed(String::new()), true, true),
        ] {
            assert_eq!(failure.is_worth_another_try(), is_worth_another_try, "{failure:?}");
            let error = ModelError::new(failure, Partial::default());
            assert_eq!(error.is_retryable(), is_retryable, "{error:?}");
        }
    }
}
