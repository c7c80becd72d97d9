//! The contract over HTTP, against DynamoDB as others wrote it: moto and dynalite.
//!
//! Where they are is said by the environment, which `.ci/run` sets once it has started them: `VERBALE_MOTO_URL`,
//! `VERBALE_DYNALITE_URL`, and in `VERBALE_MOTO_TABLES` the names, parted by spaces, of the empty tables in moto that
//! the templates in `infra/` made. What is not said is skipped. A line `held: …` on standard output tells what was
//! done, so that a skip is not taken for a success.

#![allow(clippy::print_stdout, reason = "what was tested and what was skipped is for `.ci/run` to see")]

use std::future::Future;
use std::net::TcpListener;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region, SharedHttpClient};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use serde_json::json;
use verbale::clock::{Clock, IdSource, SystemClock, SystemIds};
use verbale::dynamodb::{Creation, DynamoLog, Table, create_table, log_client};
use verbale::log::CallLog;
use verbale::{MessageId, Record};

use super::conformance::{self, call, first, message, put};
use super::{history, old_items};

/// Each makes dozens of requests, of which moto answers some hundred a second.
const HISTORIES: u32 = 16;

#[test]
fn moto_keeps_the_contract() {
    let Some(url) = said("VERBALE_MOTO_URL") else { return };
    let table = new_table(&client(&url));
    keeps_the_contract("moto", || DynamoLog::new(client(&url)).with_table(table.as_str()));
}

#[test]
fn moto_keeps_the_contract_in_the_tables_of_the_templates() {
    let (Some(url), Some(tables)) = (said("VERBALE_MOTO_URL"), said("VERBALE_MOTO_TABLES")) else { return };
    for table in tables.split_whitespace() {
        let made =
            on_a_runtime(async { create_table(&client(&url), &Table::default().with_name(table)).await.unwrap() });
        assert_eq!(made, Creation::AlreadyThere, "{table} is none of a template");
        keeps_the_contract(table, || DynamoLog::new(client(&url)).with_table(table));
    }
}

#[test]
fn dynalite_keeps_the_contract() {
    let Some(url) = said("VERBALE_DYNALITE_URL") else { return };
    let client = || client_over(old_items::given_back_by(http()), &url);
    let table = new_table(&client());
    keeps_the_contract("dynalite", || DynamoLog::new(client()).with_table(table.as_str()));
}

#[tokio::test]
async fn when_nobody_listens_it_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let log = DynamoLog::new(client(&url));
    assert!(log.put_record(&first(&call("CA1")), &message(0, 1)).await.unwrap_err().is_retryable());
    assert!(log.read_call(&call("CA1")).await.unwrap_err().is_retryable());
}

/// The value of an environment variable, or the reason why there is nothing to do.
fn said(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        println!("skipped: {variable} is not set, which .ci/run does");
    }
    value
}

/// `log` gives a log in one empty table, with a client of its own: connections belong to the runtime that opened them.
fn keeps_the_contract(name: &str, log: impl Fn() -> DynamoLog) {
    on_a_runtime(async {
        {
            let clock = conformance::clock();
            conformance::all(&log().with_clock(clock.clone()), &clock).await
        }
    });
    history::check(HISTORIES, &log());
    on_a_runtime(async { a_long_call_comes_in_pages(&log()).await });
    println!("held: {name}");
}

/// DynamoDB gives 1 MB a page.
async fn a_long_call_comes_in_pages(log: &DynamoLog) {
    let call_id = call("pages");
    let records = [0, 1, 2, 3, 4, 5].map(long);
    put(log, &call_id, &records).await;
    let before = log.cost();
    let found = log.read_call(&call_id).await.unwrap();
    let cost = log.cost() - before;
    assert!(found.records == records);
    assert!(cost.requests > 1, "{cost}");
}

/// A message of some 350 KB.
fn long(seq: u32) -> Record {
    let mut json = serde_json::to_value(message(seq, 1)).unwrap();
    json["message"]["contents"] = json!(["x".repeat(350_000)]);
    serde_json::from_value(json).unwrap()
}

fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// The name of a table that nobody had before, so that an emulator can be used again.
fn new_table(client: &Client) -> String {
    let id = MessageId::from(SystemIds.next_id(SystemClock.now_ms()));
    let table = Table::default().with_name(format!("verbale-{id}"));
    on_a_runtime(async { create_table(client, &table).await.unwrap() });
    table.name
}

fn client(url: &str) -> Client {
    client_over(http(), url)
}

fn client_over(http: SharedHttpClient, url: &str) -> Client {
    let config = log_client(Config::builder())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(url)
        .http_client(http)
        .build();
    Client::from_conf(config)
}

/// The SDK's own, except that it asks no proxy of the environment.
fn http() -> SharedHttpClient {
    let tls = tls::Provider::Rustls(CryptoMode::AwsLc);
    aws_smithy_http_client::Builder::new().tls_provider(tls).build_https()
}
