//! The contract over HTTP, against two emulators of DynamoDB: moto and dynalite.
//!
//! `.ci/run` starts the emulators and sets their addresses in `VERBALE_MOTO_URL` and `VERBALE_DYNALITE_URL`.
//! `VERBALE_MOTO_TABLES` has the names, separated by spaces, of the empty tables in moto that the templates in `infra/`
//! created. A test without its variable is skipped. A line `held: …` on standard output reports each completed check, so
//! that a skip does not count as a success.

#![allow(clippy::print_stdout, reason = "`.ci/run` reads which checks ran")]

use std::future::Future;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region, SharedHttpClient};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use serde_json::json;
use tokio::net::TcpSocket;
use verbale::clock::{Clock, IdSource, SystemClock, SystemIds};
use verbale::dynamodb::{DynamoLog, create_table, log_client};
use verbale::log::CallLog;
use verbale::testing::call_log_conformance;
use verbale::{MessageId, Record};

use super::support::{call, first, message, put};
use super::{history, old_items};
use crate::seeded::Seeded;

/// A history makes dozens of requests, and moto serves about a hundred per second.
const HISTORIES: u32 = 16;

#[test]
fn moto_keeps_the_contract() {
    let Some(url) = env("VERBALE_MOTO_URL") else { return };
    let table = new_table(&client(&url));
    keeps_the_contract("moto", || DynamoLog::new(client(&url)).with_table(table.as_str()));
}

#[test]
fn moto_keeps_the_contract_in_tables_of_the_templates() {
    let (Some(url), Some(tables)) = (env("VERBALE_MOTO_URL"), env("VERBALE_MOTO_TABLES")) else { return };
    for table in tables.split_whitespace() {
        block_on(async {
            let client = client(&url);
            let found = client.describe_table().table_name(table).send().await;
            assert!(found.is_ok(), "no template created table {table}");
            create_table(&client, table).await.unwrap();
        });
        keeps_the_contract(table, || DynamoLog::new(client(&url)).with_table(table));
    }
}

#[test]
fn dynalite_keeps_the_contract() {
    let Some(url) = env("VERBALE_DYNALITE_URL") else { return };
    let client = || client_over(old_items::returned_by(http()), &url);
    let table = new_table(&client());
    keeps_the_contract("dynalite", || DynamoLog::new(client()).with_table(table.as_str()));
}

#[tokio::test]
async fn refused_connection_is_retryable() {
    // Nobody listens at a port that is only bound, and nobody else can take it.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    let log = DynamoLog::new(client(&url));
    assert!(log.put_record(&first(&call("CA1")), &message(0, 1)).await.unwrap_err().is_retryable());
    assert!(log.read_call(&call("CA1")).await.unwrap_err().is_retryable());
}

/// Returns the value of an environment variable, or prints that its test is skipped.
fn env(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        println!("skipped: {variable} is not set, which .ci/run does");
    }
    value
}

/// Checks a log in an empty table. `log` returns it with a new client, because connections belong to the runtime that
/// opened them.
fn keeps_the_contract(name: &str, log: impl Fn() -> DynamoLog) {
    block_on(async {
        let checked = log();
        call_log_conformance(async |clock| checked.clone().with_clock(clock)).await;
    });
    history::check(HISTORIES, log());
    block_on(async { long_call_is_read_in_pages(&log()).await });
    println!("held: {name}");
}

/// DynamoDB returns up to 1 MB per page.
async fn long_call_is_read_in_pages(log: &DynamoLog) {
    let call_id = call("pages");
    let records = [0, 1, 2, 3, 4, 5].map(long);
    put(log, &call_id, &records).await;
    let before = log.cost();
    let found = log.read_call(&call_id).await.unwrap();
    let cost = log.cost() - before;
    assert!(found.records == records);
    assert!(cost.requests > 1, "{cost}");
}

/// Returns a message of about 350 KB, which hardly become fewer by compression.
fn long(seq: u32) -> Record {
    let mut json = serde_json::to_value(message(seq, 1)).unwrap();
    json["message"]["contents"] = json!([noise(350_000)]);
    serde_json::from_value(json).unwrap()
}

fn noise(bytes: usize) -> String {
    let randomness = Seeded::from(1);
    (0..bytes).map(|_| char::from(b'0' + (randomness.next_u64() >> 58) as u8)).collect()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Creates a table with a unique name, so that an emulator can be reused, and returns the name.
fn new_table(client: &Client) -> String {
    let id = MessageId::from(SystemIds.next_id(SystemClock.now_ms()));
    let name = format!("verbale-{id}");
    block_on(async { create_table(client, &name).await.unwrap() });
    name
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

/// Returns an HTTP client like that of the SDK, but without the proxies of the environment.
fn http() -> SharedHttpClient {
    let tls = tls::Provider::Rustls(CryptoMode::AwsLc);
    aws_smithy_http_client::Builder::new().tls_provider(tls).build_https()
}
