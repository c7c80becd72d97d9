//! `verbale table`: creates a table of a log, compares one with `infra/`, and counts what its calls cost.

mod cost;

use std::io::Write;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{KeySchemaElement, PointInTimeRecoveryStatus, TableDescription, TimeToLiveStatus};
use clap::{Args, Subcommand};
use serde::Deserialize;
use verbale::dynamodb::create_table;
use verbale::log::{LogError, LogErrorKind};

use crate::command::{json_line, note};
use crate::failure::{DIFFERENT, EXIT_STATUS, Failure};
use crate::log::LogArguments;
use crate::text::{count, visible};

/// The stack whose table a log should have.
const STACK: &str = include_str!("../../../infra/cloudformation/verbale.json");

/// Creates the table of a log, compares it with the one that `infra/` defines, or counts what its calls cost.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct TableCommand {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Creates the table if it is not there, with its indexes and its time to live, for development and tests.
    ///
    /// A service in production takes its table from `infra/`, which adds backups, protection and policies.
    Create {
        #[command(flatten)]
        log: LogArguments,
    },
    /// Compares the table with `infra/`: keys, indexes, time to live, recovery, protection. The exit status is 6 if
    /// something differs.
    Check {
        #[command(flatten)]
        log: LogArguments,

        /// Prints one JSON object for each difference.
        #[arg(long)]
        json: bool,
    },
    Cost(cost::Arguments),
}

/// The table of a stack, as far as it is compared.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Wanted {
    billing_mode: String,
    key_schema: Vec<Key>,
    global_secondary_indexes: Vec<Index>,
    time_to_live_specification: TimeToLive,
    deletion_protection_enabled: bool,
    point_in_time_recovery_specification: Recovery,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Key {
    attribute_name: String,
    key_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Index {
    index_name: String,
    key_schema: Vec<Key>,
    projection: Projection,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Projection {
    projection_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TimeToLive {
    attribute_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Recovery {
    point_in_time_recovery_enabled: bool,
}

#[derive(serde::Serialize)]
struct Difference<'a> {
    table: &'a str,
    what: &'a str,
    found: &'a str,
    wanted: &'a str,
}

impl TableCommand {
    /// Runs the command. Returns the exit status.
    pub async fn run(self, out: &mut dyn Write) -> Result<u8, Failure> {
        match self.act {
            Act::Create { log } => {
                let (client, name) = log.new_table().await?;
                create_table(&client, name).await?;
                writeln!(out, "table {name} is ready")?;
                Ok(0)
            }
            Act::Check { log, json } => check(&log, json, out).await,
            Act::Cost(arguments) => cost::run(arguments, out).await,
        }
    }
}

async fn check(log: &LogArguments, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let (client, name) = log.table().await?;
    let stack: serde_json::Value = serde_json::from_str(STACK).map_err(std::io::Error::from)?;
    let wanted = stack.pointer("/Resources/Table/Properties").cloned().unwrap_or_default();
    let wanted: Wanted = serde_json::from_value(wanted).map_err(std::io::Error::from)?;
    let found = described(&client, name).await?;
    let mut differences = Differences(Vec::new());
    differences.table(&found, &wanted);
    differences.time_to_live(&client, name, &wanted).await?;
    differences.recovery(&client, name, &wanted).await?;
    for (what, found, wanted) in &differences.0 {
        if json {
            json_line(out, &Difference { table: name, what, found, wanted })?;
        } else {
            writeln!(out, "{what}: {}, not {wanted}", visible(found))?;
        }
    }
    if differences.0.is_empty() {
        note(&format!("table {name} is as infra/ defines it"));
        return Ok(0);
    }
    note(&format!("table {name} has {} from infra/", count(differences.0.len() as u64, "difference")));
    Ok(DIFFERENT)
}

/// The differences: the name of each, how it is, and how it should be.
struct Differences(Vec<(String, String, String)>);

impl Differences {
    fn compare(&mut self, what: impl Into<String>, found: impl Into<String>, wanted: impl Into<String>) {
        let (found, wanted) = (found.into(), wanted.into());
        if found != wanted {
            self.0.push((what.into(), found, wanted));
        }
    }

    fn table(&mut self, found: &TableDescription, wanted: &Wanted) {
        self.compare("keys", keys_of(found.key_schema()), keys(&wanted.key_schema));
        for index in &wanted.global_secondary_indexes {
            let what = format!("index {}", index.index_name);
            let indexes = found.global_secondary_indexes();
            match indexes.iter().find(|found| found.index_name() == Some(&index.index_name)) {
                None => self.compare(what, "missing", keys(&index.key_schema)),
                Some(found) => {
                    self.compare(&what, keys_of(found.key_schema()), keys(&index.key_schema));
                    let projection = found.projection().and_then(|projection| projection.projection_type());
                    let projection = projection.map_or("none", |kind| kind.as_str());
                    self.compare(format!("{what}, attributes"), projection, &index.projection.projection_type);
                }
            }
        }
        let mode = found.billing_mode_summary().and_then(|billing| billing.billing_mode());
        self.compare("billing", mode.map_or("PROVISIONED", |mode| mode.as_str()), &wanted.billing_mode);
        let is_protected = found.deletion_protection_enabled().unwrap_or_default();
        self.compare("protection from deletion", on(is_protected), on(wanted.deletion_protection_enabled));
    }

    async fn time_to_live(&mut self, client: &Client, name: &str, wanted: &Wanted) -> Result<(), Failure> {
        let described = client.describe_time_to_live().table_name(name).send().await;
        let described = described.map_err(|error| failed(name, &error, error.code()))?;
        let found = described.time_to_live_description();
        let is_on =
            |status: &TimeToLiveStatus| matches!(status, TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling);
        let attribute = found
            .filter(|found| found.time_to_live_status().is_some_and(is_on))
            .and_then(|found| found.attribute_name());
        self.compare("time to live", attribute.unwrap_or("off"), &wanted.time_to_live_specification.attribute_name);
        Ok(())
    }

    async fn recovery(&mut self, client: &Client, name: &str, wanted: &Wanted) -> Result<(), Failure> {
        let found = match client.describe_continuous_backups().table_name(name).send().await {
            Ok(output) => output,
            // A local DynamoDB has no backups.
            Err(error) if error.code().is_some_and(|code| code.contains("UnknownOperation")) => {
                self.compare("recovery to a point in time", "unknown to this server", "on");
                return Ok(());
            }
            Err(error) => return Err(failed(name, &error, error.code())),
        };
        let status = found
            .continuous_backups_description()
            .and_then(|backups| backups.point_in_time_recovery_description())
            .and_then(|recovery| recovery.point_in_time_recovery_status());
        let is_on = status == Some(&PointInTimeRecoveryStatus::Enabled);
        let is_wanted = wanted.point_in_time_recovery_specification.point_in_time_recovery_enabled;
        self.compare("recovery to a point in time", on(is_on), on(is_wanted));
        Ok(())
    }
}

async fn described(client: &Client, name: &str) -> Result<TableDescription, Failure> {
    match client.describe_table().table_name(name).send().await {
        Ok(output) => Ok(output.table.unwrap_or_else(|| TableDescription::builder().build())),
        Err(error) => Err(failed(name, &error, error.code())),
    }
}

/// Returns the failure of a request about the table. The request has no words of a caller.
fn failed(name: &str, error: &(dyn std::error::Error + 'static), code: Option<&str>) -> Failure {
    let text = crate::failure::on_one_line(error);
    match code {
        Some("ResourceNotFoundException") => {
            Failure::NotFound(format!("there is no table {name}; `verbale table create` creates one"))
        }
        Some(code) if code.contains("AccessDenied") || code.contains("Token") => {
            Failure::Denied(format!("access denied: table {name} cannot be described: {text}"))
        }
        Some(_) => LogError::backend(format!("describing table {name}"), LogErrorKind::NeedsOperator, text).into(),
        None => LogError::backend(format!("describing table {name}"), LogErrorKind::Unavailable, text).into(),
    }
}

fn on(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn keys(keys: &[Key]) -> String {
    listed(keys.iter().map(|key| (key.attribute_name.as_str(), key.key_type.as_str())))
}

fn keys_of(keys: &[KeySchemaElement]) -> String {
    listed(keys.iter().map(|key| (key.attribute_name(), key.key_type().as_str())))
}

fn listed<'a>(keys: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    keys.map(|(name, kind)| format!("{name} ({kind})")).collect::<Vec<_>>().join(" and ")
}
