//! [`LogArguments`]: the log that a command reads.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Credentials;
use clap::Args;
use verbale::dynamodb::{DynamoContents, DynamoLog, log_client};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallLog, JsonLines, Offloading};

use crate::failure::Failure;

/// The table of `verbale demo`.
const EMBEDDED_TABLE: &str = "verbale";

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
    #[arg(long, value_name = "URL")]
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
        let (client, table) = match &self.log {
            Place::JsonLines(directory) => {
                self.existing(directory)?;
                return Ok(Arc::new(JsonLines::new(directory)));
            }
            Place::Embedded(directory) => {
                self.existing(directory)?;
                (EmbeddedDynamo::open(directory)?.client(), EMBEDDED_TABLE)
            }
            Place::DynamoDb(table) => (self.client().await, table.as_str()),
        };
        let contents = DynamoContents::new(client.clone()).with_table(table);
        Ok(Arc::new(Offloading::new(DynamoLog::new(client).with_table(table), contents)))
    }

    fn existing(&self, directory: &std::path::Path) -> Result<(), Failure> {
        if directory.is_dir() {
            return Ok(());
        }
        Err(Failure::NotFound(format!("there is no directory {}; check --log", directory.display())))
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
        Client::from_conf(log_client(config).build())
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
