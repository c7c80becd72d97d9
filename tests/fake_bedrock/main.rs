//! The stand-in for Bedrock behind the unmodified SDK client, through a socket and without one.
#![cfg(feature = "testing")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

mod answers;
mod asked;
mod counting;
mod faults;
mod inside;
mod timing;
mod validation;

use aws_sdk_bedrockruntime::Client;
use verbale::testing::{FakeBedrock, FakeBedrockServer};

/// The same stand-in through both of its doors. The server lives as long as its client is used.
async fn clients(bedrock: &FakeBedrock) -> [(Client, Option<FakeBedrockServer>); 2] {
    let server = bedrock.serve().await.unwrap();
    let served = Client::from_conf(server.sdk_config().build());
    [(Client::from_conf(bedrock.sdk_config().build()), None), (served, Some(server))]
}
