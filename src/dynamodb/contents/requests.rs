//! The single requests of [`DynamoContents`].

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{Put, ReturnConsumedCapacity, TransactWriteItem};

use super::DynamoContents;
use super::items::{self, Found, Head, Used};
use crate::contents::{Blob, ContentId, Owner};
use crate::dynamodb::table_client::Written;
use crate::dynamodb::{Cost, Item, error, item, names};
use crate::log::LogError;

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
    pub(super) async fn put_uses(&self, id: ContentId, owner: &Owner, put_id: &str) -> Result<(), LogError> {
        let failed = |error| error::of_request("TransactWriteItems", self.subject(id), error);
        let request = self.0.client.transact_write_items();
        let mut request = request.return_consumed_capacity(ReturnConsumedCapacity::Total);
        for item in items::uses(id, owner, put_id) {
            let put = Put::builder().table_name(&*self.0.table).set_item(Some(item)).build();
            let put = put.map_err(SdkError::<TransactWriteItemsError>::construction_failure).map_err(failed)?;
            request = request.transact_items(TransactWriteItem::builder().put(put).build());
        }
        let output = request.send().await.map_err(failed)?;
        self.0.meter.add(Cost::of_write(output.consumed_capacity().first()));
        Ok(())
    }

    /// Reads the head of a content and its chunks consistently, 1 MB per request.
    pub(super) async fn find(&self, id: ContentId, wanted: Wanted) -> Result<Found, LogError> {
        let query = self
            .0
            .query(items::partition_of(id))
            .key_condition_expression("#pk = :pk AND #sk BETWEEN :chunks AND :head")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":chunks", item::text(names::CHUNK_PREFIX))
            .expression_attribute_values(":head", item::text(names::CONTENT_HEAD));
        let query = match wanted {
            Wanted::Everything => query,
            Wanted::Keys => query
                .projection_expression("#sk, #generation, #puts")
                .expression_attribute_names("#generation", names::GENERATION)
                .expression_attribute_names("#puts", names::PUTS),
        };
        let mut pages = self.0.pages(query, || self.subject(id));
        let mut found = Found::default();
        while let Some(page) = pages.next().await? {
            page.into_iter().for_each(|item| found.add(item));
        }
        Ok(found)
    }

    /// Returns whether any owner uses a content.
    pub(super) async fn has_uses(&self, id: ContentId) -> Result<bool, LogError> {
        let query = self
            .0
            .query(items::partition_of(id))
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :use)")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":use", item::text(names::USE_PREFIX))
            .limit(1);
        let page = self.0.pages(query, || self.subject(id)).next().await?;
        Ok(page.is_some_and(|page| !page.is_empty()))
    }

    /// Returns whether the use still is the one that this put wrote.
    pub(super) async fn is_use_of(&self, id: ContentId, owner: &Owner, put_id: &str) -> Result<bool, LogError> {
        let found = self.0.get(items::keys_of_use(id, owner), || self.subject(id)).await?;
        Ok(found.as_ref().and_then(items::put_id) == Some(put_id))
    }

    /// Returns all uses of an owner.
    pub(super) async fn used_by(&self, owner: &Owner) -> Result<Vec<Used>, LogError> {
        let query = self.0.query(items::partition_of_owner(owner));
        let mut pages = self.0.pages(query, || format!("the contents of {owner} in table {}", self.0.table));
        let mut used = Vec::new();
        while let Some(page) = pages.next().await? {
            used.extend(page.iter().filter_map(items::used));
        }
        Ok(used)
    }

    pub(super) async fn put_chunk(&self, id: ContentId, chunk: Item) -> Result<(), LogError> {
        let request = self.0.client.put_item().set_item(Some(chunk));
        self.0.put(request, || self.subject(id)).await.map(drop)
    }

    /// Writes a head in place of `found`, or where none was found.
    pub(super) async fn put_head(
        &self,
        blob: &Blob,
        generation: &str,
        found: Option<&Head>,
    ) -> Result<IsDone, LogError> {
        let id = blob.id();
        let head = items::head(id, blob.bytes().len(), generation);
        let request = self.0.client.put_item().set_item(Some(head));
        let request = match found {
            None => request
                .condition_expression("attribute_not_exists(#pk)")
                .expression_attribute_names("#pk", names::PARTITION_KEY),
            Some(found) => request
                .condition_expression("#generation = :generation")
                .expression_attribute_names("#generation", names::GENERATION)
                .expression_attribute_values(":generation", item::text(found.generation.as_str())),
        };
        match self.0.put(request, || self.subject(id)).await? {
            Written::Done(_) => Ok(true),
            // A client that retries a successful request is refused because of its own head.
            Written::Refused(found) => Ok(found.as_ref().and_then(items::generation) == Some(generation)),
        }
    }

    /// Counts another put in the head, unless the head was replaced since it was found.
    pub(super) async fn count_put(&self, id: ContentId, head: &Head) -> Result<IsDone, LogError> {
        let request = self
            .0
            .client
            .update_item()
            .set_key(Some(items::keys(id, names::CONTENT_HEAD)))
            .update_expression("ADD #puts :one")
            .condition_expression("#generation = :generation")
            .expression_attribute_names("#puts", names::PUTS)
            .expression_attribute_names("#generation", names::GENERATION)
            .expression_attribute_values(":one", item::number(1))
            .expression_attribute_values(":generation", item::text(head.generation.as_str()));
        Ok(is_done(&self.0.update(request, || self.subject(id)).await?))
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
        Ok(is_done(&self.0.delete(delete, || self.subject(id)).await?))
    }

    /// Deletes one of the two items of a use, unless the owner has put the content again since.
    pub(super) async fn delete_use(&self, keys: Item, used: &Used) -> Result<IsDone, LogError> {
        let delete = self
            .delete(keys)
            .condition_expression("attribute_not_exists(#pk) OR #put = :put")
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#put", names::PUT_ID)
            .expression_attribute_values(":put", item::text(used.put_id.as_str()));
        Ok(is_done(&self.0.delete(delete, || self.subject(used.id)).await?))
    }

    pub(super) async fn delete_chunk(&self, id: ContentId, sort_key: &str) -> Result<(), LogError> {
        self.0.delete(self.delete(items::keys(id, sort_key)), || self.subject(id)).await.map(drop)
    }

    fn delete(&self, keys: Item) -> DeleteItemFluentBuilder {
        self.0.client.delete_item().set_key(Some(keys))
    }

    fn subject(&self, id: ContentId) -> String {
        format!("content {id} in table {}", self.0.table)
    }
}

fn is_done(written: &Written) -> IsDone {
    matches!(written, Written::Done(_))
}
