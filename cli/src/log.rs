//! [`LogArguments`]: the log that a command reads.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use clap::Args;
use verbale::dynamodb::{DynamoContents, DynamoLog, log_client};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, CallLog, JsonLines, LoggedCall, Offloading};

use crate::failure::Failure;

/// The table of `verbale demo`.
pub const EMBEDDED_TABLE: &str = "verbale";
/// The file of an embedded database in its directory.
const EMBEDDED_FILE: &str = "dynamodb.sqlite";

/// A log that every command can share.
pub type Log = Arc<dyn CallLog>;

/// The log, and how to reach it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub struct LogArguments {
    /// The log: dynamodb://TABLE, embedded:DIR or jsonl:DIR.
    ///
    /// `dynamodb://TABLE` is a table of DynamoDB; credentials and region are found as in the AWS CLI. `embedded:DIR` is the
    /// DynamoDB inside this process, as `verbale demo --db DIR` writes it. `jsonl:DIR` has a file of JSON Lines for each call.
    #[arg(long, env = "VERBALE_LOG", value_name = "LOG")]
    pub log: Place,

    /// The region of the table.
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,

    /// The profile of the AWS configuration.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,

    /// The address of a local DynamoDB, such as http://127.0.0.1:8000. Without credentials, dummies are used.
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub endpoint: Option<String>,
}

/// The place of a log.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    DynamoDb(String),
    Embedded(PathBuf),
    JsonLines(PathBuf),
}

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match (kind, rest.strip_prefix("//").unwrap_or(rest)) {
            (_, "") => Err("expected dynamodb://TABLE, embedded:DIR or jsonl:DIR"),
            ("dynamodb", table) => Ok(Self::DynamoDb(table.to_owned())),
            // A path may begin with two slashes.
            ("embedded", _) => Ok(Self::Embedded(rest.into())),
            ("jsonl", _) => Ok(Self::JsonLines(rest.into())),
            _ => Err("expected dynamodb://TABLE, embedded:DIR or jsonl:DIR"),
        }
    }
}

impl LogArguments {
    /// Opens the log. A directory must exist: reading creates nothing.
    pub async fn open(&self) -> Result<Log, Failure> {
        if let Place::JsonLines(directory) = &self.log {
            existing(directory)?;
            return Ok(Arc::new(JsonLines::new(directory)));
        }
        let (client, table) = self.table().await?;
        let contents = DynamoContents::new(client.clone()).with_table(table);
        Ok(Arc::new(Offloading::new(DynamoLog::new(client).with_table(table), contents)))
    }

    /// Opens the log, and creates its directory if that is missing.
    pub async fn create(&self) -> Result<Log, Failure> {
        if let Place::JsonLines(directory) = &self.log {
            return Ok(Arc::new(JsonLines::new(directory)));
        }
        self.open().await
    }

    /// Returns the client of the log's table, and the table's name.
    pub async fn table(&self) -> Result<(Client, &str), Failure> {
        match &self.log {
            Place::JsonLines(_) => Err(Failure::Usage("a log of JSON Lines has no table".to_owned())),
            Place::Embedded(directory) => {
                existing(directory)?;
                writable_database(directory)?;
                Ok((EmbeddedDynamo::open(directory)?.client(), EMBEDDED_TABLE))
            }
            Place::DynamoDb(table) => Ok((self.client().await, table)),
        }
    }

    /// Returns the client and the name of a table, which need not exist. Creates the directory of an embedded one.
    pub async fn new_table(&self) -> Result<(Client, &str), Failure> {
        match &self.log {
            Place::Embedded(directory) => Ok((EmbeddedDynamo::open(directory)?.client(), EMBEDDED_TABLE)),
            _ => self.table().await,
        }
    }

    /// Opens the log and reads a call, which must exist.
    pub async fn read(&self, call_id: String) -> Result<(CallId, LoggedCall), Failure> {
        let call_id = CallId::new(call_id)?;
        let call = self.open().await?.read_call(&call_id).await?;
        if call.is_empty() { Err(Failure::no_call(&call_id)) } else { Ok((call_id, call)) }
    }

    async fn client(&self) -> Client {
        let mut config = aws_config::defaults(BehaviorVersion::latest());
        if let Some(region) = &self.region {
            config = config.region(Region::new(region.clone()));
        }
        if let Some(profile) = &self.profile {
            config = config.profile_name(profile);
        }
        if let Some(endpoint) = &self.endpoint {
            config = config.endpoint_url(endpoint);
            // A local DynamoDB checks no credentials, but the SDK wants some.
            if self.profile.is_none() && std::env::var_os("AWS_ACCESS_KEY_ID").is_none() {
                config = config.credentials_provider(Credentials::new("local", "local", None, None, "local"));
                if self.region.is_none() && std::env::var_os("AWS_REGION").is_none() {
                    config = config.region(Region::from_static("us-east-1"));
                }
            }
        }
        let config = aws_sdk_dynamodb::config::Builder::from(&config.load().await);
        // Nobody speaks meanwhile, so a throttled read may take longer than in a call.
        Client::from_conf(log_client(config).retry_config(RetryConfig::standard()).build())
    }
}

fn existing(directory: &Path) -> Result<(), Failure> {
    if directory.is_dir() {
        return Ok(());
    }
    Err(Failure::NotFound(format!("there is no directory {}; check --log", directory.display())))
}

/// Checks that the database is there and can be written: SQLite locks it even to read.
fn writable_database(directory: &Path) -> Result<(), Failure> {
    let file = directory.join(EMBEDDED_FILE);
    let opened = File::options().read(true).write(true).open(&file).and_then(|_| tempfile::tempfile_in(directory));
    match opened.map_err(|error| error.kind()) {
        Ok(_) => Ok(()),
        Err(ErrorKind::NotFound) => Err(Failure::NotFound(format!(
            "there is no database in {}; check --log, or write one with `verbale demo --log embedded:DIR`",
            directory.display()
        ))),
        Err(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => Err(Failure::Denied(format!(
            "access denied: the database in {} and its directory cannot be written, which reading needs, too; \
             change their permissions, or read a copy",
            directory.display()
        ))),
        // The database says what is wrong.
        Err(_) => Ok(()),
    }
}

/// Parses the address of a DynamoDB.
pub fn endpoint(url: &str) -> Result<String, &'static str> {
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    match host {
        Some(host)
            if host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
                && host.chars().all(|c| c.is_ascii_graphic()) =>
        {
            Ok(url.to_owned())
        }
        _ => Err("expected http://HOST[:PORT] or https://HOST[:PORT]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        assert_eq!("dynamodb://calls".parse(), Ok(Place::DynamoDb("calls".to_owned())));
        assert_eq!("dynamodb:calls".parse(), Ok(Place::DynamoDb("calls".to_owned())));
        assert_eq!("embedded:a/b".parse(), Ok(Place::Embedded("a/b".into())));
        assert_eq!("jsonl:/var/calls".parse(), Ok(Place::JsonLines("/var/calls".into())));
        for wrong in ["", "calls", "dynamodb://", "jsonl:", "sqlite:a"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
