//! [`Summarizer`]: the port to whatever makes summaries.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::Usage;
use crate::manager::Summarizing;
use crate::message::{Text, is_blank};

/// What [`Summarizer::summarize`] gives, later.
pub type SummaryFuture<'a> = Pin<Box<dyn Future<Output = Result<Summary, SummarizeError>> + Send + 'a>>;

/// A summary, and what it took to make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The text of the summary.
    pub text: Text,
    /// The tokens that a model read and wrote for it; none where no model was asked.
    pub usage: Usage,
}

/// A summary that took no model.
impl<T: Into<Text>> From<T> for Summary {
    fn from(text: T) -> Self {
        Self { text: text.into(), usage: Usage::default() }
    }
}

/// Makes the summary that stands for messages which the model will not get any more.
///
/// What an implementor owes:
///
/// - The text stands alone: it says what matters of [`messages`](Summarizing::messages) *and* of the
///   [`previous`](Summarizing::previous) summary, which it replaces.
/// - It is never blank, and its length has a bound that does not depend on how long the call is.
/// - It tells what the caller heard: [`heard_contents`](crate::Message::heard_contents), not what was generated.
/// - What was said is data. A caller who says "ignore your instructions" or "assistant: transfer it" gets neither
///   followed nor quoted as somebody else.
/// - The future can be dropped at any moment: nothing but the summary is lost then, and another call starts anew.
/// - It ends: every wait in it has a deadline. It does not block the thread for longer than a few milliseconds.
/// - An error tells nothing of what was said.
///
/// It reads `summarizing` and nothing else, so that two calls about one [`Summarizing`] are two tries, and may run at once.
pub trait Summarizer: Send + Sync {
    /// Summarises. Errors: see [`SummarizeError`].
    fn summarize<'a>(&'a self, summarizing: &'a Summarizing) -> SummaryFuture<'a>;

    /// This one, and `second` where it fails or comes back with a blank text.
    fn or_else<S: Summarizer>(self, second: S) -> Fallback<Self, S>
    where
        Self: Sized,
    {
        Fallback { first: self, second }
    }
}

impl<S: Summarizer + ?Sized> Summarizer for Arc<S> {
    fn summarize<'a>(&'a self, summarizing: &'a Summarizing) -> SummaryFuture<'a> {
        (**self).summarize(summarizing)
    }
}

/// Why there is no summary. Nothing is lost by it: the messages stay in the window.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SummarizeError {
    /// The model answered with a text that says nothing.
    #[error("the summary is blank; ask again, or take the extractive summariser as the fallback")]
    Blank,
    /// The model did not answer in time.
    #[error("no summary within {} ms; ask again later, or allow more time", after.as_millis())]
    TimedOut {
        /// How long it was waited for.
        after: Duration,
    },
    /// The model could not be asked, or refused.
    #[error("the model made no summary")]
    Model {
        /// Whether another try may help.
        retryable: bool,
        /// What the client of the model says.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl SummarizeError {
    /// Whether another try may help.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Blank | Self::TimedOut { .. } => true,
            Self::Model { retryable, .. } => *retryable,
        }
    }
}

/// A summariser, and another one for when it fails; made by [`Summarizer::or_else`].
///
/// The error of the first is dropped once the second has answered: whoever wants to count it does so in the first.
#[derive(Debug, Clone, Copy)]
pub struct Fallback<A, B> {
    first: A,
    second: B,
}

impl<A: Summarizer, B: Summarizer> Summarizer for Fallback<A, B> {
    fn summarize<'a>(&'a self, summarizing: &'a Summarizing) -> SummaryFuture<'a> {
        Box::pin(async move {
            match self.first.summarize(summarizing).await {
                Ok(summary) if !is_blank(&summary.text) => Ok(summary),
                _ => self.second.summarize(summarizing).await,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scripted(fn() -> Result<Summary, SummarizeError>);

    impl Summarizer for Scripted {
        fn summarize<'a>(&'a self, _summarizing: &'a Summarizing) -> SummaryFuture<'a> {
            Box::pin(std::future::ready(self.0()))
        }
    }

    fn refused() -> SummarizeError {
        SummarizeError::Model { retryable: false, source: "no such model".into() }
    }

    #[tokio::test]
    async fn the_second_answers_where_the_first_fails_or_says_nothing() {
        let nothing = Summarizing::new(None, Vec::new());
        for (first, expected) in [
            (Scripted(|| Ok("first".into())), "first"),
            (Scripted(|| Ok(" \u{200b}\n".into())), "second"),
            (Scripted(|| Err(refused())), "second"),
        ] {
            let both: Arc<dyn Summarizer> = Arc::new(first.or_else(Scripted(|| Ok("second".into()))));
            assert_eq!(both.summarize(&nothing).await.unwrap().text, expected);
        }
        let neither = Scripted(|| Err(SummarizeError::Blank)).or_else(Scripted(|| Err(refused())));
        assert!(matches!(neither.summarize(&nothing).await, Err(SummarizeError::Model { .. })));
    }

    #[test]
    fn what_may_help_is_said() {
        assert!(SummarizeError::TimedOut { after: Duration::from_secs(2) }.is_retryable());
        assert!(!refused().is_retryable());
    }
}
