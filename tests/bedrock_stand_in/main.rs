//! The stand-in for Bedrock behind the unmodified SDK client, through a socket and without one.
#![cfg(feature = "test-util")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

mod answers;
mod asked;
mod counting;
mod faults;
mod inside;
mod timing;
mod validation;

use aws_sdk_bedrockruntime::Client;
use verbale::bedrock::stand_in::{Server, StandIn};

/// The same stand-in through both of its doors. The server lives as long as its client is used.
async fn clients(stand_in: &StandIn) -> [(Client, Option<Server>); 2] {
    let server = stand_in.serve().await.unwrap();
    let served = Client::from_conf(server.sdk_config().build());
    [(Client::from_conf(stand_in.sdk_config().build()), None), (served, Some(server))]
}
