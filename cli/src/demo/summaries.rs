//! [`Summaries`]: when to summarise during a call, and a summary that is made while the call goes on.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::task::JoinHandle;
use verbale::bedrock::BedrockMessage;
use verbale::memory::ExtractiveSummarizer;
use verbale::model::{self, SummarizeError, Summarizer};
use verbale::{ManagerError, Message, MessagesManager, Summarizing};

use crate::demo::error::PlayError;

/// The summaries of a call. One at a time is in the making.
pub struct Summaries {
    summarizer: Arc<dyn Summarizer>,
    /// Messages in the window.
    above: NonZeroUsize,
    keep_turns: usize,
    running: Option<JoinHandle<(Summarizing, Result<model::Summary, SummarizeError>)>>,
}

/// What became of a summary.
pub enum Summary {
    /// It is in the list.
    Added(Message),
    /// The summariser failed; the messages stay in the window.
    Failed(SummarizeError),
    /// What it has read has changed since; the messages stay in the window.
    Stale(ManagerError),
}

impl Summaries {
    /// With the summariser that needs no model; another one, behind the same port, would be put here.
    pub fn new(above: NonZeroUsize, keep_turns: usize) -> Self {
        Self { summarizer: Arc::new(ExtractiveSummarizer::default()), above, keep_turns, running: None }
    }

    /// Begins a summary where the window is long enough and none is in the making; says of how many messages.
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

    /// Waits for the summary in the making, and adds it. `None` where there is none.
    ///
    /// In a real call nobody waits: it is added whenever it comes. Here it comes one message later, always.
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
            Ok(entry) => Ok(Some(Summary::Added(entry.message().clone()))),
            Err(error @ ManagerError::StaleSummary) => Ok(Some(Summary::Stale(error))),
            Err(error) => Err(error.into()),
        }
    }
}
