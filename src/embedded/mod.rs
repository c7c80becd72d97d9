//! DynamoDB in this process, for development, tests and examples: [`EmbeddedDynamo`].
//!
//! The engine is the crate [`dynoxide`](https://docs.rs/dynoxide-rs), which stores tables in SQLite. The client is the
//! SDK's, so code that runs here also runs against AWS. Only the HTTP connector differs: it passes each request to the
//! engine, without a socket, credentials or retries.

mod connector;
mod engine;

use std::fmt;
use std::path::Path;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region, StalledStreamProtectionConfig};
use dynoxide::Database;

use crate::log::{LogError, LogErrorKind};
use connector::EngineClient;

/// A DynamoDB database in this process. Clones and their clients share the database.
///
/// Unlike AWS, it has no throttling, no latency and no eventual consistency, and it never deletes expired items. Do not
/// enable streams on its tables: the time of each write would grow with the number of items.
///
/// ```
/// # use verbale::embedded::EmbeddedDynamo;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = EmbeddedDynamo::in_memory()?.client();
/// assert!(client.list_tables().send().await?.table_names().is_empty());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct EmbeddedDynamo(Database);

const FILE: &str = "dynamodb.sqlite";

impl EmbeddedDynamo {
    /// Creates an empty database in memory. The database is dropped with its last clone and client.
    pub fn in_memory() -> Result<Self, LogError> {
        Database::memory().map(Self).map_err(|error| refused(Path::new(":memory:"), IN_USE).with_source(error))
    }

    /// Opens the database in `directory`, and creates both if they do not exist. Each write is on the disk when its
    /// response arrives.
    ///
    /// Blocks for a few milliseconds, so call it at the start of async code. Returns
    /// [`NeedsOperator`](LogErrorKind::NeedsOperator) if the directory cannot be created or used, or has another kind of
    /// file with the database's name.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, LogError> {
        let directory = directory.as_ref();
        let path = directory.join(FILE);
        if let Err(error) = std::fs::create_dir_all(directory) {
            let advice = "its directory cannot be created; choose another one, or check the permissions";
            return Err(refused(&path, advice).with_source(error));
        }
        let Some(text) = path.to_str() else {
            return Err(refused(&path, "its path is not valid UTF-8; choose another directory"));
        };
        Database::new(text).map(Self).map_err(|error| refused(&path, IN_USE).with_source(error))
    }

    /// Returns a client of the SDK for this database. Its requests need a tokio runtime; the engine runs them on the
    /// runtime's blocking pool, one at a time.
    pub fn client(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            // The SDK requires these settings, but the engine ignores them. No credential provider is called.
            .region(Region::from_static("us-east-1"))
            .endpoint_url("http://dynamodb.invalid")
            .credentials_provider(Credentials::new("embedded", "embedded", None, None, "embedded"))
            .http_client(EngineClient::new(self.0.clone()))
            .retry_config(RetryConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Client::from_conf(config)
    }
}

const IN_USE: &str = "the file is damaged, no database, or in use; choose another directory, or stop the other process";

fn refused(path: &Path, advice: &str) -> LogError {
    LogError::new(LogErrorKind::NeedsOperator, format!("cannot open the database {}: {advice}", path.display()))
}

impl fmt::Debug for EmbeddedDynamo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmbeddedDynamo")
    }
}
