//! [`CallLog`]: the log of one call in DynamoDB, embedded or at an address.

use std::fmt;
use std::path::PathBuf;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::types::AttributeValue;
use verbale::bedrock::BedrockMessage;
use verbale::clock::{IdSource, SystemIds};
use verbale::dynamodb::{Cost, DynamoLog, Item, Table, create_table, log_client};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{self, CallId, CallLog as _, WriterLease};
use verbale::manager::RestoreError;
use verbale::{LastMessage, MessageId, MessagesManager, Record};

use crate::demo::script::Script;
use crate::demo::text::visible;

/// The log of one call.
pub struct CallLog {
    client: Client,
    log: DynamoLog,
    lease: WriterLease,
    place: Place,
    read: Cost,
}

/// The place of the log.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// In the memory of this process.
    Memory,
    /// In this process, in files of a directory.
    Directory(PathBuf),
    /// In a local DynamoDB at an address, with dummy credentials.
    Endpoint(String),
}

/// An error of the log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(
        "no DynamoDB answers at {}: start one there (docker run -p 8000:8000 amazon/dynamodb-local), or leave \
         --endpoint out for the one inside this process", visible(.url)
    )]
    NobodyAnswers { url: String, source: log::LogError },
    #[error(transparent)]
    Log(#[from] log::LogError),
    #[error("the logged call cannot be restored")]
    NoConversation(#[from] RestoreError),
    #[error("the items of the call cannot be read")]
    Items(#[from] Box<SdkError<QueryError>>),
}

impl CallLog {
    /// Opens the log for a new call with its own id. Creates the directory, the database and the table if they are missing.
    pub async fn open(place: Place, script: &Script) -> Result<Self, LogError> {
        let client = match &place {
            Place::Memory => EmbeddedDynamo::in_memory()?.client(),
            Place::Directory(directory) => EmbeddedDynamo::open(directory)?.client(),
            Place::Endpoint(url) => client_at(url),
        };
        create_table(&client, &Table::default()).await.map_err(|source| match (&place, &source) {
            (Place::Endpoint(url), error) if error.is_retryable() => {
                LogError::NobodyAnswers { url: url.clone(), source }
            }
            _ => LogError::Log(source),
        })?;
        let log = DynamoLog::new(client.clone());
        let lease = WriterLease::from(call_id(script)?);
        Ok(Self { client, log, lease, place, read: Cost::default() })
    }

    /// Writes and returns all records not yet acknowledged. Written records are acknowledged even if a later one fails.
    pub async fn write(
        &mut self,
        manager: &mut MessagesManager<BedrockMessage>,
        last: LastMessage,
    ) -> Result<Vec<Record>, LogError> {
        let changes = manager.changes(last);
        let mut first_error = None;
        for record in &changes {
            match self.log.put_record(&self.lease, record).await {
                Ok(_) => manager.acknowledge([record]),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or_else(|| Ok(changes), |error| Err(error.into()))
    }

    /// Reads the call back.
    pub async fn restore(&mut self) -> Result<MessagesManager<BedrockMessage>, LogError> {
        let before = self.log.cost();
        let call = self.log.read_call(self.lease.call_id()).await?;
        self.read += self.log.cost() - before;
        Ok(MessagesManager::restore(call.records)?)
    }

    /// Returns the stored items of the call. This request is not part of the reported cost.
    pub async fn items(&self) -> Result<Vec<Item>, LogError> {
        let items = self
            .client
            .query()
            .table_name(self.log.table())
            .consistent_read(true)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", "pk")
            .expression_attribute_values(":pk", AttributeValue::S(format!("CALL#{}", self.lease.call_id())))
            .into_paginator()
            .items()
            .send();
        Ok(items.collect::<Result<_, _>>().await.map_err(Box::new)?)
    }

    /// Returns the cost of writing and of reading.
    pub fn costs(&self) -> (Cost, Cost) {
        (self.log.cost() - self.read, self.read)
    }
}

/// `call <id>, logged to <where>`.
impl fmt::Display for CallLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}, logged to table {} ", self.lease.call_id(), self.log.table())?;
        match &self.place {
            Place::Memory => f.write_str("in memory"),
            Place::Directory(directory) => write!(f, "in {}", visible(&directory.to_string_lossy())),
            Place::Endpoint(url) => write!(f, "at {}", visible(url)),
        }
    }
}

fn client_at(url: &str) -> Client {
    let region = std::env::var("AWS_REGION").ok().filter(|region| !region.is_empty());
    let config = log_client(Config::builder())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region.unwrap_or_else(|| "us-east-1".to_owned())))
        .endpoint_url(url)
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .build();
    Client::from_conf(config)
}

/// Returns the script's name with a ULID of the call's time, so that a file played twice becomes two calls.
fn call_id(script: &Script) -> Result<CallId, log::LogError> {
    // A time of 0 would give the same ULIDs in each process, because they count up from 1 there.
    let start_ms = script.events.first().map_or(1, |event| event.start_ms.max(1));
    let ulid = MessageId::from(SystemIds.next_id(start_ms));
    CallId::new(format!("{}-{ulid}", script.call_id))
}
