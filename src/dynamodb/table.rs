//! The definition of the log's table, and its creation.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableInputBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType, TableDescription, TableStatus,
};

use super::{error, names, ttl};
use crate::log::{LogError, LogErrorKind};

/// Returns the request that creates the log's table. A second request has to enable the time to live; [`create_table`]
/// sends both.
///
/// The keys `pk` and `sk` are strings. The index `gsi1` finds the headers of calls by day, and `gsi2` by caller, with all
/// attributes. Billing is by request, the time to live uses `expires_at`, and there is no stream.
///
/// Returns an error if the SDK requires a field that the request lacks. No such case is known.
pub fn table_definition(table: &str) -> Result<CreateTableInputBuilder, BuildError> {
    let indexes = INDEXES.map(|(name, keys)| {
        GlobalSecondaryIndex::builder()
            .index_name(name)
            .set_key_schema(Some(key_schema(keys)?))
            .projection(Projection::builder().projection_type(ProjectionType::All).build())
            .build()
    });
    let attributes = TABLE_KEYS
        .into_iter()
        .chain(INDEXES.into_iter().flat_map(|(_, keys)| keys))
        .map(|name| AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build());
    Ok(CreateTableInputBuilder::default()
        .table_name(table)
        .set_attribute_definitions(Some(attributes.collect::<Result<_, _>>()?))
        .set_key_schema(Some(key_schema(TABLE_KEYS)?))
        .set_global_secondary_indexes(Some(indexes.into_iter().collect::<Result<_, _>>()?))
        .billing_mode(BillingMode::PayPerRequest))
}

const TABLE_KEYS: [&str; 2] = [names::PARTITION_KEY, names::SORT_KEY];
/// The indexes and their keys. Only the first one must exist: a table may be older than the second.
const INDEXES: [(&str, [&str; 2]); 2] = [
    (names::CALLS_BY_DAY, [names::DAY_PARTITION_KEY, names::DAY_SORT_KEY]),
    (names::CALLS_BY_CALLER, [names::CALLER_PARTITION_KEY, names::CALLER_SORT_KEY]),
];

fn key_schema([partition, sort]: [&str; 2]) -> Result<Vec<KeySchemaElement>, BuildError> {
    [(partition, KeyType::Hash), (sort, KeyType::Range)]
        .into_iter()
        .map(|(name, key_type)| KeySchemaElement::builder().attribute_name(name).key_type(key_type).build())
        .collect()
}

/// Creates the table if it does not exist, waits up to a minute until it is active, and enables its time to live.
///
/// Use this for development and tests. In production, define the table with the rest of the infrastructure, with
/// recovery and alarms.
///
/// Returns [`NeedsOperator`](LogErrorKind::NeedsOperator) if a table of that name has other keys, no index `gsi1` or another
/// time to live, and a [retryable](LogError::is_retryable) error if the table is not active in time. A server that does not
/// support a time to live causes no error.
pub async fn create_table(client: &Client, table: &str) -> Result<(), LogError> {
    let mut found = describe(client, table).await?;
    if found.is_none() {
        create(client, table).await?;
        found = describe(client, table).await?;
    }
    let description = active(client, table, found).await?;
    if let Some(difference) = difference(&description) {
        return Err(differs(table, &difference));
    }
    ttl::enable(client, table).await
}

pub(super) fn differs(table: &str, difference: &str) -> LogError {
    let message = format!("table {table} exists, but {difference}; choose another name, or delete the table if unused");
    LogError::new(LogErrorKind::NeedsOperator, message)
}

fn subject(table: &str) -> String {
    format!("table {table}")
}

async fn create(client: &Client, table: &str) -> Result<(), LogError> {
    let definition = table_definition(table)
        .map_err(SdkError::<CreateTableError>::construction_failure)
        .map_err(|error| error::of_request("CreateTable", subject(table), error))?;
    match definition.send_with(client).await {
        Ok(_) => Ok(()),
        // Another process created it in the meantime.
        Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_in_use_exception()) => Ok(()),
        Err(error) => Err(error::of_request("CreateTable", subject(table), error)),
    }
}

async fn describe(client: &Client, table: &str) -> Result<Option<TableDescription>, LogError> {
    match client.describe_table().table_name(table).send().await {
        Ok(output) => Ok(output.table),
        Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) => Ok(None),
        Err(error) => Err(error::of_request("DescribeTable", subject(table), error)),
    }
}

const ACTIVE_TIMEOUT: Duration = Duration::from_secs(60);
/// The SDK's own waiter polls only every 20 seconds.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

async fn active(
    client: &Client,
    table: &str,
    mut found: Option<TableDescription>,
) -> Result<TableDescription, LogError> {
    let mut waited = Duration::ZERO;
    loop {
        // A table that is being updated is usable. A new table is not always visible at once.
        let status = found.as_ref().and_then(TableDescription::table_status).cloned();
        if let Some(description) = found
            && matches!(status, Some(TableStatus::Active | TableStatus::Updating))
        {
            return Ok(description);
        }
        if waited >= ACTIVE_TIMEOUT {
            let status = status.as_ref().map_or("not found", TableStatus::as_str);
            let seconds = waited.as_secs();
            let message = format!(
                "table {table} is not active after {seconds} seconds ({status}); create it again to keep waiting"
            );
            return Err(LogError::new(LogErrorKind::Unavailable, message));
        }
        // The client's own sleep is not accessible unless the configuration sets one.
        tokio::time::sleep(POLL_INTERVAL).await;
        waited += POLL_INTERVAL;
        found = describe(client, table).await?;
    }
}

/// Returns the first difference that prevents the log from using the table.
fn difference(description: &TableDescription) -> Option<String> {
    if let Some(difference) = key_difference("its", description.key_schema(), TABLE_KEYS) {
        return Some(difference);
    }
    let mut names = TABLE_KEYS.to_vec();
    for (name, keys) in INDEXES {
        let found = description.global_secondary_indexes().iter().find(|index| index.index_name() == Some(name));
        match found {
            None if name == names::CALLS_BY_DAY => return Some(format!("it has no index {name}")),
            None => continue,
            Some(index) => {
                if let Some(difference) = key_difference(&format!("the index {name}'s"), index.key_schema(), keys) {
                    return Some(difference);
                }
            }
        }
        names.extend(keys);
    }
    let not_a_string = |name: &&str| {
        !description.attribute_definitions().iter().any(|attribute| {
            attribute.attribute_name() == *name && *attribute.attribute_type() == ScalarAttributeType::S
        })
    };
    let name = names.into_iter().find(not_a_string)?;
    Some(format!("its key {name} is not a string"))
}

fn key_difference(whose: &str, schema: &[KeySchemaElement], [partition, sort]: [&str; 2]) -> Option<String> {
    let name = |key_type| schema.iter().find(|key| *key.key_type() == key_type).map(KeySchemaElement::attribute_name);
    let found = (name(KeyType::Hash), name(KeyType::Range));
    (found != (Some(partition), Some(sort))).then(|| {
        let [found_partition, found_sort] = [found.0, found.1].map(|name| name.unwrap_or("none"));
        format!("{whose} keys are {found_partition} and {found_sort}, not {partition} and {sort}")
    })
}

#[cfg(test)]
mod tests;
