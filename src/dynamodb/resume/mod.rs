//! Takeover of a call: fences its older writers, then reads it.
//!
//! DynamoDB cannot fence a partition, and a transaction that checks the header with each put costs twice as much. A put
//! therefore checks only its own item, and resuming prepares every item that an older writer could still write:
//!
//! 1. Raise the header's `epoch` to a new value E, which only this writer gets. Older writers can no longer close the
//!    call.
//! 2. Read all items. Set the epoch of each older message and summary to E, on the condition that its revision has not
//!    changed. Put a *fence*, an empty item of epoch E, at the position of the next message, and at the position of the
//!    next summary after each message that no summary covers, on the condition that the position is free. If a condition
//!    fails, the older writer was faster: repeat this step.
//! 3. After a pass without changes, set the header's `fenced` to E and remove the call's end. The items that this pass read are the call.
//!
//! An older writer may still send requests, including late retries:
//!
//! - *A newer revision of an item that was read.* The item now has epoch E, so the write is refused. If the write came
//!   first, step 2 read it.
//! - *The next message or summary.* The position has a fence, so the write is refused. If the write came first, step 2
//!   found it instead of the free position. A writer sends records in the order of its list, so this is the first of its
//!   records to be refused, and the writer learns that it is fenced.
//! - *Any later message*, such as one that follows a dead letter or was sent out of order. Its position is free, so the
//!   message is stored with the old epoch. Nobody reads it, because its epoch is older than `fenced`, and the new writer
//!   may replace it. In these cases a writer reads the header after the put, and counts the message as stored only if the
//!   header still has its epoch: then step 1 has not happened yet, and step 2 will read the message.
//!
//! If two processes resume a call at the same time, they get different epochs. The process with the lower epoch finds the
//! higher one in an item, a fence or the header, and returns [`LogError::Fenced`]. A process that does not reach step 3
//! has no lease, and has written only epochs and fences.

mod fencing;

use super::change::not_live;
use super::read::logged;
use super::table_client::Written;
use super::{DynamoLog, Item, header, item, names};
use crate::log::{CallEnd, CallHeader, CallId, LogError, LoggedCall, WriterLease};
use fencing::Fencing;

/// A call whose older writers are fenced.
pub(super) struct TakenOver {
    pub header: CallHeader,
    /// How the call had ended. No older writer can end it any more.
    ended: Option<CallEnd>,
    items: Vec<Item>,
}

impl DynamoLog {
    /// Takes a call over and returns it. No older writer can change the returned records or add to them. See
    /// [`resume_call`](crate::log::CallLog::resume_call).
    ///
    /// Takes two writes of the header, and a refused one if the call was resumed before. Each pass takes a consistent read
    /// of the call, a write of each message and summary, and a write of one unit for each fence: one after each message
    /// that no summary covers, and one for the next message. Eight requests run at a time. Each time the older writer
    /// writes during a pass, another pass follows.
    ///
    /// Returns an error if the call was never opened, has expired or was erased, if another process resumed it at the same
    /// time, if the older writer wrote during every pass, or if an item is not a valid record. Resume the call again if
    /// the error is [retryable](LogError::is_retryable). The older writers may be fenced even after an error.
    pub(super) async fn resume(&self, call_id: &CallId) -> Result<LoggedCall, LogError> {
        let taken = self.take_over(call_id).await?;
        let call = logged(Some(taken.header), taken.items)?;
        Ok(LoggedCall { ended: taken.ended, ..call })
    }

    pub(super) async fn take_over(&self, call_id: &CallId) -> Result<TakenOver, LogError> {
        let header = self.raise_epoch(call_id).await?;
        let fencing = Fencing {
            log: self,
            call_id,
            epoch: header.epoch(),
            expires_at_s: WriterLease::from(&header).expires_at_s(),
        };
        let items = fencing.run().await?;
        let ended = header.call_end().cloned();
        let header = self.finish(call_id, header.epoch()).await?;
        self.settle_expiry(&header, &WriterLease::from(&header)).await?;
        Ok(TakenOver { header, ended, items })
    }

    /// Raises the epoch by one, on the condition that it has not changed since a refused attempt returned it. A request
    /// that timed out and arrives late therefore cannot fence a later writer. After an unknown outcome, a repetition may
    /// raise the epoch once more, which is harmless.
    async fn raise_epoch(&self, call_id: &CallId) -> Result<CallHeader, LogError> {
        let mut epoch = 1;
        loop {
            let request = self.header_update(call_id);
            let live = request.get_condition_expression().clone().unwrap_or_default();
            let is_current = if epoch == 1 { "attribute_not_exists(#epoch)" } else { "#epoch = :epoch" };
            let mut request = request
                .update_expression("SET #epoch = :next")
                .condition_expression(format!("{live} AND {is_current}"))
                .expression_attribute_names("#epoch", names::EPOCH)
                .expression_attribute_values(":next", item::number(epoch + 1));
            if epoch > 1 {
                request = request.expression_attribute_values(":epoch", item::number(epoch));
            }
            match self.update_header(call_id, request).await? {
                Written::Done(item) => return header::from_item(&item),
                // Epochs only grow, so the loop ends: another process made progress in each lost round.
                Written::Refused(Some(found)) if self.is_live(&found) && item::epoch(&found) > epoch => {
                    epoch = item::epoch(&found);
                }
                Written::Refused(found) => return Err(not_live(call_id, found.as_ref())),
            }
        }
    }

    async fn finish(&self, call_id: &CallId, epoch: u32) -> Result<CallHeader, LogError> {
        let request = self.header_update(call_id);
        let live = request.get_condition_expression().clone().unwrap_or_default();
        let request = request
            .update_expression("SET #fenced = :epoch REMOVE #ended, #reason, #messages, #summaries, #last_seq")
            .condition_expression(format!("{live} AND #epoch = :epoch"))
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_names("#fenced", names::FENCED)
            .expression_attribute_names("#ended", names::ENDED)
            .expression_attribute_names("#reason", names::REASON)
            .expression_attribute_names("#messages", names::MESSAGES)
            .expression_attribute_names("#summaries", names::SUMMARIES)
            .expression_attribute_names("#last_seq", names::LAST_SEQ)
            .expression_attribute_values(":epoch", item::number(epoch));
        match self.update_header(call_id, request).await? {
            Written::Done(item) => header::from_item(&item),
            Written::Refused(Some(found)) if self.is_live(&found) => {
                Err(LogError::fenced(call_id, epoch, item::epoch(&found)))
            }
            Written::Refused(found) => Err(not_live(call_id, found.as_ref())),
        }
    }
}
