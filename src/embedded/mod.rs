//! DynamoDB in this process, for development, tests and examples: [`EmbeddedDynamo`].
//!
//! The engine is the crate [`dynoxide`](https://docs.rs/dynoxide-rs), over SQLite. The client in front of it is the
//! SDK's own, so that what runs here runs against AWS: only its HTTP connector is another one, which hands each request
//! to the engine. No socket, no credentials, no retries.

mod connector;
mod engine;

use std::fmt;
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region, StalledStreamProtectionConfig};
use dynoxide::{Database, DynoxideError};

use connector::EngineClient;

/// DynamoDB in this process. Clones, and their clients, share the database.
///
/// It does not do what AWS does to a client: no throttling, no latency, no eventual consistency; and items past their
/// `expires_at` stay, as they do on AWS for days. Do not enable streams on its tables: each write would then cost as
/// much as there are items.
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

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// The directory cannot be made.
    #[error("directory {} cannot be made; choose another, or check its permissions", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The engine takes paths in UTF-8 only.
    #[error("the path {} is not valid UTF-8; choose another directory", path.display())]
    NotUnicode {
        /// The database.
        path: PathBuf,
    },
    /// The engine refuses the database.
    #[error("the database {} cannot be opened; is it one, and free?", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

const FILE: &str = "dynamodb.sqlite";

impl EmbeddedDynamo {
    /// An empty database in memory, gone with its last clone and client.
    ///
    /// Errors: the engine does not start.
    pub fn in_memory() -> Result<Self, EmbeddedError> {
        Database::memory().map(Self).map_err(|error| refused(Path::new(":memory:"), error))
    }

    /// The database in `directory`; both are made where they are missing. What was acknowledged is on the disk.
    ///
    /// Blocks for a few milliseconds: in async code call it at the start. Errors: the directory cannot be made or
    /// used, or holds another kind of file of that name.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, EmbeddedError> {
        let directory = directory.as_ref();
        std::fs::create_dir_all(directory)
            .map_err(|source| EmbeddedError::Directory { path: directory.to_owned(), source })?;
        let path = directory.join(FILE);
        let Some(text) = path.to_str() else { return Err(EmbeddedError::NotUnicode { path }) };
        Database::new(text).map(Self).map_err(|error| refused(&path, error))
    }

    /// A client of the SDK whose requests go to this database. Needs a tokio runtime, whose blocking pool the engine
    /// runs on, one request at a time.
    pub fn client(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            // The SDK wants them; none is looked at, nor is the chain of credential providers ever asked.
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

fn refused(path: &Path, error: DynoxideError) -> EmbeddedError {
    EmbeddedError::Database { path: path.to_owned(), source: error.into() }
}

impl fmt::Debug for EmbeddedDynamo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmbeddedDynamo")
    }
}
