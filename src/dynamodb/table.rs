//! The table: its definition, and how it is made on demand.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableInputBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType, TableDescription, TableStatus,
};

use super::{DynamoError, names, ttl};

/// The table of the log.
///
/// Keys `pk` and `sk`, both strings; index `gsi1` with all attributes, in which only headers of calls
/// are; paid by request; time to live by `expires_at`. No stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Table {
    /// Its name: 3 to 255 of `[a-zA-Z0-9_.-]`.
    pub name: String,
    /// How long [`create_table`] waits for it to become active. On AWS that takes seconds.
    pub active_within: Duration,
}

impl Default for Table {
    fn default() -> Self {
        Self { name: names::DEFAULT_TABLE.to_owned(), active_within: Duration::from_secs(60) }
    }
}

/// Whether [`create_table`] had something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// It made the table.
    Created,
    /// The table was there.
    AlreadyThere,
}

impl Table {
    /// The same with another name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same with another time to become active.
    #[must_use]
    pub fn with_active_within(mut self, active_within: Duration) -> Self {
        self.active_within = active_within;
        self
    }

    /// The request that makes the table.
    ///
    /// Errors: none that is known; the SDK checks that nothing is missing.
    pub fn definition(&self) -> Result<CreateTableInputBuilder, BuildError> {
        let index = GlobalSecondaryIndex::builder()
            .index_name(names::CALLS_BY_DAY)
            .set_key_schema(Some(key_schema(INDEX_KEYS)?))
            .projection(Projection::builder().projection_type(ProjectionType::All).build())
            .build()?;
        let attributes = TABLE_KEYS.into_iter().chain(INDEX_KEYS).map(|name| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build()
        });
        Ok(CreateTableInputBuilder::default()
            .table_name(&self.name)
            .set_attribute_definitions(Some(attributes.collect::<Result<_, _>>()?))
            .set_key_schema(Some(key_schema(TABLE_KEYS)?))
            .global_secondary_indexes(index)
            .billing_mode(BillingMode::PayPerRequest))
    }
}

const TABLE_KEYS: [&str; 2] = [names::PARTITION_KEY, names::SORT_KEY];
const INDEX_KEYS: [&str; 2] = [names::DAY_PARTITION_KEY, names::DAY_SORT_KEY];

fn key_schema([partition, sort]: [&str; 2]) -> Result<Vec<KeySchemaElement>, BuildError> {
    [(partition, KeyType::Hash), (sort, KeyType::Range)]
        .into_iter()
        .map(|(name, key_type)| KeySchemaElement::builder().attribute_name(name).key_type(key_type).build())
        .collect()
}

/// Makes the table unless it is there, waits until it is active, and sets its time to live.
///
/// For development and tests; in production the table belongs to the infrastructure, with recovery and alarms.
///
/// Errors: a table of that name with other keys or without the index; not active in time; a request that failed. A
/// server that knows no time to live is none.
pub async fn create_table(client: &Client, table: &Table) -> Result<Creation, DynamoError> {
    let mut creation = Creation::AlreadyThere;
    let mut found = describe(client, table).await?;
    if found.is_none() {
        creation = create(client, table).await?;
        found = describe(client, table).await?;
    }
    let description = active(client, table, found).await?;
    if let Some(difference) = difference(&description) {
        return Err(DynamoError::OtherTable { table: table.name.as_str().into(), difference: difference.into() });
    }
    ttl::enable(client, &table.name).await?;
    Ok(creation)
}

async fn create(client: &Client, table: &Table) -> Result<Creation, DynamoError> {
    let definition = table
        .definition()
        .map_err(SdkError::<CreateTableError>::construction_failure)
        .map_err(|error| failed("CreateTable", table, error))?;
    match definition.send_with(client).await {
        Ok(_) => Ok(Creation::Created),
        // Someone else made it in the meantime.
        Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_in_use_exception()) => {
            Ok(Creation::AlreadyThere)
        }
        Err(error) => Err(failed("CreateTable", table, error)),
    }
}

async fn describe(client: &Client, table: &Table) -> Result<Option<TableDescription>, DynamoError> {
    match client.describe_table().table_name(&table.name).send().await {
        Ok(output) => Ok(output.table),
        Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) => Ok(None),
        Err(error) => Err(failed("DescribeTable", table, error)),
    }
}

/// The SDK's own waiter looks every 20 seconds.
const LOOK_EVERY: Duration = Duration::from_secs(1);

async fn active(
    client: &Client,
    table: &Table,
    mut found: Option<TableDescription>,
) -> Result<TableDescription, DynamoError> {
    let mut waited = Duration::ZERO;
    loop {
        // A table that is being changed can be used. Just created, one is not always found at once.
        let status = found.as_ref().and_then(TableDescription::table_status).cloned();
        match found {
            Some(description) if matches!(status, Some(TableStatus::Active | TableStatus::Updating)) => {
                return Ok(description);
            }
            _ => {}
        }
        if waited >= table.active_within {
            return Err(DynamoError::TableNotActive {
                table: table.name.as_str().into(),
                waited_s: waited.as_secs(),
                status: status.as_ref().map_or("not found", TableStatus::as_str).into(),
            });
        }
        // Not by the client's own sleep: a configuration has none to show unless one was set in it.
        tokio::time::sleep(LOOK_EVERY).await;
        waited += LOOK_EVERY;
        found = describe(client, table).await?;
    }
}

/// What keeps the log from using the table.
fn difference(description: &TableDescription) -> Option<String> {
    if let Some(difference) = key_difference("its", description.key_schema(), TABLE_KEYS) {
        return Some(difference);
    }
    let index =
        description.global_secondary_indexes().iter().find(|index| index.index_name() == Some(names::CALLS_BY_DAY));
    match index {
        None => Some(format!("it has no index {}", names::CALLS_BY_DAY)),
        Some(index) => key_difference("the index's", index.key_schema(), INDEX_KEYS),
    }
    .or_else(|| {
        let not_a_string = |name: &&str| {
            !description.attribute_definitions().iter().any(|attribute| {
                attribute.attribute_name() == *name && *attribute.attribute_type() == ScalarAttributeType::S
            })
        };
        let name = TABLE_KEYS.into_iter().chain(INDEX_KEYS).find(not_a_string)?;
        Some(format!("its key {name} is not a string"))
    })
}

fn key_difference(whose: &str, schema: &[KeySchemaElement], [partition, sort]: [&str; 2]) -> Option<String> {
    let name = |key_type| schema.iter().find(|key| *key.key_type() == key_type).map(KeySchemaElement::attribute_name);
    let found = (name(KeyType::Hash), name(KeyType::Range));
    (found != (Some(partition), Some(sort))).then(|| {
        let [found_partition, found_sort] = [found.0, found.1].map(|name| name.unwrap_or("none"));
        format!("{whose} keys are {found_partition} and {found_sort}, not {partition} and {sort}")
    })
}

fn failed<E>(operation: &'static str, table: &Table, error: SdkError<E>) -> DynamoError
where
    E: aws_sdk_dynamodb::error::ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    DynamoError::request(operation, format_args!("table {}", table.name), error)
}

#[cfg(test)]
mod tests;
