//! The time to live of the table's items.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::update_time_to_live::UpdateTimeToLiveError;
use aws_sdk_dynamodb::types::{TimeToLiveSpecification, TimeToLiveStatus};

use super::{error, names, table};
use crate::log::LogError;

const UNKNOWN_OPERATION: &str = "UnknownOperationException";

/// Enables the deletion of items whose `expires_at` has passed. DynamoDB deletes them within days, at no cost.
pub(super) async fn enable(client: &Client, table: &str) -> Result<(), LogError> {
    if is_enabled(client, table).await? != Some(false) {
        return Ok(());
    }
    let failed = |error| error::of_request("UpdateTimeToLive", subject(table), error);
    let specification = TimeToLiveSpecification::builder().enabled(true).attribute_name(names::EXPIRES_AT).build();
    let specification =
        specification.map_err(SdkError::<UpdateTimeToLiveError>::construction_failure).map_err(failed)?;
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
    match is_enabled(client, table).await? {
        Some(true) => Ok(()),
        _ => Err(failed(error)),
    }
}

/// Returns whether the time to live is enabled, or `None` if the server does not support it.
async fn is_enabled(client: &Client, table: &str) -> Result<Option<bool>, LogError> {
    let output = match client.describe_time_to_live().table_name(table).send().await {
        Ok(output) => output,
        Err(error) if error.code() == Some(UNKNOWN_OPERATION) => return Ok(None),
        Err(error) => return Err(error::of_request("DescribeTimeToLive", subject(table), error)),
    };
    let Some(description) = output.time_to_live_description() else { return Ok(Some(false)) };
    match (description.time_to_live_status(), description.attribute_name()) {
        (Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling), Some(names::EXPIRES_AT)) => Ok(Some(true)),
        (Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling), other) => {
            let other = other.unwrap_or("none");
            Err(table::differs(table, &format!("its time to live uses {other}, not {}", names::EXPIRES_AT)))
        }
        _ => Ok(Some(false)),
    }
}

fn subject(table: &str) -> String {
    format!("time to live of table {table}")
}
