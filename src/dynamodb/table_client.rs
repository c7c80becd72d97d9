//! [`TableClient`]: sends requests to one table and adds up their cost.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure as OnRefusal;
use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity};

use super::cost::{Cost, Meter, write_units};
use super::size::item_size;
use super::{Item, error, item, names};
use crate::log::LogError;

/// One table, the client that reaches it, and the cost of the requests so far. Clones share all three.
#[derive(Clone)]
pub(super) struct TableClient {
    pub client: Client,
    pub table: Arc<str>,
    pub meter: Meter,
}

/// The outcome of a write.
pub(super) enum Written {
    /// The write was applied. Holds the attributes that an update returns.
    Done(Item),
    /// The condition was false. Holds the item in the table, if there is one.
    Refused(Option<Item>),
}

impl TableClient {
    /// A client for the default table.
    pub fn new(client: Client) -> Self {
        Self { client, table: names::DEFAULT_TABLE.into(), meter: Meter::default() }
    }

    /// Reads one item consistently.
    pub async fn get(&self, keys: Item, subject: impl FnOnce() -> String) -> Result<Option<Item>, LogError> {
        let request = self.client.get_item().table_name(&*self.table).set_key(Some(keys)).consistent_read(true);
        let output = request.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await;
        let output = output.map_err(|error| error::of_request("GetItem", subject(), error))?;
        self.meter.add(Cost::of_read(output.consumed_capacity()));
        Ok(output.item)
    }

    /// Starts a consistent query of one partition. The caller adds conditions on the sort key.
    pub fn query(&self, partition_key: String) -> QueryFluentBuilder {
        self.client
            .query()
            .consistent_read(true)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_values(":pk", item::text(partition_key))
    }

    /// Runs a query page by page. DynamoDB returns up to 1 MB per page, which costs one request.
    pub fn pages<S: Fn() -> String>(&self, query: QueryFluentBuilder, subject: S) -> Pages<'_, S> {
        let query = query.table_name(&*self.table).return_consumed_capacity(ReturnConsumedCapacity::Total);
        Pages { table: self, next: Some(query), subject }
    }

    pub async fn put(
        &self,
        request: PutItemFluentBuilder,
        subject: impl FnOnce() -> String,
    ) -> Result<Written, LogError> {
        let conditional = request.get_condition_expression().is_some();
        let request = request
            .table_name(&*self.table)
            .set_return_values_on_condition_check_failure(conditional.then_some(OnRefusal::AllOld))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let response = request.send().await.map(|output| (output.consumed_capacity, None));
        self.written("PutItem", subject, response, |error| match error {
            PutItemError::ConditionalCheckFailedException(failed) => Some(failed.item()),
            _ => None,
        })
    }

    pub async fn update(
        &self,
        request: UpdateItemFluentBuilder,
        subject: impl FnOnce() -> String,
    ) -> Result<Written, LogError> {
        let request = request
            .table_name(&*self.table)
            .return_values_on_condition_check_failure(OnRefusal::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let response = request.send().await.map(|output| (output.consumed_capacity, output.attributes));
        self.written("UpdateItem", subject, response, |error| match error {
            UpdateItemError::ConditionalCheckFailedException(failed) => Some(failed.item()),
            _ => None,
        })
    }

    pub async fn delete(
        &self,
        request: DeleteItemFluentBuilder,
        subject: impl FnOnce() -> String,
    ) -> Result<Written, LogError> {
        let request = request.table_name(&*self.table).return_consumed_capacity(ReturnConsumedCapacity::Total);
        let response = request.send().await.map(|output| (output.consumed_capacity, None));
        self.written("DeleteItem", subject, response, |error| match error {
            DeleteItemError::ConditionalCheckFailedException(failed) => Some(failed.item()),
            _ => None,
        })
    }

    fn written<E>(
        &self,
        operation: &'static str,
        subject: impl FnOnce() -> String,
        response: Result<(Option<ConsumedCapacity>, Option<Item>), SdkError<E>>,
        refused: fn(&E) -> Option<Option<&Item>>,
    ) -> Result<Written, LogError>
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let error = match response {
            Ok((capacity, item)) => {
                self.meter.add(Cost::of_write(capacity.as_ref()));
                return Ok(Written::Done(item.unwrap_or_default()));
            }
            Err(error) => error,
        };
        let Some(found) = error.as_service_error().and_then(refused) else {
            return Err(error::of_request(operation, subject(), error));
        };
        let found = found.cloned();
        let bytes = found.as_ref().map(item_size).unwrap_or_default();
        self.meter.add(Cost::of_refused_write(write_units(bytes)));
        Ok(Written::Refused(found))
    }
}

/// The pages of a query that are still to be read.
pub(super) struct Pages<'a, S> {
    table: &'a TableClient,
    next: Option<QueryFluentBuilder>,
    subject: S,
}

impl<S: Fn() -> String> Pages<'_, S> {
    /// Reads the next page. Returns `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<Vec<Item>>, LogError> {
        let Some(query) = self.next.take() else { return Ok(None) };
        let output = query.clone().send().await;
        let output = output.map_err(|error| error::of_request("Query", (self.subject)(), error))?;
        self.table.meter.add(Cost::of_read(output.consumed_capacity()));
        let last_key = output.last_evaluated_key.filter(|key| !key.is_empty());
        self.next = last_key.map(|key| query.set_exclusive_start_key(Some(key)));
        Ok(Some(output.items.unwrap_or_default()))
    }
}
