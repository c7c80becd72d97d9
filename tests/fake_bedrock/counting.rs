//! What a stand-in counts, and what becomes of its connections.

use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use verbale::testing::{FakeBedrock, FakeBedrockServer, RequestCounters, ScriptedReply};

use super::asked::{rest, stream, streaming, told, whole};
use super::clients;

/// So that a test fails where it would hang.
const WATCHDOG: Duration = Duration::from_secs(600);

/// What has come and gone, once it is so.
async fn soon(bedrock: &FakeBedrock, is_reached: impl FnMut(&RequestCounters) -> bool) -> RequestCounters {
    let waited = tokio::time::timeout(WATCHDOG, bedrock.until(is_reached)).await;
    waited.unwrap_or_else(|_| panic!("{:?}", bedrock.counters()))
}

async fn served(bedrock: &FakeBedrock) -> (FakeBedrockServer, Client) {
    let server = bedrock.serve().await.unwrap();
    let client = Client::from_conf(server.sdk_config().build());
    (server, client)
}

#[tokio::test]
async fn a_stream_that_is_dropped_is_seen_as_cancelled() {
    let bedrock = FakeBedrock::new();
    for (before, (client, _server)) in clients(&bedrock).await.into_iter().enumerate() {
        bedrock.reply(ScriptedReply::text("One moment, please.").hang_after(3));
        let mut events = stream(&client).await.unwrap();
        assert!(events.recv().await.unwrap().is_some());
        assert_eq!(bedrock.counters().cancelled, before as u64);
        drop(events);
        let counters = soon(&bedrock, |counters| counters.cancelled > before as u64).await;
        assert_eq!((counters.requests, counters.finished), (before as u64 + 1, 0));
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_is_seen_as_cancelled() {
    let bedrock = FakeBedrock::new();
    for (before, (client, _server)) in clients(&bedrock).await.into_iter().enumerate() {
        bedrock.reply(ScriptedReply::default().hang_before());
        tokio::select! {
            _ = stream(&client) => panic!("it hangs"),
            _ = soon(&bedrock, |counters| counters.requests > before as u64) => {}
        }
        soon(&bedrock, |counters| counters.cancelled > before as u64).await;
    }
}

#[tokio::test]
async fn a_connection_that_was_read_to_the_end_serves_again() {
    let bedrock = FakeBedrock::new();
    let (_server, client) = served(&bedrock).await;
    for _ in 0..2 {
        told(stream(&client).await.unwrap()).await;
        whole(&client).send().await.unwrap();
    }
    let counters = bedrock.counters();
    assert_eq!((counters.connections, counters.requests, counters.finished), (1, 4, 4));
    assert_eq!(counters.cancelled, 0);

    bedrock.reply(ScriptedReply::text("One moment, please.").hang_after(3));
    drop(stream(&client).await.unwrap());
    told(stream(&client).await.unwrap()).await;
    assert_eq!(bedrock.counters().connections, 2);
}

#[tokio::test]
async fn a_connection_comes_back_behind_the_last_event() {
    let bedrock = FakeBedrock::new();
    let (_server, client) = served(&bedrock).await;
    for _ in 0..20 {
        let mut events = stream(&client).await.unwrap();
        while !events.recv().await.unwrap().unwrap().is_metadata() {}
    }
    let counters = bedrock.counters();
    assert_eq!((counters.finished, counters.cancelled), (20, 0));
    // Two, for it comes back a moment later than the next one is asked for.
    assert!(counters.connections <= 2, "{counters:?}");
}

#[tokio::test]
async fn a_server_that_is_dropped_breaks_what_is_on_its_way_and_listens_no_more() {
    let bedrock = FakeBedrock::new();
    let (server, client) = served(&bedrock).await;
    bedrock.reply(ScriptedReply::text("One moment, please.").hang_after(3));
    let mut events = stream(&client).await.unwrap();
    for _ in 0..3 {
        assert!(events.recv().await.unwrap().is_some());
    }
    bedrock.reply(ScriptedReply::default().hang_before());
    let waiting = tokio::spawn(streaming(&client).send());
    soon(&bedrock, |counters| counters.requests == 2).await;
    drop(server);
    let (_, error) = tokio::time::timeout(WATCHDOG, rest(events)).await.unwrap();
    assert!(error.is_some());
    assert!(waiting.await.unwrap().is_err());
    assert!(stream(&client).await.is_err());
    let counters = soon(&bedrock, |counters| counters.cancelled == 2).await;
    assert_eq!((counters.requests, counters.finished), (2, 0));
}

#[tokio::test]
async fn two_servers_of_one_stand_in_share_its_script() {
    let bedrock = FakeBedrock::new();
    let ((_one, one), (_two, two)) = (served(&bedrock).await, served(&bedrock).await);
    told(stream(&one).await.unwrap()).await;
    told(stream(&two).await.unwrap()).await;
    assert_eq!((bedrock.counters().connections, bedrock.requests().len()), (2, 2));
}
