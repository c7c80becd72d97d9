//! [`Summaries`]: starts summaries during a call and adds them when they are ready.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::task::JoinHandle;
use verbale::bedrock::BedrockMessage;
use verbale::memory::ExtractiveSummarizer;
use verbale::model::{self, ModelError, Summarizer};
use verbale::{ManagerError, Message, MessagesManager, Summarizing};

use crate::demo::error::PlayError;

/// The summaries of a call. At most one runs at a time.
pub struct Summaries {
    summarizer: Arc<dyn Summarizer>,
    /// Largest number of messages in the window that starts no summary.
    above: NonZeroUsize,
    keep_turns: usize,
    running: Option<JoinHandle<(Summarizing, Result<model::Summary, ModelError>)>>,
}

/// The outcome of a summary.
pub enum Summary {
    /// The summary was added to the list.
    Added(Message),
    /// The summarizer failed; the messages stay in the window.
    Failed(ModelError),
    /// The summarized messages have changed meanwhile; they stay in the window.
    Stale(ManagerError),
}

impl Summaries {
    /// Uses the extractive summarizer, which needs no model. A model's summarizer implements the same trait.
    pub fn new(above: NonZeroUsize, keep_turns: usize) -> Self {
        Self { summarizer: Arc::new(ExtractiveSummarizer::default()), above, keep_turns, running: None }
    }

    /// Starts a summary if the window is long enough and no summary runs. Returns the number of messages it covers.
    pub fn begin_if_due(&mut self, manager: &MessagesManager<BedrockMessage>) -> Option<usize> {
        if self.running.is_some() || manager.messages().count() <= self.above.get() {
            return None;
        }
        let summarizing = manager.summarizing_keeping(self.keep_turns)?;
        let messages = summarizing.messages().count();
        let summarizer = Arc::clone(&self.summarizer);
        self.running = Some(tokio::spawn(async move {
            let summary = summarizer.summarize(&summarizing).await;
            (summarizing, summary)
        }));
        Some(messages)
    }

    /// Waits for the running summary and adds it. Returns `None` if no summary runs.
    ///
    /// A live call adds a summary whenever it is ready. The demo always adds it one message later, so that its output is
    /// the same every time.
    pub async fn finish(
        &mut self,
        manager: &mut MessagesManager<BedrockMessage>,
    ) -> Result<Option<Summary>, PlayError> {
        let Some(running) = self.running.take() else { return Ok(None) };
        let (summarizing, summary) = running.await?;
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => return Ok(Some(Summary::Failed(error))),
        };
        match manager.add_summary(summary.text, &summarizing) {
            Ok(entry) => Ok(Some(Summary::Added((**entry).clone()))),
            Err(error) if error.is_stale() => Ok(Some(Summary::Stale(error))),
            Err(error) => Err(error.into()),
        }
    }
}
