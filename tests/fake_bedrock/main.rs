//! `FakeBedrock` through the real SDK client, with and without a socket; `ScriptedModel` and `FaultyLog`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

mod answers;
mod asked;
mod counting;
mod document;
mod faults;
mod inside;
mod log;
mod model;
#[path = "../call_log/resumed.rs"]
mod resumed;
mod timing;
mod validation;

use aws_sdk_bedrockruntime::Client;
use verbale::testing::{FakeBedrock, FakeBedrockServer};

/// Returns a client without a socket, and one with a server, which must outlive it.
async fn clients(bedrock: &FakeBedrock) -> [(Client, Option<FakeBedrockServer>); 2] {
    let server = bedrock.serve().await.unwrap();
    let served = Client::from_conf(server.sdk_config().build());
    [(Client::from_conf(bedrock.sdk_config().build()), None), (served, Some(server))]
}
