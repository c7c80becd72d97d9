//! The single requests of [`DynamoContents`].

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{Put, ReturnConsumedCapacity, TransactWriteItem};

use super::DynamoContents;
use super::items::{self, Found, Head, Used};
use crate::clock::{Clock, SystemClock};
use crate::contents::ContentId;
use crate::dynamodb::table_client::Written;
use crate::dynamodb::{Cost, Item, error, item, names};
use crate::log::LogError;

/// How long an ended use waits for a sweep, in seconds: 30 days.
const ENDED_USE_S: i64 = 30 * 24 * 3_600;

/// Whether the condition of a write held.
pub(super) type IsDone = bool;

/// The attributes that a query of a content returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Everything,
    /// The head, and the keys of the chunks.
    Keys,
}

impl DynamoContents {
    /// Writes a use in the partition of the content and in that of the owner, in one transaction.
    pub(super) async fn put_uses(&self, id: ContentId, owner: &str, put_id: &str) -> Result<(), LogError> {
        let failed = |error| error::of_request("TransactWriteItems", self.subject(id), error);
        let request = self.db.client.transact_write_items();
        let mut request = request.return_consumed_capacity(ReturnConsumedCapacity::Total);
        for item in items::uses(id, owner, put_id) {
            let put = Put::builder().table_name(&*self.db.table).set_item(Some(item)).build();
            let put = put.map_err(SdkError::<TransactWriteItemsError>::construction_failure).map_err(failed)?;
            request = request.transact_items(TransactWriteItem::builder().put(put).build());
        }
        let output = request.send().await.map_err(failed)?;
        self.db.meter.add(Cost::of_write(output.consumed_capacity().first()));
        Ok(())
    }

    /// Reads the head of a content and its chunks consistently, 1 MB per request.
    pub(super) async fn find(&self, id: ContentId, wanted: Wanted) -> Result<Found, LogError> {
        let query = self
            .db
            .query(items::partition_of(id))
            .key_condition_expression("#pk = :pk AND #sk BETWEEN :chunks AND :head")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":chunks", item::text(names::CHUNK_PREFIX))
            .expression_attribute_values(":head", item::text(names::CONTENT_HEAD));
        let query = match wanted {
            Wanted::Everything => query,
            Wanted::Keys => query
                .projection_expression("#sk, #generation, #puts, #uploading")
                .expression_attribute_names("#generation", names::GENERATION)
                .expression_attribute_names("#puts", names::PUTS)
                .expression_attribute_names("#uploading", names::UPLOADING),
        };
        let mut pages = self.db.pages(query, || self.subject(id));
        let mut found = Found::default();
        while let Some(page) = pages.next().await? {
            page.into_iter().for_each(|item| found.add(item));
        }
        Ok(found)
    }

    /// Returns whether any owner uses a content.
    pub(super) async fn has_uses(&self, id: ContentId) -> Result<bool, LogError> {
        let query = self
            .db
            .query(items::partition_of(id))
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :use)")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":use", item::text(names::USE_PREFIX))
            .limit(1);
        let page = self.db.pages(query, || self.subject(id)).next().await?;
        Ok(page.is_some_and(|page| !page.is_empty()))
    }

    /// Returns whether the use still is the one that this put wrote.
    pub(super) async fn is_use_of(&self, id: ContentId, owner: &str, put_id: &str) -> Result<bool, LogError> {
        let found = self.db.get(items::keys_of_use(id, owner), || self.subject(id)).await?;
        Ok(found.as_ref().and_then(items::put_id) == Some(put_id))
    }

    /// Returns all uses of an owner.
    pub(super) async fn used_by(&self, owner: &str) -> Result<Vec<Used>, LogError> {
        let query = self.db.query(items::partition_of_owner(owner));
        let mut pages =
            self.db.pages(query, || format!("the contents of {} in table {}", owner.escape_debug(), self.db.table));
        let mut used = Vec::new();
        while let Some(page) = pages.next().await? {
            used.extend(page.iter().filter_map(items::used));
        }
        Ok(used)
    }

    /// Reads the head of a content.
    pub(super) async fn head(&self, id: ContentId) -> Result<Option<Head>, LogError> {
        let found = self.db.get(items::keys(id, names::CONTENT_HEAD), || self.subject(id)).await?;
        Ok(found.as_ref().map(Head::of_item))
    }

    /// Writes a chunk, after waiting until its bytes fit among those that are in flight.
    pub(super) async fn put_chunk(&self, id: ContentId, sort_key: &str, bytes: &[u8]) -> Result<(), LogError> {
        // The count never exceeds the permits of the semaphore, which is never closed.
        let _permit = self.in_flight.acquire_many(u32::try_from(bytes.len()).unwrap_or(u32::MAX)).await;
        let request = self.db.client.put_item().set_item(Some(items::chunk(id, sort_key, bytes)));
        self.db.put(request, || self.subject(id)).await.map(drop)
    }

    /// Writes a head in place of `replaced`, or where none was found.
    pub(super) async fn put_head(
        &self,
        id: ContentId,
        head: Item,
        generation: &str,
        replaced: Option<&Head>,
    ) -> Result<IsDone, LogError> {
        let request = self.db.client.put_item().set_item(Some(head));
        let request = match replaced {
            None => request
                .condition_expression("attribute_not_exists(#pk)")
                .expression_attribute_names("#pk", names::PARTITION_KEY),
            Some(replaced) => request
                .condition_expression("#generation = :generation")
                .expression_attribute_names("#generation", names::GENERATION)
                .expression_attribute_values(":generation", item::text(replaced.generation.as_str())),
        };
        match self.db.put(request, || self.subject(id)).await? {
            Written::Done(_) => Ok(true),
            // If the client retries a successful request, the head that it finds is its own.
            Written::Refused(found) => Ok(found.as_ref().and_then(items::generation) == Some(generation)),
        }
    }

    /// Removes the mark of an upload, unless the head was replaced.
    pub(super) async fn complete_head(&self, id: ContentId, generation: &str) -> Result<IsDone, LogError> {
        let update = self.update_head(id, generation).update_expression("REMOVE #uploading");
        let update = update.expression_attribute_names("#uploading", names::UPLOADING);
        Ok(is_done(&self.db.update(update, || self.subject(id)).await?))
    }

    /// Counts another put in the head, unless the head was replaced since it was found.
    pub(super) async fn count_put(&self, id: ContentId, head: &Head) -> Result<IsDone, LogError> {
        let update = self
            .update_head(id, &head.generation)
            .update_expression("ADD #puts :one")
            .expression_attribute_names("#puts", names::PUTS)
            .expression_attribute_values(":one", item::number(1));
        Ok(is_done(&self.db.update(update, || self.subject(id)).await?))
    }

    /// Starts an update of the head on the condition that it has this generation.
    fn update_head(&self, id: ContentId, generation: &str) -> UpdateItemFluentBuilder {
        self.db
            .client
            .update_item()
            .set_key(Some(items::keys(id, names::CONTENT_HEAD)))
            .condition_expression("#generation = :generation")
            .expression_attribute_names("#generation", names::GENERATION)
            .expression_attribute_values(":generation", item::text(generation))
    }

    /// Deletes the head, unless it was put again since it was found.
    pub(super) async fn delete_head(&self, id: ContentId, head: &Head) -> Result<IsDone, LogError> {
        let delete = self
            .delete(items::keys(id, names::CONTENT_HEAD))
            .condition_expression("attribute_not_exists(#pk) OR (#generation = :generation AND #puts = :puts)")
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#generation", names::GENERATION)
            .expression_attribute_names("#puts", names::PUTS)
            .expression_attribute_values(":generation", item::text(head.generation.as_str()))
            .expression_attribute_values(":puts", item::number(head.puts));
        Ok(is_done(&self.db.delete(delete, || self.subject(id)).await?))
    }

    /// Deletes one of the two items of a use, unless the owner has put the content again since.
    pub(super) async fn delete_use(&self, keys: Item, used: &Used) -> Result<IsDone, LogError> {
        let delete = self
            .delete(keys)
            .condition_expression("attribute_not_exists(#pk) OR #put = :put")
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#put", names::PUT_ID)
            .expression_attribute_values(":put", item::text(used.put_id.as_str()));
        Ok(is_done(&self.db.delete(delete, || self.subject(used.id)).await?))
    }

    /// Lets the item of a use in the partition of its owner expire, unless the owner has put the content again since.
    pub(super) async fn mark_ended(&self, used: &Used, owner: &str) -> Result<(), LogError> {
        let expires_at_s = SystemClock.now_ms() / 1_000 + ENDED_USE_S;
        let request = self
            .db
            .client
            .put_item()
            .set_item(Some(items::ended_use(used, owner, expires_at_s)))
            .condition_expression("#put = :put")
            .expression_attribute_names("#put", names::PUT_ID)
            .expression_attribute_values(":put", item::text(used.put_id.as_str()));
        self.db.put(request, || self.subject(used.id)).await.map(drop)
    }

    pub(super) async fn delete_chunks(
        &self,
        id: ContentId,
        sort_keys: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<(), LogError> {
        for sort_key in sort_keys {
            self.db.delete(self.delete(items::keys(id, sort_key.as_ref())), || self.subject(id)).await?;
        }
        Ok(())
    }

    fn delete(&self, keys: Item) -> DeleteItemFluentBuilder {
        self.db.client.delete_item().set_key(Some(keys))
    }

    fn subject(&self, id: ContentId) -> String {
        format!("content {id} in table {}", self.db.table)
    }
}

fn is_done(written: &Written) -> IsDone {
    matches!(written, Written::Done(_))
}
