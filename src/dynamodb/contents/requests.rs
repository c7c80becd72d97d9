//! The requests of [`DynamoContents`], each done once.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConsumedCapacity, Put, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem,
};

use super::DynamoContents;
use super::items::{self, Found, Head, Key, Used};
use crate::contents::{Blob, ContentId, Owner};
use crate::dynamodb::{Cost, DynamoError, Item, names};

/// Whether a condition held.
pub(super) type IsDone = bool;

/// A write whose condition does not hold costs what was there; all that is written here on a condition is small.
const REFUSED_UNITS: f64 = 1.0;

/// What a query asks for of each content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Everything,
    /// The head, and the keys of the chunks.
    Keys,
}

impl DynamoContents {
    /// Says under the content and under the owner that one uses the other: both or neither, however late it lands.
    pub(super) async fn put_uses(&self, id: ContentId, owner: &Owner, put_id: &str) -> Result<(), DynamoError> {
        let failed = |error| self.failed("TransactWriteItems", id, error);
        let mut request = self.client.transact_write_items().return_consumed_capacity(ReturnConsumedCapacity::Total);
        for item in items::uses(id, owner, put_id) {
            let put = Put::builder().table_name(&*self.table).set_item(Some(item)).build();
            let put = put.map_err(SdkError::<TransactWriteItemsError>::construction_failure).map_err(failed)?;
            request = request.transact_items(TransactWriteItem::builder().put(put).build());
        }
        let output = request.send().await.map_err(failed)?;
        self.spent.add(Cost::of_write(output.consumed_capacity().first()));
        Ok(())
    }

    /// The head of a content and its chunks, read consistently; 1 MB a request.
    pub(super) async fn find(&self, id: ContentId, wanted: Wanted) -> Result<Found, DynamoError> {
        let query = self
            .query(&items::partition_of(id))
            .key_condition_expression("#pk = :pk AND #sk BETWEEN :chunks AND :head")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":chunks", AttributeValue::S(names::CHUNK_PREFIX.to_owned()))
            .expression_attribute_values(":head", AttributeValue::S(names::CONTENT_HEAD.to_owned()));
        let query = match wanted {
            Wanted::Everything => query,
            Wanted::Keys => query
                .projection_expression("#sk, #generation, #puts")
                .expression_attribute_names("#generation", names::GENERATION)
                .expression_attribute_names("#puts", names::PUTS),
        };
        let mut pages = query.into_paginator().send();
        let mut found = Found::default();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| self.failed("Query", id, error))?;
            self.spent.add(Cost::of_read(page.consumed_capacity()));
            page.items.unwrap_or_default().into_iter().for_each(|item| found.add(item));
        }
        Ok(found)
    }

    /// Whether anybody uses a content.
    pub(super) async fn has_uses(&self, id: ContentId) -> Result<bool, DynamoError> {
        let page = self
            .query(&items::partition_of(id))
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :use)")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":use", AttributeValue::S(names::USE_PREFIX.to_owned()))
            .limit(1)
            .send()
            .await
            .map_err(|error| self.failed("Query", id, error))?;
        self.spent.add(Cost::of_read(page.consumed_capacity()));
        Ok(!page.items().is_empty())
    }

    /// Whether the use is there as this put wrote it.
    pub(super) async fn is_use_of(&self, id: ContentId, owner: &Owner, put_id: &str) -> Result<bool, DynamoError> {
        let output = self
            .client
            .get_item()
            .table_name(&*self.table)
            .set_key(Some(Key::of_use(id, owner).attributes()))
            .consistent_read(true)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(|error| self.failed("GetItem", id, error))?;
        self.spent.add(Cost::of_read(output.consumed_capacity()));
        Ok(output.item().and_then(items::put_id) == Some(put_id))
    }

    /// All that the owner uses.
    pub(super) async fn used_by(&self, owner: &Owner) -> Result<Vec<Used>, DynamoError> {
        let mut pages =
            self.query(&items::partition_of_owner(owner)).key_condition_expression("#pk = :pk").into_paginator().send();
        let mut used = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| {
                let subject = format_args!("what {owner} uses in table {}", self.table);
                DynamoError::request("Query", subject, error)
            })?;
            self.spent.add(Cost::of_read(page.consumed_capacity()));
            used.extend(page.items().iter().filter_map(items::used));
        }
        Ok(used)
    }

    pub(super) async fn put_chunk(&self, id: ContentId, chunk: Item) -> Result<(), DynamoError> {
        let request = self.client.put_item().table_name(&*self.table).set_item(Some(chunk));
        let output = request
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(|error| self.failed("PutItem", id, error))?;
        self.spent.add(Cost::of_write(output.consumed_capacity()));
        Ok(())
    }

    /// Puts a head in the place of the one that was found, or of none.
    pub(super) async fn put_head(
        &self,
        blob: &Blob,
        generation: &str,
        found: Option<&Head>,
    ) -> Result<IsDone, DynamoError> {
        let id = blob.id();
        let request = self
            .client
            .put_item()
            .table_name(&*self.table)
            .set_item(Some(items::head(id, blob.bytes().len(), generation)))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let request = match found {
            None => request
                .condition_expression("attribute_not_exists(#pk)")
                .expression_attribute_names("#pk", names::PARTITION_KEY),
            Some(found) => request
                .condition_expression("#generation = :generation")
                .expression_attribute_names("#generation", names::GENERATION)
                .expression_attribute_values(":generation", AttributeValue::S(found.generation.clone())),
        };
        let answer = request.send().await;
        if let Err(SdkError::ServiceError(error)) = &answer
            && let PutItemError::ConditionalCheckFailedException(refused) = error.err()
        {
            self.spent.add(Cost::of_refused_write(REFUSED_UNITS));
            // A client that sends again what has landed is refused by its own head.
            return Ok(refused.item().and_then(items::generation) == Some(generation));
        }
        let output = answer.map_err(|error| self.failed("PutItem", id, error))?;
        self.spent.add(Cost::of_write(output.consumed_capacity()));
        Ok(true)
    }

    /// Says that the content was put once more, unless it is not the one that was found.
    pub(super) async fn count_put(&self, id: ContentId, head: &Head) -> Result<IsDone, DynamoError> {
        let answer = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(Key::of_head(id).attributes()))
            .update_expression("ADD #puts :one")
            .condition_expression("#generation = :generation")
            .expression_attribute_names("#puts", names::PUTS)
            .expression_attribute_names("#generation", names::GENERATION)
            .expression_attribute_values(":one", items::number(1))
            .expression_attribute_values(":generation", AttributeValue::S(head.generation.clone()))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        let answer = answer.map(|output| output.consumed_capacity);
        self.done("UpdateItem", id, answer, UpdateItemError::is_conditional_check_failed_exception)
    }

    /// Deletes the head, unless it was put since it was found.
    pub(super) async fn delete_head(&self, id: ContentId, head: &Head) -> Result<IsDone, DynamoError> {
        let delete = self
            .delete(Key::of_head(id))
            .condition_expression("attribute_not_exists(#pk) OR (#generation = :generation AND #puts = :puts)")
            .expression_attribute_names("#generation", names::GENERATION)
            .expression_attribute_names("#puts", names::PUTS)
            .expression_attribute_values(":generation", AttributeValue::S(head.generation.clone()))
            .expression_attribute_values(":puts", items::number(head.puts));
        self.send_delete(id, delete.expression_attribute_names("#pk", names::PARTITION_KEY)).await
    }

    /// Deletes one of the two items of a use, unless the owner has put the content again since.
    pub(super) async fn delete_use(&self, key: Key, used: &Used) -> Result<IsDone, DynamoError> {
        let delete = self
            .delete(key)
            .condition_expression("attribute_not_exists(#pk) OR #put = :put")
            .expression_attribute_names("#put", names::PUT_ID)
            .expression_attribute_values(":put", AttributeValue::S(used.put_id.clone()));
        self.send_delete(used.id, delete.expression_attribute_names("#pk", names::PARTITION_KEY)).await
    }

    pub(super) async fn delete_chunk(&self, id: ContentId, sort_key: &str) -> Result<(), DynamoError> {
        self.send_delete(id, self.delete(Key::of_chunk(id, sort_key))).await.map(drop)
    }

    fn delete(&self, key: Key) -> DeleteItemFluentBuilder {
        let delete = self.client.delete_item().table_name(&*self.table).set_key(Some(key.attributes()));
        delete.return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    async fn send_delete(&self, id: ContentId, delete: DeleteItemFluentBuilder) -> Result<IsDone, DynamoError> {
        let answer = delete.send().await.map(|output| output.consumed_capacity);
        self.done("DeleteItem", id, answer, DeleteItemError::is_conditional_check_failed_exception)
    }

    fn query(&self, partition_key: &str) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&*self.table)
            .consistent_read(true)
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_values(":pk", AttributeValue::S(partition_key.to_owned()))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    fn done<E>(
        &self,
        operation: &'static str,
        id: ContentId,
        answer: Result<Option<ConsumedCapacity>, SdkError<E>>,
        is_refused: fn(&E) -> bool,
    ) -> Result<IsDone, DynamoError>
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        match answer {
            Ok(capacity) => self.spent.add(Cost::of_write(capacity.as_ref())),
            Err(error) if error.as_service_error().is_some_and(is_refused) => {
                self.spent.add(Cost::of_refused_write(REFUSED_UNITS));
                return Ok(false);
            }
            Err(error) => return Err(self.failed(operation, id, error)),
        }
        Ok(true)
    }

    fn failed<E>(&self, operation: &'static str, id: ContentId, error: SdkError<E>) -> DynamoError
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        DynamoError::request(operation, format_args!("content {id} in table {}", self.table), error)
    }
}
