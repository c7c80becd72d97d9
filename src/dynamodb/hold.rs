//! Legal holds: no item of a held call may expire.

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::change::not_live;
use super::table_client::Written;
use super::{DynamoLog, Item, header, item, log, names};
use crate::log::{CallHeader, CallId, LogError, WriterLease};

impl DynamoLog {
    /// Puts a call under a legal hold: it no longer expires, and [erasing](Self::erase) it is refused.
    ///
    /// First the header is marked; from then on a read returns the call even if items have expired. Then `expires_at`
    /// is removed from every item, so that DynamoDB deletes none. A writer with a lease from before the hold still
    /// writes items that expire. Reads return them, and the next close, resume or hold of the call removes their
    /// expiry. If such a writer crashes, hold the call again before its expiry.
    ///
    /// Takes a read and a write of the header. If the call was to expire, also a query and a write of every item with an
    /// expiry.
    ///
    /// Returns an error if the call was never opened, has expired, or was erased. A hold that failed can be repeated.
    pub(super) async fn hold(&self, call_id: &CallId) -> Result<CallHeader, LogError> {
        let found = self.live_header(call_id).await?;
        let request = self.header_update(call_id).expression_attribute_names("#held", names::HELD);
        let request = request.expression_attribute_values(":held", AttributeValue::Bool(true));
        let request = match found.expires_at_s() {
            None => request.update_expression("SET #held = :held, #nonce = :nonce"),
            Some(at_s) => request
                .update_expression("SET #held = :held, #expiry = :expiry, #nonce = :nonce REMOVE #expires")
                .expression_attribute_names("#expiry", names::EXPIRY)
                .expression_attribute_values(":expiry", item::number(at_s)),
        };
        let header = changed(call_id, self.update_header(call_id, request).await?)?;
        self.settle_expiry(&header, &WriterLease::from(&header)).await?;
        Ok(header)
    }

    /// Ends a legal hold: the call expires at its original time, at once if that has passed, and can be erased.
    ///
    /// `expires_at` is restored on the items first, then on the header. A writer that resumed the call during the hold
    /// still writes items without an expiry until the call is closed or released again. No item is read after the header
    /// has expired. Takes as many requests as [`hold`](Self::hold), and returns the same errors.
    pub(super) async fn release(&self, call_id: &CallId) -> Result<CallHeader, LogError> {
        let found = self.live_header(call_id).await?;
        let request = self
            .header_update(call_id)
            .expression_attribute_names("#held", names::HELD)
            .expression_attribute_names("#expiry", names::EXPIRY);
        let request = match found.expires_at_s() {
            None => request.update_expression("SET #nonce = :nonce REMOVE #held, #expiry"),
            Some(at_s) => {
                self.set_expiry_of_items(call_id, Some(at_s)).await?;
                request
                    .update_expression("SET #expires = :expires, #nonce = :nonce REMOVE #held, #expiry")
                    .expression_attribute_values(":expires", item::number(at_s))
            }
        };
        changed(call_id, self.update_header(call_id, request).await?)
    }

    /// Corrects the items that a writer wrote with another expiry than the call's, because its lease is older than a
    /// hold or a release. Sends nothing if the call was never held.
    pub(super) async fn settle_expiry(&self, header: &CallHeader, lease: &WriterLease) -> Result<(), LogError> {
        let expires_at_s = WriterLease::from(header).expires_at_s();
        let is_settled = !header.is_held() && lease.expires_at_s() == expires_at_s;
        if is_settled || header.expires_at_s().is_none() {
            return Ok(());
        }
        self.set_expiry_of_items(header.call_id(), expires_at_s).await
    }

    pub(super) async fn live_header(&self, call_id: &CallId) -> Result<CallHeader, LogError> {
        match self.header_item(call_id).await? {
            Some(found) if self.is_live(&found) => header::from_item(&found),
            found => Err(not_live(call_id, found.as_ref())),
        }
    }

    /// Sets or removes `expires_at` on every message, summary and fence.
    async fn set_expiry_of_items(&self, call_id: &CallId, expires_at_s: Option<i64>) -> Result<(), LogError> {
        let items = self.items(call_id).await?;
        let differs =
            |item: &Item| !item::is_erased(item) && item::read_number(item, names::EXPIRES_AT) != expires_at_s;
        let keys = items.others.into_iter().filter(differs).map(|item| item::keys_of(&item));
        let updates = keys.map(|keys| self.set_expiry(call_id, keys, expires_at_s));
        stream::iter(updates).buffer_unordered(log::AT_ONCE).try_collect().await
    }

    async fn set_expiry(&self, call_id: &CallId, keys: Item, expires_at_s: Option<i64>) -> Result<(), LogError> {
        let request = self.db.client.update_item().set_key(Some(keys));
        let request = request.expression_attribute_names("#expires", names::EXPIRES_AT);
        let request = match expires_at_s {
            // The mark of an erased item has no expiry, so this condition excludes it.
            None => request.update_expression("REMOVE #expires").condition_expression("attribute_exists(#expires)"),
            Some(at_s) => request
                .update_expression("SET #expires = :expires")
                .condition_expression("attribute_exists(#pk) AND #entity <> :erased")
                .expression_attribute_names("#pk", names::PARTITION_KEY)
                .expression_attribute_names("#entity", names::ENTITY)
                .expression_attribute_values(":erased", item::text(names::ENTITY_ERASED))
                .expression_attribute_values(":expires", item::number(at_s)),
        };
        // A refusal means that another process changed the expiry or erased the item.
        self.db.update(request, || format!("an item of call {call_id} in table {}", self.db.table)).await.map(drop)
    }
}

fn changed(call_id: &CallId, updated: Written) -> Result<CallHeader, LogError> {
    match updated {
        Written::Done(item) => header::from_item(&item),
        Written::Refused(found) => Err(not_live(call_id, found.as_ref())),
    }
}
