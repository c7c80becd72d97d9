//! Legal holds: while a call is held, none of its items may expire.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::change::not_there;
use super::cost::write_units;
use super::write::Written;
use super::{Cost, DynamoError, DynamoLog, Item, header, item, log, names};
use crate::log::{CallHeader, CallId, WriterLease};

impl DynamoLog {
    /// Puts a call under a legal hold: it does not expire any more, and [erasing](Self::erase) it is refused.
    ///
    /// First the header says so; from then on a read shows the call whatever has expired. Then `expires_at` is taken
    /// off every item, so that DynamoDB deletes none. A writer whose claim is from before the hold still writes items
    /// that expire. They are read all the same, and are swept when the call is closed, resumed or held again; after a
    /// crash of the writer hold it again, before the call was to expire.
    ///
    /// It takes a read and a write of the header, and where the call was to expire a query and a write of every item
    /// that was.
    ///
    /// Errors: never opened, or expired; erased; a request that failed. Hold it again then.
    pub(super) async fn hold(&self, call_id: &CallId) -> Result<CallHeader, DynamoError> {
        let found = self.live_header(call_id).await?;
        let request = self.header_update(call_id).expression_attribute_names("#held", names::HELD);
        let request = request.expression_attribute_values(":held", AttributeValue::Bool(true));
        let request = match found.expires_at_s() {
            None => request.update_expression("SET #held = :held"),
            Some(at_s) => request
                .update_expression("SET #held = :held, #expiry = :expiry REMOVE #expires")
                .expression_attribute_names("#expiry", names::EXPIRY)
                .expression_attribute_values(":expiry", AttributeValue::N(at_s.to_string())),
        };
        let header = changed(call_id, self.update_header(call_id, request).await?)?;
        self.settle_expiry(&header, &WriterLease::of(&header)).await?;
        Ok(header)
    }

    /// Ends a legal hold: the call expires when it was to, at once where that is past, and can be erased.
    ///
    /// `expires_at` comes back to the items, then to the header. A writer that took the call over during the hold still
    /// writes items that do not expire, until the call is closed or released again; none is read once the header has
    /// expired. It takes as much as [`hold`](Self::hold).
    ///
    /// Errors: as those of [`hold`](Self::hold); release it again then.
    pub(super) async fn release(&self, call_id: &CallId) -> Result<CallHeader, DynamoError> {
        let found = self.live_header(call_id).await?;
        let request = self
            .header_update(call_id)
            .expression_attribute_names("#held", names::HELD)
            .expression_attribute_names("#expiry", names::EXPIRY);
        let request = match found.expires_at_s() {
            None => request.update_expression("REMOVE #held, #expiry"),
            Some(at_s) => {
                self.sweep(call_id, Some(at_s)).await?;
                request
                    .update_expression("SET #expires = :expires REMOVE #held, #expiry")
                    .expression_attribute_values(":expires", AttributeValue::N(at_s.to_string()))
            }
        };
        changed(call_id, self.update_header(call_id, request).await?)
    }

    /// Sweeps what a writer wrote with an expiry that is not the call's: its claim is from before a hold, or from
    /// before the end of one. Costs nothing where no call was held.
    pub(super) async fn settle_expiry(&self, header: &CallHeader, lease: &WriterLease) -> Result<(), DynamoError> {
        let expires_at_s = WriterLease::of(header).expires_at_s();
        let is_settled = !header.is_held() && lease.expires_at_s() == expires_at_s;
        if is_settled || header.expires_at_s().is_none() {
            return Ok(());
        }
        self.sweep(header.call_id(), expires_at_s).await
    }

    async fn live_header(&self, call_id: &CallId) -> Result<CallHeader, DynamoError> {
        match self.header_item(call_id).await? {
            Some(found) if self.is_live(&found) => header::from_item(&found),
            found => Err(not_there(call_id, found.as_ref())),
        }
    }

    /// Gives every message, summary and fence this `expires_at`, or none.
    async fn sweep(&self, call_id: &CallId, expires_at_s: Option<i64>) -> Result<(), DynamoError> {
        let items = self.items(call_id).await?;
        let differs = |item: &Item| !item::is_erased(item) && item::number(item, names::EXPIRES_AT) != expires_at_s;
        let keys = items.behind_header.into_iter().filter(differs).map(|item| item::keys(&item));
        let steps = keys.map(|keys| self.expire(call_id, keys, expires_at_s));
        stream::iter(steps).buffer_unordered(log::AT_ONCE).try_collect().await
    }

    async fn expire(&self, call_id: &CallId, keys: Item, expires_at_s: Option<i64>) -> Result<(), DynamoError> {
        let request = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys))
            .expression_attribute_names("#expires", names::EXPIRES_AT)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let request = match expires_at_s {
            // A mark of what was erased has none.
            None => request.update_expression("REMOVE #expires").condition_expression("attribute_exists(#expires)"),
            Some(at_s) => request
                .update_expression("SET #expires = :expires")
                .condition_expression("attribute_exists(#pk) AND #entity <> :erased")
                .expression_attribute_names("#pk", names::PARTITION_KEY)
                .expression_attribute_names("#entity", names::ENTITY)
                .expression_attribute_values(":erased", AttributeValue::S(names::ENTITY_ERASED.to_owned()))
                .expression_attribute_values(":expires", AttributeValue::N(at_s.to_string())),
        };
        match request.send().await {
            Ok(output) => self.spent.add(Cost::of_write(output.consumed_capacity())),
            // Someone else did it, or it was erased.
            Err(error) if is_refused(&error) => self.spent.add(Cost::of_refused_write(write_units(0))),
            Err(error) => {
                let subject = format_args!("an item of call {call_id} in table {}", self.table);
                return Err(DynamoError::request("UpdateItem", subject, error));
            }
        }
        Ok(())
    }
}

fn is_refused(error: &aws_sdk_dynamodb::error::SdkError<UpdateItemError>) -> bool {
    error.as_service_error().is_some_and(UpdateItemError::is_conditional_check_failed_exception)
}

fn changed(call_id: &CallId, updated: Written) -> Result<CallHeader, DynamoError> {
    match updated {
        Written::Done(item) => header::from_item(&item),
        Written::Refused(found) => Err(not_there(call_id, found.as_ref())),
    }
}
