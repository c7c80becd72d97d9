//! [`CallLog`]: the log of one call in DynamoDB, embedded or at an address.

use std::fmt;
use std::path::PathBuf;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::types::AttributeValue;
use verbale::ManagerError;
use verbale::bedrock::BedrockMessage;
use verbale::clock::{IdSource, SystemIds};
use verbale::dynamodb::{Cost, DynamoLog, Item, create_table, log_client};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{self, CallChange, CallEnd, CallHeader, CallId, CallLog as _, WriterLease};
use verbale::{LastMessage, MessageId, MessagesManager, Record};

use crate::demo::script::Script;
use crate::log::EMBEDDED_TABLE;
use crate::text::visible;

/// The log of one call.
pub struct CallLog {
    client: Client,
    log: DynamoLog,
    lease: WriterLease,
    place: Place,
    header: Cost,
    read: Cost,
}

/// The cost of the log of a call.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Writing the messages.
    pub written: Cost,
    /// Opening and closing the call.
    pub header: Cost,
    /// Reading the call back.
    pub read: Cost,
}

/// The place of the log.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// In the memory of this process.
    Memory,
    /// In this process, in files of a directory.
    Directory(PathBuf),
    /// In a table of a local DynamoDB at an address, with dummy credentials.
    Endpoint { url: String, table: String },
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
    NoConversation(#[from] ManagerError),
    #[error("the items of the call cannot be read")]
    Items(#[from] Box<SdkError<QueryError>>),
}

impl CallLog {
    /// Opens the log, and a new call with its own id in it. Creates the directory, the database and the table if they are missing.
    pub async fn open(place: Place, script: &Script) -> Result<Self, LogError> {
        let client = match &place {
            Place::Memory => EmbeddedDynamo::in_memory()?.client(),
            Place::Directory(directory) => EmbeddedDynamo::open(directory)?.client(),
            Place::Endpoint { url, .. } => client_at(url),
        };
        let name = match &place {
            Place::Endpoint { table, .. } => table.as_str(),
            Place::Memory | Place::Directory(_) => EMBEDDED_TABLE,
        };
        create_table(&client, name).await.map_err(|source| match (&place, &source) {
            (Place::Endpoint { url, .. }, error) if error.is_retryable() => {
                LogError::NobodyAnswers { url: url.clone(), source }
            }
            _ => LogError::Log(source),
        })?;
        let log = DynamoLog::new(client.clone()).with_table(name);
        let header = CallHeader::new(call_id(script)?, script.start_ms())?;
        log.open_call(&header).await?;
        let (lease, header) = (WriterLease::from(&header), log.cost());
        Ok(Self { client, log, lease, place, header, read: Cost::default() })
    }

    /// Closes the call.
    pub async fn close(&mut self, manager: &MessagesManager<BedrockMessage>, at_ms: i64) -> Result<(), LogError> {
        let before = self.log.cost();
        let change =
            CallChange::Close { lease: self.lease.clone(), call_end: CallEnd::of(manager, at_ms, "recording ended")? };
        self.log.change_call(self.lease.call_id(), &change).await?;
        self.header += self.log.cost() - before;
        Ok(())
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

    /// Returns the stored items of the call's messages. This request is not part of the reported cost.
    pub async fn items(&self) -> Result<Vec<Item>, LogError> {
        let items = self
            .client
            .query()
            .table_name(self.log.table())
            .consistent_read(true)
            .key_condition_expression("#pk = :pk")
            .filter_expression("#entity <> :call")
            .expression_attribute_names("#pk", "pk")
            .expression_attribute_names("#entity", "entity")
            .expression_attribute_values(":call", AttributeValue::S("call".to_owned()))
            .expression_attribute_values(":pk", AttributeValue::S(format!("CALL#{}", self.lease.call_id())))
            .into_paginator()
            .items()
            .send();
        Ok(items.collect::<Result<_, _>>().await.map_err(Box::new)?)
    }

    /// Returns the cost of the messages, of the header, and of reading.
    pub fn costs(&self) -> Costs {
        Costs { written: self.log.cost() - self.read - self.header, header: self.header, read: self.read }
    }

    /// Returns the call and its log as arguments of the commands that show it, if the log is kept.
    pub fn show_again(&self) -> Option<String> {
        let log = match &self.place {
            Place::Memory => return None,
            Place::Directory(directory) => format!("embedded:{}", visible(&directory.to_string_lossy())),
            Place::Endpoint { url, .. } => format!("dynamodb://{} --endpoint {}", self.log.table(), visible(url)),
        };
        Some(format!("{} --log {log}", self.lease.call_id()))
    }
}

/// `call <id>, logged to <where>`.
impl fmt::Display for CallLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}, logged to table {} ", self.lease.call_id(), self.log.table())?;
        match &self.place {
            Place::Memory => f.write_str("in memory"),
            Place::Directory(directory) => write!(f, "in {}", visible(&directory.to_string_lossy())),
            Place::Endpoint { url, .. } => write!(f, "at {}", visible(url)),
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
    let ulid = MessageId::from(SystemIds.next_id(script.start_ms().max(1)));
    CallId::new(format!("{}-{ulid}", script.call_id))
}
