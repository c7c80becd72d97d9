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
//! 3. After a pass without changes, set the header's `fenced` to E. The items that this pass read are the call.
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

#[cfg(test)]
mod explorer;
mod fencing;
mod positions;

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;

use super::change::not_live;
use super::table_client::Written;
use super::{DynamoLog, Item, from_item, header, item, names};
use crate::log::{CallHeader, CallId, LogError, LoggedCall, Nonce, Refused, TenureChange, TenureStep, WriterLease};
use fencing::{Fenced, Fencing};

/// A call whose older writers are fenced.
pub(super) struct TakenOver {
    pub header: CallHeader,
    items: Vec<Item>,
}

impl DynamoLog {
    /// Takes a call over at once and returns it. No older writer can change the returned records or add to them. See
    /// [`resume_call`](crate::log::CallLog::resume_call).
    ///
    /// Takes a read and two writes of the header. Each pass takes a consistent read of the call, a write of each message
    /// and summary, and a write of one unit for each fence: one after each message that no summary covers, one for the
    /// next message, and one for each that is missing. Eight requests run at a time. Each time the older writer writes
    /// during a pass, another pass follows.
    ///
    /// Returns an error if the call was never opened, has expired or was erased, if another process takes it over at the
    /// same time, if the older writer wrote during every pass, or if an item is not a valid record. Resume the call again
    /// if the error is [retryable](LogError::is_retryable). After an error the older writer can take the call back.
    pub(super) async fn resume(&self, call_id: &CallId) -> Result<LoggedCall, LogError> {
        let taken = self.take_over(call_id).await?;
        logged(taken.header, taken.items)
    }

    pub(super) async fn take_over(&self, call_id: &CallId) -> Result<TakenOver, LogError> {
        let seen = self.live_header(call_id).await?;
        let candidate = self.change_tenure(call_id, &seen.tenure().change(TenureStep::Commit, Nonce::random())).await?;
        let serve = candidate.tenure().change(TenureStep::Serve, Nonce::random());
        let taken = async {
            let Fenced { items, .. } = Fencing { log: self, call_id, epoch: candidate.epoch() }.run().await?;
            Ok(TakenOver { header: self.change_tenure(call_id, &serve).await?, items })
        };
        let taken = taken.await;
        if taken.is_err() {
            // If this fails, too, the older writer takes the call back once it finds this candidate silent.
            let _ = self.change_tenure(call_id, &candidate.tenure().change(TenureStep::GiveUp, Nonce::random())).await;
        }
        taken
    }

    /// Fences the older writers for a candidate; see [`fence_call`](crate::log::CallLog::fence_call).
    pub(super) async fn fence(&self, lease: &WriterLease) -> Result<LoggedCall, LogError> {
        let Fenced { header, items } =
            Fencing { log: self, call_id: lease.call_id(), epoch: lease.epoch() }.run().await?;
        logged(header::from_item(&header)?, items)
    }

    /// Makes one step of a takeover: a write of the header, on the condition that [`Tenure::after`](crate::log::Tenure)
    /// has for it.
    pub(super) async fn change_tenure(&self, call_id: &CallId, change: &TenureChange) -> Result<CallHeader, LogError> {
        if change.step == TenureStep::Fence {
            let fenced = Fencing { log: self, call_id, epoch: change.epoch }.run().await?;
            return header::from_item(&fenced.header);
        }
        let header = match self.update_header(call_id, self.tenure_update(call_id, change)).await? {
            Written::Done(item) => header::from_item(&item)?,
            Written::Refused(Some(found)) if self.is_live(&found) => {
                let tenure = header::tenure(&found);
                match tenure.after(change) {
                    // The step was made, and its answer was lost.
                    Ok(after) if after == tenure => header::from_item(&found)?,
                    Ok(_) => return Err(change.refused(call_id, Refused::Changed, &tenure)),
                    Err(refused) => return Err(change.refused(call_id, refused, &tenure)),
                }
            }
            Written::Refused(found) => return Err(not_live(call_id, found.as_ref())),
        };
        if change.step == TenureStep::Serve {
            self.settle_expiry(&header, &WriterLease::from(&header)).await?;
        }
        Ok(header)
    }

    /// Returns the update of a step. Its condition names the epoch and the nonce that the header must have, so it can
    /// neither create a header nor apply late, behind another write of the header.
    fn tenure_update(&self, call_id: &CallId, change: &TenureChange) -> UpdateItemFluentBuilder {
        let request = self.header_update(call_id);
        let mut condition = request.get_condition_expression().clone().unwrap_or_default();
        let mut names = vec![("#epoch", names::EPOCH)];
        let mut values = vec![(":nonce", item::text(change.nonce.to_text()))];
        // A header that was never taken over has no epoch.
        condition += if change.epoch == 1 {
            " AND (attribute_not_exists(#epoch) OR #epoch = :epoch)"
        } else {
            " AND #epoch = :epoch"
        };
        values.push((":epoch", item::number(change.epoch)));
        match change.seen {
            None => {}
            // An earlier version of this library wrote the header.
            Some(seen) if seen == Nonce::default() => condition += " AND attribute_not_exists(#nonce)",
            Some(seen) => {
                condition += " AND #nonce = :seen";
                values.push((":seen", item::text(seen.to_text())));
            }
        }
        let mut update = "SET #nonce = :nonce".to_owned();
        match change.step {
            TenureStep::Fence | TenureStep::Renew => {}
            TenureStep::Commit => {
                update += ", #epoch = :next, #taking = :true";
                names.push(("#taking", names::TAKING));
                values.push((":next", item::number(change.epoch + 1)));
                values.push((":true", AttributeValue::Bool(true)));
            }
            TenureStep::Serve => {
                update += ", #fenced = :epoch REMOVE #taking";
                for (placeholder, name) in ENDING {
                    update += &format!(", {placeholder}");
                    names.push((placeholder, name));
                }
                names.extend([("#taking", names::TAKING), ("#fenced", names::FENCED)]);
            }
            TenureStep::GiveUp => {
                update += " REMOVE #taking";
                names.push(("#taking", names::TAKING));
            }
            TenureStep::Reclaim { served } => {
                update += ", #epoch = :next REMOVE #taking";
                names.extend([("#taking", names::TAKING), ("#fenced", names::FENCED)]);
                values.push((":next", item::number(change.epoch + 1)));
                if served == 1 {
                    condition += " AND attribute_not_exists(#fenced)";
                } else {
                    condition += " AND #fenced = :served";
                    values.push((":served", item::number(served)));
                }
            }
        }
        let request = request.update_expression(update).condition_expression(condition);
        let request =
            names.into_iter().fold(request, |request, (at, name)| request.expression_attribute_names(at, name));
        values.into_iter().fold(request, |request, (at, value)| request.expression_attribute_values(at, value))
    }
}

/// The attributes of a call's end.
const ENDING: [(&str, &str); 5] = [
    ("#ended", names::ENDED),
    ("#reason", names::REASON),
    ("#messages", names::MESSAGES),
    ("#summaries", names::SUMMARIES),
    ("#last_seq", names::LAST_SEQ),
];

fn logged(header: CallHeader, items: Vec<Item>) -> Result<LoggedCall, LogError> {
    let records = items.into_iter().map(from_item).collect::<Result<_, _>>()?;
    Ok(LoggedCall::new(Some(header), records))
}
