//! The pace of answers, by a paused clock.

use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::timeout::{TimeoutConfig, TimeoutConfigBuilder};
use aws_sdk_bedrockruntime::error::SdkError;
use tokio::time::{Instant, timeout};
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::asked::{complete, line, rest, stream, whole};

const FIRST: Duration = Duration::from_millis(700);
const BETWEEN: Duration = Duration::from_millis(30);
const LONG: Duration = Duration::from_secs(3_600);

fn bedrock() -> (FakeBedrock, Client) {
    let bedrock = FakeBedrock::default();
    let client = Client::from_conf(bedrock.sdk_config().build());
    (bedrock, client)
}

fn slow() -> ScriptedReply {
    ScriptedReply::text("One moment, please.").first_token_after(FIRST).between_events(BETWEEN)
}

#[tokio::test(start_paused = true)]
async fn events_arrive_at_their_scripted_times() {
    let (bedrock, client) = bedrock();
    bedrock.reply(slow().usage(1, 1));
    let start = Instant::now();
    let mut events = stream(&client).await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await.unwrap() {
        seen.push((start.elapsed().as_millis(), line(&event)));
    }
    let due = [
        (700, "start assistant"),
        (700, "0 text \"One\""),
        (730, "0 text \" moment,\""),
        (760, "0 text \" please.\""),
        (790, "0 stop"),
        (820, "stop end_turn"),
        (850, "usage 1 1 2 None None, 850 ms"),
    ];
    assert_eq!(seen, due.map(|(at_ms, event)| (at_ms, event.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn answer_in_one_piece_takes_as_long_as_the_stream() {
    let (bedrock, client) = bedrock();
    for reply in [slow(), slow().exception_after(2, "ThrottlingException")] {
        bedrock.reply(reply);
        let start = Instant::now();
        let output = whole(&client).send().await;
        assert_eq!(start.elapsed().as_millis(), 850);
        if let Ok(output) = output {
            assert_eq!(output.metrics.unwrap().latency_ms, 850);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn faults_and_refusals_follow_the_pace() {
    let (bedrock, client) = bedrock();
    for (reply, at_ms) in [
        (slow().exception_after(3, "ModelStreamErrorException"), 760),
        (slow().malformed_after(3), 760),
        (slow().cut_after(3), 760),
        (slow().end_after(3), 730),
    ] {
        bedrock.reply(reply);
        let start = Instant::now();
        rest(stream(&client).await.unwrap()).await;
        assert_eq!(start.elapsed().as_millis(), at_ms);
    }
    bedrock.reply(ScriptedReply::refused("ThrottlingException").first_token_after(FIRST));
    let start = Instant::now();
    assert!(stream(&client).await.is_err());
    assert_eq!(start.elapsed(), FIRST);
}

#[tokio::test(start_paused = true)]
async fn hang_before_the_answer_never_ends() {
    let (bedrock, client) = bedrock();
    for _ in 0..2 {
        bedrock.reply(slow().first_token_after(Duration::MAX));
    }
    assert!(timeout(LONG, stream(&client)).await.is_err());
    assert!(timeout(LONG, whole(&client).send()).await.is_err());
    let counters = bedrock.counters();
    assert_eq!((counters.requests, counters.finished, counters.cancelled), (2, 0, 2));
}

#[tokio::test(start_paused = true)]
async fn sdk_timeouts_end_a_hang() {
    let bedrock = FakeBedrock::default();
    let client = |timeouts: TimeoutConfigBuilder| {
        Client::from_conf(bedrock.sdk_config().timeout_config(timeouts.build()).build())
    };
    for timeouts in [
        TimeoutConfig::builder().read_timeout(FIRST),
        TimeoutConfig::builder().operation_attempt_timeout(FIRST),
        TimeoutConfig::builder().operation_timeout(FIRST),
    ] {
        bedrock.reply(slow().first_token_after(Duration::MAX));
        let start = Instant::now();
        let error = timeout(LONG, stream(&client(timeouts))).await.unwrap().unwrap_err();
        assert_eq!(start.elapsed(), FIRST);
        let is_read_timeout = matches!(&error, SdkError::DispatchFailure(failure) if failure.is_timeout());
        assert!(is_read_timeout || matches!(error, SdkError::TimeoutError(_)), "{error:?}");
    }
    // No timeout of the SDK covers the events after the head.
    bedrock.reply(slow().hang_after(2));
    let mut events = stream(&client(TimeoutConfig::builder().read_timeout(2 * FIRST))).await.unwrap();
    assert!(events.recv().await.unwrap().is_some() && events.recv().await.unwrap().is_some());
    assert!(timeout(LONG, events.recv()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn hang_within_the_answer_never_ends() {
    let (bedrock, client) = bedrock();
    for (events_before, received) in [(0, 0), (2, 2), (99, 7)] {
        bedrock.reply(slow().hang_after(events_before));
        let mut events = stream(&client).await.unwrap();
        for _ in 0..received {
            assert!(events.recv().await.unwrap().is_some());
        }
        assert!(timeout(LONG, events.recv()).await.is_err());
    }
    bedrock.reply(slow().hang_after(2));
    assert!(timeout(LONG, whole(&client).send()).await.is_err());
    assert_eq!(bedrock.counters().cancelled, 4);
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_sessions_run_concurrently() {
    const SESSIONS: u64 = 300;
    let bedrock = FakeBedrock::answering(|_| slow());
    let client = Client::from_conf(bedrock.sdk_config().build());
    let start = Instant::now();
    let mut sessions = tokio::task::JoinSet::new();
    for _ in 0..SESSIONS {
        let client = client.clone();
        sessions.spawn(async move { complete(stream(&client).await.unwrap()).await.len() });
    }
    assert_eq!(sessions.join_all().await, [7; SESSIONS as usize]);
    assert_eq!(start.elapsed().as_millis(), 850);
    let counters = bedrock.counters();
    assert_eq!((counters.connections, counters.requests, counters.finished), (0, SESSIONS, SESSIONS));
    assert_eq!(bedrock.take_requests().len() as u64, SESSIONS);
    assert!(bedrock.requests().is_empty());
}
