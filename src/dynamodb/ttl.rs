//! The time to live of the table's items.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::update_time_to_live::UpdateTimeToLiveError;
use aws_sdk_dynamodb::types::{TimeToLiveSpecification, TimeToLiveStatus};

use super::{DynamoError, names, table};

const UNKNOWN_OPERATION: &str = "UnknownOperationException";

/// Enables the deletion of items whose `expires_at` has passed. DynamoDB deletes them within days, at no cost.
pub(super) async fn enable(client: &Client, table: &str) -> Result<(), DynamoError> {
    if !matches!(state(client, table).await?, State::Off) {
        return Ok(());
    }
    let specification = TimeToLiveSpecification::builder().enabled(true).attribute_name(names::EXPIRES_AT).build();
    let specification = specification.map_err(|error| {
        failed("UpdateTimeToLive", table, SdkError::<UpdateTimeToLiveError>::construction_failure(error))
    })?;
    let Err(error) =
        client.update_time_to_live().table_name(table).time_to_live_specification(specification).send().await
    else {
        return Ok(());
    };
    // Some servers describe the time to live but cannot change it.
    if error.code() == Some(UNKNOWN_OPERATION) {
        return Ok(());
    }
    // Another process may have enabled it in the meantime.
    match state(client, table).await? {
        State::On => Ok(()),
        _ => Err(failed("UpdateTimeToLive", table, error)),
    }
}

enum State {
    On,
    Off,
    Unsupported,
}

async fn state(client: &Client, table: &str) -> Result<State, DynamoError> {
    let output = match client.describe_time_to_live().table_name(table).send().await {
        Ok(output) => output,
        Err(error) if error.code() == Some(UNKNOWN_OPERATION) => return Ok(State::Unsupported),
        Err(error) => return Err(failed("DescribeTimeToLive", table, error)),
    };
    let Some(description) = output.time_to_live_description() else { return Ok(State::Off) };
    match (description.time_to_live_status(), description.attribute_name()) {
        (Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling), Some(names::EXPIRES_AT)) => Ok(State::On),
        (Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling), other) => {
            let other = other.unwrap_or("none");
            Err(table::differs(table, &format!("its time to live uses {other}, not {}", names::EXPIRES_AT)))
        }
        _ => Ok(State::Off),
    }
}

fn failed<E>(operation: &'static str, table: &str, error: SdkError<E>) -> DynamoError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    DynamoError::request(operation, format_args!("time to live of table {table}"), error)
}
