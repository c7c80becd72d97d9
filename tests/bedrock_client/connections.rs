//! The time of sending, retries, cancellation and connections.

use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use futures_util::StreamExt;
use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
use verbale::model::{Failure, Model};
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::{CLAUDE, ask, claude, fail, for_summaries, question, text};

#[tokio::test]
async fn request_is_sent_when_the_answer_is_polled() {
    let bedrock = FakeBedrock::default();
    drop(claude(&bedrock).generate(question()));
    assert_eq!(bedrock.counters().requests, 0);
}

#[tokio::test]
async fn dropping_the_answer_cancels_the_request() {
    let bedrock = FakeBedrock::default();
    let server = bedrock.serve().await.unwrap();
    let served = Client::from_conf(turn_client(server.sdk_config()).build());
    let served = BedrockModel::for_turns(served, BedrockSettings::new(CLAUDE));
    for (cancelled, model) in [(1, claude(&bedrock)), (2, served)] {
        bedrock.reply(ScriptedReply::text("a b c").hang_after(3));
        let mut answer = model.generate(question());
        assert_eq!(answer.next().await.unwrap().unwrap(), text("a"));
        assert_eq!(answer.next().await.unwrap().unwrap(), text(" b"));
        drop(answer);
        let counters = bedrock.until(|counters| counters.cancelled == cancelled).await;
        assert_eq!((counters.requests, counters.finished), (cancelled, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_before_the_answer_cancels_the_request() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("a").first_token_after(Duration::MAX));
    let model = claude(&bedrock);
    let mut answer = model.generate(question());
    assert!(tokio::time::timeout(Duration::from_millis(10), answer.next()).await.is_err());
    assert_eq!(bedrock.counters().requests, 1);
    drop(answer);
    bedrock.until(|counters| counters.cancelled == 1).await;
}

#[tokio::test(start_paused = true)]
async fn turn_is_sent_once_and_its_error_says_whether_to_retry() {
    let throttled = || ScriptedReply::refused("ThrottlingException");
    let in_stream = |events| ScriptedReply::text("On Friday").exception_after(events, "ThrottlingException");
    for (reply, text_bytes) in [(throttled(), 0), (in_stream(0), 0), (in_stream(1), 0), (in_stream(2), 2)] {
        let bedrock = FakeBedrock::default();
        bedrock.reply(reply);
        let (_, error) = ask(&claude(&bedrock), question()).await.unwrap_err();
        assert_eq!((error.kind(), super::received(&error).0), (&Failure::Throttled, text_bytes));
        assert!(error.is_retryable());
        assert_eq!(bedrock.counters().requests, 1);
    }
    let busy = FakeBedrock::answering(|_| ScriptedReply::refused("ThrottlingException"));
    assert_eq!(fail(&for_summaries(&busy, BedrockSettings::new(CLAUDE)), question()).await.0, Failure::Throttled);
    assert_eq!(busy.counters().requests, 3);
}

#[tokio::test]
async fn answer_is_not_retried_after_its_first_text() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("a b").exception_after(2, "ThrottlingException"));
    let (failure, received) = fail(&claude(&bedrock), question()).await;
    assert_eq!((failure, received.0), (Failure::Throttled, 1));
    assert_eq!(bedrock.counters().requests, 1);
}

#[tokio::test]
async fn connection_is_reused_after_a_complete_answer() {
    let bedrock = FakeBedrock::default();
    let server = bedrock.serve().await.unwrap();
    let client = Client::from_conf(turn_client(server.sdk_config()).build());
    let model = BedrockModel::for_turns(client, BedrockSettings::new(CLAUDE));
    for _ in 0..4 {
        ask(&model, question()).await.unwrap();
    }
    assert_eq!(bedrock.counters().connections, 1);
    bedrock.reply(ScriptedReply::text("a b").cut_after(2));
    fail(&model, question()).await;
    ask(&model, question()).await.unwrap();
    assert_eq!(bedrock.counters().connections, 2);
}
