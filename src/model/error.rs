//! [`ModelError`]: the reason why a model returned no answer, or only a part of one.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// A failed request to a model. It never holds what the caller or the model said.
#[derive(Debug, thiserror::Error)]
#[error("{kind}; received before: {received}")]
pub struct ModelError {
    kind: Failure,
    received: Partial,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The reason why a request to a model failed. A text in it explains the cause, without words of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The request breaks a rule of the provider and cannot be repaired. It was not sent.
    Invalid(String),
    /// The provider refused the request. The same request fails again.
    Refused(String),
    /// The credentials, the access rights or the model id are wrong. An operator must fix them.
    Denied(String),
    /// The provider limits the rate of requests, or a quota is used up.
    Throttled,
    /// The provider cannot answer at the moment.
    Unavailable(String),
    /// The provider cannot be reached.
    Unreachable,
    /// A deadline passed.
    TimedOut {
        /// The event that did not arrive, such as `the first token`.
        wait: &'static str,
        /// How long the client waited.
        after: Duration,
    },
    /// The connection broke during the answer.
    Cut,
    /// The answer cannot be read, for example because an event of its stream is damaged, or because it ended without a
    /// [`Stop`](super::ModelEvent::Stop).
    Malformed(String),
}

/// The events for which this crate waits, in words.
pub(crate) mod wait {
    pub(crate) const CONNECTION: &str = "a connection to the model";
    pub(crate) const FIRST_TOKEN: &str = "the first token";
    pub(crate) const NEXT_EVENT: &str = "the next piece of the answer";
    pub(crate) const WHOLE_ANSWER: &str = "the whole answer";
}

/// The size of the part of an answer that arrived before a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Partial {
    /// The size of the text, in bytes.
    pub text_bytes: usize,
    /// The number of complete tool calls.
    pub tool_calls: usize,
}

impl ModelError {
    /// Creates an error.
    pub fn new(kind: Failure) -> Self {
        Self::after(kind, Partial::default())
    }

    /// Creates an error for a request that failed after `received` had arrived.
    pub(crate) fn after(kind: Failure, received: Partial) -> Self {
        Self { kind, received, source: None }
    }

    /// Sets the cause. Its text must not contain what the caller or the model said.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Returns the reason for the failure.
    pub fn kind(&self) -> &Failure {
        &self.kind
    }

    #[cfg(test)]
    pub(crate) fn received(&self) -> Partial {
        self.received
    }

    /// Returns whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        !matches!(self.kind, Failure::Invalid(_) | Failure::Refused(_) | Failure::Denied(_))
    }
}

impl Failure {
    /// The answer ended without a [`Stop`](super::ModelEvent::Stop).
    pub(crate) fn truncated() -> Self {
        Self::Malformed("it ended without a stop reason".to_owned())
    }

    /// Returns the word for the failure in logs, spans and records.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Refused(_) => "refused",
            Self::Denied(_) => "denied",
            Self::Throttled => "throttled",
            Self::Unavailable(_) => "unavailable",
            Self::Unreachable => "unreachable",
            Self::TimedOut { .. } => "timeout",
            Self::Cut => "cut",
            Self::Malformed(_) => "malformed",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(what) => write!(f, "the request is not valid and was not sent: {what}"),
            Self::Refused(what) => write!(f, "the model's provider refused the request: {what}"),
            Self::Denied(what) => write!(f, "the model cannot be used; check credentials, access and model id: {what}"),
            Self::Throttled => {
                f.write_str("the model's provider has too many requests; retry later, or raise the quota")
            }
            Self::Unavailable(what) => write!(f, "the model's provider cannot answer now; retry: {what}"),
            Self::Unreachable => {
                f.write_str("the model's provider cannot be reached; check the network and the region")
            }
            Self::TimedOut { wait, after } => write!(f, "{wait} did not come within {} ms; retry", after.as_millis()),
            Self::Cut => f.write_str("the connection broke during the answer; retry"),
            Self::Malformed(what) => write!(f, "the answer cannot be read; retry: {what}"),
        }
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
    fn only_wrong_requests_are_not_retried() {
        let timed_out = Failure::TimedOut { wait: wait::FIRST_TOKEN, after: Duration::from_secs(5) };
        for (failure, is_retryable) in [
            (Failure::Invalid(String::new()), false),
            (Failure::Refused(String::new()), false),
            (Failure::Denied(String::new()), false),
            (Failure::Throttled, true),
            (Failure::Unreachable, true),
            (Failure::Unavailable(String::new()), true),
            (timed_out, true),
            (Failure::Cut, true),
            (Failure::Malformed(String::new()), true),
        ] {
            let error = ModelError::new(failure);
            assert_eq!(error.is_retryable(), is_retryable, "{error:?}");
        }
    }
}
