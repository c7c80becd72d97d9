//! Takeover of a call: look, commit, fence, serve.
//!
//! DynamoDB cannot fence a partition, and a transaction that checks the header with each put costs twice as much. A put
//! therefore checks only its own item, by the conditions in [`rules`](super::rules). Because a write to an item already
//! stops that item's writer, a candidate writes nothing before it has decided on a takeover, and the writer can take
//! its call back until the candidate serves.
//!
//! The header has the highest `epoch` that a process has taken, the epoch `fenced` at which its writer began to serve,
//! a `nonce`, which every write of the header changes, and `taking` while a candidate is taking the call over.
//!
//! 1. **Look.** The candidate reads the call and restores it. It writes nothing.
//! 2. **Commit.** One write, on the condition that the header has the epoch and the nonce of the look. It raises the epoch
//!    to E, which only this candidate has, and leaves `fenced` and the end of the call as they are.
//! 3. **Fence.** Each pass reads all items. It *stamps* each message and summary that a read returns: it sets the epoch
//!    to E, if the item still has its revision. It puts a *fence*, an empty item of epoch E, at each position that the
//!    writer could fill: the next message, the next summaries, and each missing one. If a condition fails, the writer was
//!    faster, and another pass follows. Failed requests are left to the next pass. The items that the last pass read are
//!    the call. Meanwhile the candidate renews its nonce.
//! 4. **Serve.** One write, on the condition that the header has epoch E and the candidate's nonce. It sets `fenced` to
//!    E and removes the end of the call. Before this write, the candidate puts no record and reports no success.
//!
//! A candidate that gives up changes the nonce and removes `taking`. A writer that meets a higher epoch holds its
//! records and reads the header. If `fenced` is not its own, another process serves, and the writer has lost the call.
//! If no candidate is active, or its nonce has not changed for a while on the writer's own monotonic clock, the writer
//! **reclaims** its call: one write, on the condition that epoch and nonce are those it has read and `fenced` is its
//! own. It takes the next epoch and stamps nothing.
//!
//! # Why it is safe
//!
//! *Each step of the header happens once, or never.* Nonces never repeat, so a request that is late or repeated finds
//! another nonce and is refused. A step cannot create a header. If the header has the nonce of a refused step, the step
//! was made and its response was lost. Only commits and reclaims raise the epoch, by one, and only a serve sets
//! `fenced`. Therefore no two processes have the same epoch, `fenced` never exceeds it, and both only grow.
//!
//! *Either the candidate serves or the writer reclaims.* Both change the nonce that the other one's step names. After a
//! reclaim the header has a higher epoch than the candidate; after a serve, `fenced` is not the writer's.
//!
//! *The process that serves knows every record that counts as stored.* The writer before it has a lower epoch, and may
//! still have requests under way, which may land late:
//!
//! - A newer revision of an item that was read. The item now has epoch E, so the write is refused. If the write came first,
//!   the stamp found another revision, and the next pass read it.
//! - The next message or summary, or a missing one. A fence is there, so the write is refused. If the write came first, the
//!   fence found it, and the next pass read it.
//! - Any later message. A writer sends records in the order of its list, so the fence refuses an earlier one first.
//!   After a dead letter, or with a spool of an earlier process, it may send them out of order. It then reads the
//!   header after the put, and counts the record as stored only if the header still has its epoch: the commit has not
//!   happened yet, and the passes will read the record. Otherwise no read returns the item, because its epoch is lower
//!   than `fenced`, and the new writer may replace it.
//!
//! *A span is one item with several revisions.* It takes the positions of all its messages, and a stamp compares `rev`,
//! which grows with each change. The first write of a span replaces the existing item as a whole: a fence, or an item
//! that no read returns. If it kept a message of such an item, a read would return a message that a fenced writer wrote
//! too late. A change of single messages requires an item that reads return, with an epoch no higher than the writer's.
//! A stamp therefore stops the change, and the change cannot bring back an item that was written too late. Each changed
//! message must have an older revision in the item, so the change may land late or twice. A writer knows the spans of
//! its call from the read and from its spool, and never puts a message of a span alone in the order of its list.
//!
//! *A reclaim loses nothing either.* The stamps and fences of the candidate have a lower epoch than the writer now has.
//! A stamp changes no revision, and the writer may replace a stamped item by a newer revision of the same message. It
//! may also replace a fence. A stamp or a fence that arrives late does not replace later records of the writer, because
//! they have its new epoch. Items of the writer's earlier epochs are not older than `fenced`, so every read returns
//! them.
//!
//! *A process can always continue.* The next candidate has a higher epoch than every item, so it can stamp or fence
//! each of them. The same holds for the writer after a reclaim.
//!
//! An erasure replaces the header by a mark without an epoch, so each later step is refused. A hold changes the nonce;
//! a candidate that finds its own epoch in the header continues with the new nonce. `explorer` runs these rules in
//! every order of two candidates, a writer with a spool, dead letters, holds, ends and erasures, with requests that
//! land late, twice or never, and with spans. It finds a violation if a rule is removed.

#[cfg(test)]
mod explorer;
mod fencing;

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;

use super::change::not_live;
use super::read::logged;
use super::table_client::Written;
use super::{DynamoLog, header, item, names};
use crate::log::{CallHeader, CallId, LogError, LoggedCall, Nonce, Refused, TenureChange, TenureStep, WriterLease};
use fencing::{Fenced, Fencing};

impl DynamoLog {
    /// Fences the older writers for a candidate, and returns the call; see
    /// [`fence_call`](crate::log::CallLog::fence_call).
    ///
    /// Each pass takes a consistent read of the call, a write of each message and summary, and a write of one unit for
    /// each fence: one after each message that no summary covers, one for the next message, and one for each that is
    /// missing. Eight requests run at a time. Each time the older writer writes during a pass, another pass follows.
    ///
    /// Returns an error if the call was never opened, has expired or was erased, if another process has taken a higher
    /// epoch, if the older writer wrote during every pass, or if an item has an unknown schema version.
    pub(super) async fn fence(&self, lease: &WriterLease) -> Result<LoggedCall, LogError> {
        let Fenced { header, items } =
            Fencing { log: self, call_id: lease.call_id(), epoch: lease.epoch() }.run().await?;
        logged(Some(header::from_item(&header)?), items)
    }

    /// Makes one step of a takeover: a write of the header, on the condition that [`Tenure::after`](crate::log::Tenure)
    /// allows it.
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
                    // The step was made, but its response was lost.
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
    /// neither create a header nor apply late, after another write of the header.
    fn tenure_update(&self, call_id: &CallId, change: &TenureChange) -> UpdateItemFluentBuilder {
        let request = self.header_update(call_id);
        let mut condition = request.get_condition_expression().clone().unwrap_or_default();
        let mut names = vec![("#epoch", names::EPOCH)];
        let mut values = vec![(":nonce", item::text(change.nonce.to_text()))];
        // A header without an earlier takeover has no epoch.
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
