//! What is sent when, tried again, cancelled, and over which connection.

use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use futures_util::StreamExt;
use tokio::time::Instant;
use verbale::bedrock::{BedrockModel, BedrockSettings, TURN_BACKOFF, turn_client};
use verbale::model::{Failure, Model};
use verbale::testing::{BedrockException, FakeBedrock, ScriptedReply};

use super::{CLAUDE, ask, claude, fail, for_summaries, question, text};

#[tokio::test]
async fn nothing_is_sent_before_it_is_polled() {
    let bedrock = FakeBedrock::new();
    drop(claude(&bedrock).generate(question()));
    assert_eq!(bedrock.counters().requests, 0);
}

#[tokio::test]
async fn dropping_the_answer_cancels_the_request() {
    let bedrock = FakeBedrock::new();
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
async fn dropping_it_before_the_answer_cancels_the_request() {
    let bedrock = FakeBedrock::new();
    bedrock.reply(ScriptedReply::text("a").hang_before());
    let model = claude(&bedrock);
    let mut answer = model.generate(question());
    assert!(tokio::time::timeout(Duration::from_millis(10), answer.next()).await.is_err());
    assert_eq!(bedrock.counters().requests, 1);
    drop(answer);
    bedrock.until(|counters| counters.cancelled == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_tried_twice_and_soon() {
    let bedrock = FakeBedrock::new();
    let model = claude(&bedrock);
    bedrock.reply(ScriptedReply::throttled());
    bedrock.reply(ScriptedReply::text("On"));
    let from = Instant::now();
    assert_eq!(ask(&model, question()).await.unwrap()[0], text("On"));
    assert!(from.elapsed() <= TURN_BACKOFF + Duration::from_millis(10), "{:?}", from.elapsed());
    assert_eq!(bedrock.counters().requests, 2);

    let busy = FakeBedrock::answering(|_| ScriptedReply::throttled());
    assert_eq!(fail(&claude(&busy), question()).await.0, Failure::Throttled);
    assert_eq!(busy.counters().requests, 2);
    assert_eq!(fail(&for_summaries(&busy, BedrockSettings::new(CLAUDE)), question()).await.0, Failure::Throttled);
    assert_eq!(busy.counters().requests, 5);
}

#[tokio::test(start_paused = true)]
async fn turns_have_a_budget_for_retries_that_nothing_else_uses_up() {
    let busy = FakeBedrock::answering(|_| ScriptedReply::throttled());
    let retries = RetryConfig::standard().with_initial_backoff(TURN_BACKOFF);
    let others = Client::from_conf(busy.sdk_config().retry_config(retries).build());
    let others = BedrockModel::for_turns(others, BedrockSettings::new(CLAUDE));
    for _ in 0..200 {
        fail(&others, question()).await;
    }
    let before = busy.counters().requests;
    fail(&others, question()).await;
    assert_eq!(busy.counters().requests, before + 1, "their budget is used up");
    fail(&claude(&busy), question()).await;
    assert_eq!(busy.counters().requests, before + 3);
}

#[tokio::test]
async fn behind_the_first_words_nothing_is_tried_again() {
    let bedrock = FakeBedrock::new();
    bedrock.reply(ScriptedReply::text("a b").exception_after(2, BedrockException::Throttling));
    let (failure, received) = fail(&claude(&bedrock), question()).await;
    assert_eq!((failure, received.text_bytes), (Failure::Throttled, 1));
    assert_eq!(bedrock.counters().requests, 1);
}

#[tokio::test]
async fn an_answer_that_is_read_to_its_end_leaves_its_connection_to_the_next() {
    let bedrock = FakeBedrock::new();
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
