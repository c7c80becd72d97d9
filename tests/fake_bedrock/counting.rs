//! Counters and connections.

use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use verbale::testing::{FakeBedrock, FakeBedrockServer, RequestCounters, ScriptedReply};

use super::asked::{complete, rest, stream, streaming, whole};
use super::clients;

/// Makes a hanging test fail.
const WATCHDOG: Duration = Duration::from_secs(600);

/// Waits until the counters match.
async fn wait_until(bedrock: &FakeBedrock, is_reached: impl FnMut(&RequestCounters) -> bool) -> RequestCounters {
    let waited = tokio::time::timeout(WATCHDOG, bedrock.until(is_reached)).await;
    waited.unwrap_or_else(|_| panic!("{:?}", bedrock.counters()))
}

async fn served(bedrock: &FakeBedrock) -> (FakeBedrockServer, Client) {
    let server = bedrock.serve().await.unwrap();
    let client = Client::from_conf(server.sdk_config().build());
    (server, client)
}

#[tokio::test]
async fn dropped_stream_counts_as_cancelled() {
    let bedrock = FakeBedrock::default();
    for (before, (client, _server)) in clients(&bedrock).await.into_iter().enumerate() {
        bedrock.reply(ScriptedReply::text("One moment, please.").hang_after(3));
        let mut events = stream(&client).await.unwrap();
        assert!(events.recv().await.unwrap().is_some());
        assert_eq!(bedrock.counters().cancelled, before as u64);
        drop(events);
        let counters = wait_until(&bedrock, |counters| counters.cancelled > before as u64).await;
        assert_eq!((counters.requests, counters.finished), (before as u64 + 1, 0));
    }
}

#[tokio::test]
async fn dropped_request_counts_as_cancelled() {
    let bedrock = FakeBedrock::default();
    for (before, (client, _server)) in clients(&bedrock).await.into_iter().enumerate() {
        bedrock.reply(ScriptedReply::default().first_token_after(Duration::MAX));
        tokio::select! {
            _ = stream(&client) => panic!("it hangs"),
            _ = wait_until(&bedrock, |counters| counters.requests > before as u64) => {}
        }
        wait_until(&bedrock, |counters| counters.cancelled > before as u64).await;
    }
}

#[tokio::test]
async fn connection_is_reused_after_a_complete_answer() {
    let bedrock = FakeBedrock::default();
    let (_server, client) = served(&bedrock).await;
    for _ in 0..2 {
        complete(stream(&client).await.unwrap()).await;
        whole(&client).send().await.unwrap();
    }
    let counters = bedrock.counters();
    assert_eq!((counters.connections, counters.requests, counters.finished), (1, 4, 4));
    assert_eq!(counters.cancelled, 0);

    bedrock.reply(ScriptedReply::text("One moment, please.").hang_after(3));
    drop(stream(&client).await.unwrap());
    complete(stream(&client).await.unwrap()).await;
    assert_eq!(bedrock.counters().connections, 2);
}

#[tokio::test]
async fn connection_is_free_after_the_last_event() {
    let bedrock = FakeBedrock::default();
    let (_server, client) = served(&bedrock).await;
    for _ in 0..20 {
        let mut events = stream(&client).await.unwrap();
        while !events.recv().await.unwrap().unwrap().is_metadata() {}
    }
    let counters = bedrock.counters();
    assert_eq!((counters.finished, counters.cancelled), (20, 0));
    // The connection may become free just after the next request.
    assert!(counters.connections <= 2, "{counters:?}");
}

#[tokio::test]
async fn dropped_server_breaks_its_connections() {
    let bedrock = FakeBedrock::default();
    let (server, client) = served(&bedrock).await;
    bedrock.reply(ScriptedReply::text("One moment, please.").hang_after(3));
    let mut events = stream(&client).await.unwrap();
    for _ in 0..3 {
        assert!(events.recv().await.unwrap().is_some());
    }
    bedrock.reply(ScriptedReply::default().first_token_after(Duration::MAX));
    let waiting = tokio::spawn(streaming(&client).send());
    wait_until(&bedrock, |counters| counters.requests == 2).await;
    drop(server);
    let (_, error) = tokio::time::timeout(WATCHDOG, rest(events)).await.unwrap();
    assert!(error.is_some());
    assert!(waiting.await.unwrap().is_err());
    assert!(stream(&client).await.is_err());
    let counters = wait_until(&bedrock, |counters| counters.cancelled == 2).await;
    assert_eq!((counters.requests, counters.finished), (2, 0));
}

#[tokio::test]
async fn servers_of_one_fake_share_its_script() {
    let bedrock = FakeBedrock::default();
    let ((_one, one), (_two, two)) = (served(&bedrock).await, served(&bedrock).await);
    complete(stream(&one).await.unwrap()).await;
    complete(stream(&two).await.unwrap()).await;
    assert_eq!((bedrock.counters().connections, bedrock.requests().len()), (2, 2));
}
