//! `verbale table cost`: what the calls of a day cost in DynamoDB.

use std::io::Write;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{AttributeValue, ConsumedCapacity, ReturnConsumedCapacity};
use clap::Args;
use serde::{Deserialize, Serialize};
use verbale::dynamodb::create_table;
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, Day};

use super::failed;
use crate::calls::{Calls, Found};
use crate::command::{json_line, note};
use crate::failure::{EXIT_STATUS, Failure};
use crate::log::{EMBEDDED_TABLE, LogArguments};
use crate::progress::Progress;
use crate::text::count;

const PRICES: &str = include_str!("../../../infra/prices.json");
/// The bytes of a read unit.
const READ_UNIT: f64 = 4_096.0;
const GB: f64 = 1_073_741_824.0;

/// Counts what the calls of a day cost in DynamoDB, with the on-demand prices of infra/prices.json.
///
/// Their items are copied into a table in memory, which counts units as DynamoDB does, those of the indexes, too. Each item
/// counts once: an item that is written again, such as for a late playback report, costs its units again. Offloaded contents
/// are not counted.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    #[command(flatten)]
    log: LogArguments,

    /// The day on which the calls started, in UTC, such as 2025-10-20.
    #[arg(long, value_name = "DAY")]
    day: Day,

    /// The tenant of the calls. Without it, calls without a tenant are counted.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,

    /// Counts at most N calls, the newest ones.
    #[arg(long, value_name = "N", default_value = "1000")]
    limit: u64,

    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prices {
    region: String,
    as_of: String,
    dollars_per_million_write_units: f64,
    dollars_per_million_read_units: f64,
    dollars_per_gb_month: f64,
}

/// The cost of some calls.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Costs {
    calls: u64,
    items: u64,
    write_units: f64,
    read_units: f64,
    write_dollars: f64,
    read_dollars: f64,
    /// At most: reading counts units of 4 KB.
    storage_bytes: f64,
    storage_dollars_per_month: f64,
}

/// Counts the costs. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (source, table) = arguments.log.table().await?;
    let copies = EmbeddedDynamo::in_memory()?.client();
    create_table(&copies, EMBEDDED_TABLE).await?;
    let log = arguments.log.open().await?;
    let mut calls = Calls::of_day(&log, Some(arguments.day), arguments.tenant)?;
    let mut progress = Progress::new();
    let mut costs = Costs::default();
    while costs.calls < arguments.limit {
        match calls.next().await? {
            None => break,
            Some(Found::Call(header, _)) => {
                costs.add(&source, table, &copies, header.call_id()).await?;
                progress.add(header.started_ms());
            }
            Some(Found::Unreadable(_) | Found::PageEnd(_)) => {}
        }
    }
    drop(progress);
    let prices: Prices = serde_json::from_str(PRICES).map_err(std::io::Error::from)?;
    costs.price(&prices);
    if arguments.json {
        json_line(out, &costs)?;
    } else if costs.calls == 0 {
        note(&format!("no calls started on {} (UTC); choose another --day", arguments.day));
    } else {
        costs.print(out)?;
        note(&format!(
            "on demand in {}, as of {}; an item that is written again costs its units again",
            prices.region, prices.as_of
        ));
    }
    Ok(0)
}

impl Costs {
    /// Reads the items of a call, and writes each once into the table of copies.
    async fn add(&mut self, source: &Client, table: &str, copies: &Client, call_id: &CallId) -> Result<(), Failure> {
        self.calls += 1;
        let mut pages = source
            .query()
            .table_name(table)
            .consistent_read(true)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", AttributeValue::S(format!("CALL#{call_id}")))
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| failed(table, &error, error.code()))?;
            self.read_units += units(page.consumed_capacity());
            for item in page.items.unwrap_or_default() {
                let written = copies
                    .put_item()
                    .table_name(EMBEDDED_TABLE)
                    .set_item(Some(item))
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
                    .await
                    .map_err(|error| failed(EMBEDDED_TABLE, &error, error.code()))?;
                self.items += 1;
                self.write_units += units(written.consumed_capacity());
            }
        }
        Ok(())
    }

    fn price(&mut self, prices: &Prices) {
        self.storage_bytes = self.read_units * READ_UNIT;
        self.write_dollars = self.write_units / 1e6 * prices.dollars_per_million_write_units;
        self.read_dollars = self.read_units / 1e6 * prices.dollars_per_million_read_units;
        self.storage_dollars_per_month = self.storage_bytes / GB * prices.dollars_per_gb_month;
    }

    fn print(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let calls = self.calls as f64;
        let a_call = |sum: f64, unit: &str| format!("{:.1} {unit}", sum / calls);
        let thousand = |dollars: f64| format!("${:.4}", dollars / calls * 1_000.0);
        let items = count(self.items, "item");
        writeln!(
            out,
            "{:<30}{:>15}{:>15}",
            format!("{} with {items}", count(self.calls, "call")),
            "a call",
            "1,000 calls"
        )?;
        for (what, units, dollars) in [
            ("writing each item once", a_call(self.write_units, "units"), self.write_dollars),
            ("reading it once", a_call(self.read_units, "units"), self.read_dollars),
            ("a month of storage, at most", a_call(self.storage_bytes / 1_024.0, "KB"), self.storage_dollars_per_month),
        ] {
            writeln!(out, "{what:<30}{units:>15}{:>15}", thousand(dollars))?;
        }
        Ok(())
    }
}

fn units(capacity: Option<&ConsumedCapacity>) -> f64 {
    capacity.and_then(ConsumedCapacity::capacity_units).unwrap_or_default()
}
