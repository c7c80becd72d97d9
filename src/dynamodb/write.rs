//! Writes on a condition: how they are sent, and what they come to.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};

use super::cost::write_units;
use super::size::item_size;
use super::{Cost, DynamoError, DynamoLog, Item};

/// What a write on a condition came to.
pub(super) enum Written {
    /// It is done; an update that asks for it gives the item as it is now.
    Done(Item),
    /// The condition does not hold: this is there, or nothing.
    Refused(Option<Item>),
}

impl DynamoLog {
    pub(super) async fn send_put(
        &self,
        request: PutItemFluentBuilder,
        subject: impl FnOnce() -> String,
    ) -> Result<Written, DynamoError> {
        let request = request
            .table_name(&*self.table)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let answer = request.send().await.map(|output| (output.consumed_capacity, None));
        self.written("PutItem", subject, answer, |error| match error {
            PutItemError::ConditionalCheckFailedException(failed) => Some(failed.item()),
            _ => None,
        })
    }

    pub(super) async fn send_update(
        &self,
        request: UpdateItemFluentBuilder,
        subject: impl FnOnce() -> String,
    ) -> Result<Written, DynamoError> {
        let request = request
            .table_name(&*self.table)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let answer = request.send().await.map(|output| (output.consumed_capacity, output.attributes));
        self.written("UpdateItem", subject, answer, |error| match error {
            UpdateItemError::ConditionalCheckFailedException(failed) => Some(failed.item()),
            _ => None,
        })
    }

    fn written<E>(
        &self,
        operation: &'static str,
        subject: impl FnOnce() -> String,
        answer: Result<(Option<ConsumedCapacity>, Option<Item>), SdkError<E>>,
        refused: fn(&E) -> Option<Option<&Item>>,
    ) -> Result<Written, DynamoError>
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let error = match answer {
            Ok((capacity, item)) => {
                self.spent.add(Cost::of_write(capacity.as_ref()));
                return Ok(Written::Done(item.unwrap_or_default()));
            }
            Err(error) => error,
        };
        let Some(found) = error.as_service_error().and_then(refused) else {
            return Err(DynamoError::request(operation, subject(), error));
        };
        let found = found.cloned();
        let bytes = found.as_ref().map(item_size).unwrap_or_default();
        self.spent.add(Cost::of_refused_write(write_units(bytes)));
        Ok(Written::Refused(found))
    }
}
