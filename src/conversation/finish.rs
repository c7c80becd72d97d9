//! The end of a [`Conversation`] in its log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::error::EndError;
use super::shared::Conversation;
use crate::clock::from_now;
use crate::log::{Ending, Unstored};
use crate::manager::{MessagesManager, Receipt, Tail};
use crate::message::{MessageId, PlainMessage};

impl Conversation {
    /// Writes down in the log that the conversation has ended, and waits until all of it is stored, for as long as
    /// `within`. Gives what is not stored by then: nothing, if all is well. It is with the log's writer, which goes on.
    ///
    /// `reason` is the service's word for why, such as `hangup`. Without a [log](Self::log) there is nothing to do; done
    /// again, it waits again.
    ///
    /// Errors: a reason that a header does not take; the log takes nothing any more, or had no room in time.
    pub async fn finish(&self, reason: impl Into<Arc<str>>, within: Duration) -> Result<Vec<Unstored>, EndError> {
        let Some(writer) = self.writer() else { return Ok(Vec::new()) };
        let until = from_now(within);
        let left = || until.saturating_duration_since(Instant::now());
        // A copy, for nobody is kept from the conversation meanwhile.
        let mut manager = self.read(Clone::clone);
        let ending = Ending::of(&manager, manager.now_ms(), reason).map_err(EndError::Reason)?;
        writer.finish(&mut manager, ending, left()).await?;
        let unstored = writer.flush(left()).await;
        writer.acknowledge(&mut manager);
        let known = known_to_log(&manager);
        self.change(|manager| manager.acknowledge(known));
        Ok(unstored)
    }
}

/// What the copy was told, and the conversation was not.
fn known_to_log(manager: &MessagesManager<PlainMessage>) -> Receipt {
    let changes = manager.changes(Tail::Include);
    let waiting: BTreeSet<MessageId> = changes.records().iter().map(|record| record.id()).collect();
    manager.records().iter().filter(|record| !waiting.contains(&record.id())).collect()
}
