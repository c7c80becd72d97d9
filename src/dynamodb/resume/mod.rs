//! Taking a call over: its older writers are fenced, then it is read.
//!
//! DynamoDB has no fence around a partition, and a transaction that looks at the header with each put costs double. So a
//! put looks at its own item only, and resuming prepares every item that an older writer could still write:
//!
//! 1. The header's `epoch` is raised to E, which nobody else gets. Closing with an older one is refused from then on.
//! 2. All is read. Each message and summary with an older epoch is given E, provided its revision is the one that was
//!    read. A *fence*, an item of epoch E that holds nothing, is put where the next message would stand, and the next
//!    summary, behind each message that no summary covers, provided there is nothing. Where that does not hold, the older
//!    writer was quicker: all is read again.
//! 3. Once a pass meets nothing new, the header's `fenced` becomes E. What was read in that pass is the call.
//!
//! What an older writer can still bring, late retries and requests that it gave up included:
//!
//! - *A newer revision of what was read* meets E in its place, and is refused; or it came before, and step 2 read it.
//! - *The next message or summary* meets a fence, and is refused; or it came before, and step 2 found it in the place of
//!   the fence. A writer writes in the order of its list, so that of each put this comes first, and it is told.
//! - *Anything else*: a message behind one that the writer had set aside, or one that was put out of order. Its place is
//!   empty, so that it is stored, with its old epoch. It is never read, for it is older than `fenced`, and every put of
//!   the new writer writes it over. So there a writer reads the header once the message is stored, and takes it as stored
//!   if the epoch is still its own: step 1 is then to come, and step 2 reads the message.
//!
//! Two that resume one call at once have two epochs: the lower one meets the higher one in an item, a fence or the header,
//! and ends as fenced. Whoever did not get to step 3 has no claim, and has written nothing but epochs and fences.

mod fencing;

use aws_sdk_dynamodb::types::AttributeValue;

use super::change::not_there;
use super::write::Written;
use super::{DynamoError, DynamoLog, Item, from_item, header, item, names};
use crate::log::{CallHeader, CallId, LogError, LoggedCall, WriterLease};
use fencing::Fencing;

/// A call whose older writers are fenced.
pub(super) struct Taken {
    pub header: CallHeader,
    items: Vec<Item>,
}

impl DynamoLog {
    /// Takes a call over: fences its older writers, then reads it. What is read stays, and nothing of theirs comes
    /// after it. See [`resume_call`](crate::log::CallLog::resume_call).
    ///
    /// It takes two writes of the header (and a refused one where it was resumed before), a consistent read of the call,
    /// a write of each message and summary (as many write units as they took), and one of a write unit for a fence behind
    /// each message that no summary covers, and one more; eight requests at a time. One more pass where the older writer
    /// wrote meanwhile.
    ///
    /// Errors: never opened, or expired; erased; fenced, where a third one resumed it at the same time; the older writer
    /// was too quick, again and again; an item that does not read as a record; a request that failed. Resume it again
    /// where that [may pass](DynamoError::is_retryable); the older writers may be fenced all the same.
    pub(super) async fn resume(&self, call_id: &CallId) -> Result<LoggedCall, DynamoError> {
        let taken = self.take_over(call_id).await?;
        let records = taken.items.into_iter().map(from_item).collect::<Result<_, _>>()?;
        Ok(LoggedCall::new(Some(taken.header), records))
    }

    pub(super) async fn take_over(&self, call_id: &CallId) -> Result<Taken, DynamoError> {
        let header = self.raise_epoch(call_id).await?;
        let fencing = Fencing {
            log: self,
            call_id,
            epoch: header.epoch(),
            expires_at_s: WriterLease::of(&header).expires_at_s(),
        };
        let items = fencing.run().await?;
        let header = self.finish(call_id, header.epoch()).await?;
        self.settle_expiry(&header, &WriterLease::of(&header)).await?;
        Ok(Taken { header, items })
    }

    /// Only from the epoch that is there, which a refused attempt tells: one that was given up and lands late finds
    /// another, and fences nobody who came after it. A repetition after an unknown outcome raises it once more, which
    /// does no harm.
    async fn raise_epoch(&self, call_id: &CallId) -> Result<CallHeader, DynamoError> {
        let mut epoch = 1;
        loop {
            let request = self.header_update(call_id);
            let live = request.get_condition_expression().clone().unwrap_or_default();
            let is_it = if epoch == 1 { "attribute_not_exists(#epoch)" } else { "#epoch = :epoch" };
            let mut request = request
                .update_expression("SET #epoch = :next REMOVE #ended, #reason, #messages, #summaries, #last_seq")
                .condition_expression(format!("{live} AND {is_it}"))
                .expression_attribute_names("#epoch", names::EPOCH)
                .expression_attribute_names("#ended", names::ENDED)
                .expression_attribute_names("#reason", names::REASON)
                .expression_attribute_names("#messages", names::MESSAGES)
                .expression_attribute_names("#summaries", names::SUMMARIES)
                .expression_attribute_names("#last_seq", names::LAST_SEQ)
                .expression_attribute_values(":next", AttributeValue::N((epoch + 1).to_string()));
            if epoch > 1 {
                request = request.expression_attribute_values(":epoch", AttributeValue::N(epoch.to_string()));
            }
            match self.update_header(call_id, request).await? {
                Written::Done(item) => return header::from_item(&item),
                // Epochs only grow, so that each round that is lost is somebody's who won.
                Written::Refused(Some(found)) if self.is_live(&found) && item::epoch(&found) > epoch => {
                    epoch = item::epoch(&found);
                }
                Written::Refused(found) => return Err(not_there(call_id, found.as_ref())),
            }
        }
    }

    async fn finish(&self, call_id: &CallId, epoch: u32) -> Result<CallHeader, DynamoError> {
        let request = self.header_update(call_id);
        let condition = request.get_condition_expression().clone().unwrap_or_default();
        let request = request
            .update_expression("SET #fenced = :epoch")
            .condition_expression(format!("{condition} AND #epoch = :epoch"))
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_names("#fenced", names::FENCED)
            .expression_attribute_values(":epoch", AttributeValue::N(epoch.to_string()));
        match self.update_header(call_id, request).await? {
            Written::Done(item) => header::from_item(&item),
            Written::Refused(Some(found)) if self.is_live(&found) => {
                Err(LogError::fenced(call_id, epoch, item::epoch(&found)).into())
            }
            Written::Refused(found) => Err(not_there(call_id, found.as_ref())),
        }
    }
}
