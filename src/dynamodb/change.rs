//! Changes of a call as a whole, each an update of its header.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValue;

use super::table_client::Written;
use super::{DynamoLog, Item, header, item, keys, names};
use crate::log::{CallChange, CallEnd, CallHeader, CallId, LogError, WriterLease};

/// The condition that a header exists, belongs to a call, and has not expired. A header without `entity`, which another
/// program may have removed, still has `started`; the mark of an erased call does not.
const LIVE: &str = "(#entity = :call OR (attribute_not_exists(#entity) AND attribute_exists(#started))) \
                    AND (attribute_not_exists(#expires) OR #expires > :now)";

impl DynamoLog {
    /// Applies a change to a call and returns its header after the change. Closing takes one request; see
    /// [`change_tenure`](Self::change_tenure) and [`hold`](Self::hold) for the others.
    ///
    /// Returns an error if the call was never opened, has expired, or was erased, or if the writer that closes it is
    /// fenced. A change that failed can be repeated.
    pub(super) async fn change(&self, call_id: &CallId, change: &CallChange) -> Result<CallHeader, LogError> {
        match change {
            CallChange::Takeover(step) => self.change_tenure(call_id, step).await,
            CallChange::Close { lease, call_end } => self.close(call_id, lease, call_end).await,
            CallChange::Hold => self.hold(call_id).await,
            CallChange::Release => self.release(call_id).await,
        }
    }

    async fn close(&self, call_id: &CallId, lease: &WriterLease, call_end: &CallEnd) -> Result<CallHeader, LogError> {
        let (mut set, mut request) = ("SET #nonce = :nonce".to_owned(), self.header_update(call_id));
        for (name, value) in [
            (names::ENDED, Some(item::number(call_end.at_ms))),
            (names::REASON, Some(item::text(call_end.reason.to_string()))),
            (names::MESSAGES, Some(item::number(call_end.messages))),
            (names::SUMMARIES, Some(item::number(call_end.summaries))),
            (names::LAST_SEQ, call_end.last_seq().map(item::number)),
        ] {
            let Some(value) = value else { continue };
            set += &format!(", #{name} = :{name}");
            request = request
                .expression_attribute_names(format!("#{name}"), name)
                .expression_attribute_values(format!(":{name}"), value);
        }
        let request = request
            .update_expression(set)
            // An end that counts later messages replaces an earlier one, and never the reverse.
            .condition_expression(format!(
                "{LIVE} AND (attribute_not_exists(#epoch) OR #epoch <= :epoch) AND (attribute_not_exists(#ended) \
                 OR #messages < :messages OR (#messages = :messages AND #summaries < :summaries))"
            ))
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_values(":epoch", item::number(lease.epoch()));
        let item = match self.update_header(call_id, request).await? {
            Written::Done(item) => item,
            Written::Refused(Some(found)) if self.is_live(&found) => {
                header::tenure(&found).check(lease)?;
                found
            }
            Written::Refused(found) => return Err(not_live(call_id, found.as_ref())),
        };
        let header = header::from_item(&item)?;
        self.settle_expiry(&header, lease).await?;
        Ok(header)
    }

    /// Starts an update of a header. The caller adds the expression, which must set `#nonce = :nonce`, and may extend
    /// the condition [`LIVE`].
    pub(super) fn header_update(&self, call_id: &CallId) -> UpdateItemFluentBuilder {
        self.db
            .client
            .update_item()
            .set_key(Some(item::keys(keys::partition_of(call_id), names::HEADER)))
            .condition_expression(LIVE)
            .expression_attribute_names("#entity", names::ENTITY)
            .expression_attribute_names("#started", names::STARTED)
            .expression_attribute_names("#expires", names::EXPIRES_AT)
            .expression_attribute_names("#nonce", names::NONCE)
            .expression_attribute_values(":nonce", item::text(header::new_nonce()))
            .expression_attribute_values(":call", item::text(names::ENTITY_CALL))
            .expression_attribute_values(":now", item::number(self.now_s()))
            .return_values(ReturnValue::AllNew)
    }

    pub(super) async fn update_header(
        &self,
        call_id: &CallId,
        request: UpdateItemFluentBuilder,
    ) -> Result<Written, LogError> {
        self.db.update(request, || format!("the header of call {call_id} in table {}", self.db.table)).await
    }

    /// Returns whether [`LIVE`] holds for a header.
    pub(super) fn is_live(&self, header: &Item) -> bool {
        let is_header = match item::read_text(header, names::ENTITY) {
            Some(entity) => entity == names::ENTITY_CALL,
            None => header.contains_key(names::STARTED),
        };
        is_header && !item::is_expired(header, self.now_s())
    }
}

/// Returns the error for a header that is not live.
pub(super) fn not_live(call_id: &CallId, found: Option<&Item>) -> LogError {
    let is_erased = found.is_some_and(item::is_erased);
    if is_erased { LogError::erased(call_id) } else { LogError::not_opened(call_id) }
}
