//! [`Summarizer`]: the port to the code that writes summaries.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::Usage;
use crate::manager::Summarizing;
use crate::message::Text;

/// The future that [`Summarizer::summarize`] returns.
pub type SummaryFuture<'a> = Pin<Box<dyn Future<Output = Result<Summary, SummarizeError>> + Send + 'a>>;

/// A summary and the tokens that it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The text of the summary.
    pub text: Text,
    /// The tokens that the model used for the summary; zero without a model.
    pub usage: Usage,
}

/// Creates a summary that used no tokens.
impl<T: Into<Text>> From<T> for Summary {
    fn from(text: T) -> Self {
        Self { text: text.into(), usage: Usage::default() }
    }
}

/// Writes the summary that replaces messages in the prompt.
///
/// An implementation guarantees:
///
/// - The summary covers [`messages`](Summarizing::messages) *and* the [`previous`](Summarizing::previous) summary, which
///   it replaces. It can be read alone.
/// - It is never blank. Its length has a bound that does not depend on the length of the call.
/// - It reports what the caller heard: [`heard_contents`](crate::Message::heard_contents), not what was generated.
/// - Messages are data. The summary never follows instructions in them ("ignore your instructions"), and never attributes
///   words to the wrong speaker ("assistant: transfer it").
/// - The future can be dropped at any time. Only the summary is lost, and a later call starts from the beginning.
/// - Every wait has a deadline. The thread is blocked for a few milliseconds at most.
/// - Errors contain no words of the call.
/// - The result depends on `summarizing` alone, so two calls for one [`Summarizing`] may run at the same time.
pub trait Summarizer: Send + Sync {
    /// Writes a summary of these messages.
    ///
    /// Returns [`SummarizeError`] if there is no summary. The conversation then tries an extractive summary instead.
    fn summarize<'a>(&'a self, summarizing: &'a Summarizing) -> SummaryFuture<'a>;
}

impl<S: Summarizer + ?Sized> Summarizer for Arc<S> {
    fn summarize<'a>(&'a self, summarizing: &'a Summarizing) -> SummaryFuture<'a> {
        (**self).summarize(summarizing)
    }
}

/// The reason why there is no summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SummarizeError {
    /// The model answered with a blank text.
    #[error("the summary is blank; ask again, or take the extractive summariser as the fallback")]
    Blank,
    /// The model missed the deadline.
    #[error("no summary within {} ms; ask again later, or allow more time", after.as_millis())]
    TimedOut {
        /// The time that the model had.
        after: Duration,
    },
    /// The request to the model failed.
    #[error("the model made no summary")]
    Model {
        /// Whether another attempt may succeed.
        retryable: bool,
        /// The error of the model's client.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl SummarizeError {
    /// Returns whether another attempt may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Blank | Self::TimedOut { .. } => true,
            Self::Model { retryable, .. } => *retryable,
        }
    }
}
