//! The client bounds no wait but the one for the usage, and the SDK's timeouts for summaries. Tokio's clock is paused.

use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use tokio::time::{Instant, timeout};
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client};
use verbale::model::{Failure, ModelEvent, StopReason};
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::{CLAUDE, ask, claude, fail, question, text};

#[tokio::test(start_paused = true)]
async fn caller_bounds_the_wait_and_dropping_the_answer_cancels_the_request() {
    let bedrock = FakeBedrock::default();
    for reply in [ScriptedReply::text("a b").first_token_after(Duration::MAX), ScriptedReply::text("a b").hang_after(2)]
    {
        bedrock.reply(reply);
        let model = claude(&bedrock);
        assert!(timeout(Duration::from_secs(86_400), ask(&model, question())).await.is_err());
    }
    let counters = bedrock.until(|counters| counters.cancelled == 2).await;
    assert_eq!(counters.requests, 2);
}

#[tokio::test(start_paused = true)]
async fn missing_usage_does_not_fail_the_answer() {
    let bedrock = FakeBedrock::default();
    for reply in [
        ScriptedReply::text("On").hang_after(4),
        ScriptedReply::text("On").cut_after(4),
        ScriptedReply::text("On").end_after(4),
    ] {
        bedrock.reply(reply);
        let from = Instant::now();
        let events = ask(&claude(&bedrock), question()).await.unwrap();
        assert_eq!(events, [text("On"), ModelEvent::Stop(StopReason::EndTurn)]);
        assert!(from.elapsed() <= Duration::from_millis(510));
    }
}

#[tokio::test(start_paused = true)]
async fn summary_ends_at_the_timeout_of_its_client() {
    let bedrock = FakeBedrock::answering(|_| ScriptedReply::text("late").first_token_after(Duration::MAX));
    let client = Client::from_conf(summary_client(bedrock.sdk_config()).build());
    let model = BedrockModel::for_summaries(client, BedrockSettings::new(CLAUDE));
    let from = Instant::now();
    let (failure, _) = fail(&model, question()).await;
    let Failure::TimedOut { after, .. } = failure else { panic!("{failure:?}") };
    assert_eq!((after.as_secs(), from.elapsed().as_secs()), (60, 60));
}
