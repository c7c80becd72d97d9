//! Every wait has a deadline. Tokio's clock is paused.

use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use futures_util::StreamExt;
use tokio::time::Instant;
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client};
use verbale::model::{Failure, Model, ModelEvent, StopReason, Wait};
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::{CLAUDE, ask, claude, fail, for_summaries, for_turns, question, text};

fn short() -> BedrockSettings {
    BedrockSettings::new(CLAUDE)
        .with_first_token_timeout(Duration::from_millis(700))
        .with_event_timeout(Duration::from_millis(300))
        .with_answer_timeout(Duration::from_millis(2_000))
}

fn timed_out(wait: Wait, after_ms: u64) -> Failure {
    Failure::TimedOut { wait, after: Duration::from_millis(after_ms) }
}

#[tokio::test(start_paused = true)]
async fn silence_ends_at_its_deadline() {
    let bedrock = FakeBedrock::new();
    let words =
        |wait_ms: u64| ScriptedReply::text("a b c d e f g h i j").between_events(Duration::from_millis(wait_ms));
    for (reply, failure, took_ms, text_bytes) in [
        (ScriptedReply::text("a b").hang_before(), timed_out(Wait::FirstToken, 700), 700, 0),
        (ScriptedReply::text("a b").hang_after(0), timed_out(Wait::FirstToken, 700), 700, 0),
        // `messageStart` is not a first token.
        (ScriptedReply::text("a b").hang_after(1), timed_out(Wait::FirstToken, 700), 700, 0),
        (
            ScriptedReply::text("a b").first_token_after(Duration::from_millis(701)),
            timed_out(Wait::FirstToken, 700),
            700,
            0,
        ),
        (ScriptedReply::text("a b").hang_after(2), timed_out(Wait::NextEvent, 300), 300, 1),
        (ScriptedReply::text("a b").hang_after(3), timed_out(Wait::NextEvent, 300), 300, 3),
        (words(301), timed_out(Wait::NextEvent, 300), 300, 1),
        // 7 waits of 290 ms exceed the timeout of the answer.
        (words(290), timed_out(Wait::WholeAnswer, 2_000), 2_000, 13),
    ] {
        let model = for_turns(&bedrock, short());
        bedrock.reply(reply.clone());
        let from = Instant::now();
        let (failed, received) = fail(&model, question()).await;
        let took = u64::try_from(from.elapsed().as_millis()).unwrap();
        assert_eq!((failed, received.text_bytes, received.tool_calls), (failure, text_bytes, 0), "{reply:?}");
        assert!((took_ms..took_ms + 10).contains(&took), "{took} ms: {reply:?}");
    }
    let counters = bedrock.until(|counters| counters.cancelled == 8).await;
    assert_eq!(counters.requests, 8);
}

#[tokio::test(start_paused = true)]
async fn slow_answer_within_its_deadlines_succeeds() {
    let bedrock = FakeBedrock::new();
    let model = for_turns(&bedrock, short());
    let slow = ScriptedReply::text("a b").first_token_after(Duration::from_millis(690));
    bedrock.reply(slow.between_events(Duration::from_millis(290)));
    let events = ask(&model, question()).await.unwrap();
    assert_eq!(events[..3], [text("a"), text(" b"), ModelEvent::Stop(StopReason::EndTurn)]);
    assert!(matches!(events[3..], [ModelEvent::Usage(_)]));
}

#[tokio::test(start_paused = true)]
async fn slow_reader_does_not_exceed_a_deadline() {
    let bedrock = FakeBedrock::new();
    let model = for_turns(&bedrock, short());
    bedrock.reply(ScriptedReply::text("a b c").between_events(Duration::from_millis(290)));
    let mut answer = model.generate(question());
    assert_eq!(answer.next().await.unwrap().unwrap(), text("a"));
    tokio::time::sleep(Duration::from_millis(310)).await;
    assert_eq!(answer.next().await.unwrap().unwrap(), text(" b"));
    assert_eq!(answer.next().await.unwrap().unwrap(), text(" c"));
}

#[tokio::test(start_paused = true)]
async fn maximum_timeout_does_not_overflow() {
    let bedrock = FakeBedrock::new();
    let endless = short().with_first_token_timeout(Duration::MAX).with_answer_timeout(Duration::MAX);
    let model = for_turns(&bedrock, endless);
    bedrock.reply(ScriptedReply::text("a").first_token_after(Duration::from_secs(86_400)));
    assert_eq!(ask(&model, question()).await.unwrap()[0], text("a"));
}

#[tokio::test(start_paused = true)]
async fn missing_usage_does_not_fail_the_answer() {
    let bedrock = FakeBedrock::new();
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
async fn summary_ends_at_the_earlier_of_two_deadlines() {
    let bedrock = FakeBedrock::answering(|_| ScriptedReply::text("late").hang_before());
    let model = for_summaries(&bedrock, short());
    assert_eq!(fail(&model, question()).await.0, timed_out(Wait::WholeAnswer, 2_000));

    let patient = short().with_answer_timeout(Duration::from_secs(3_600));
    let client = Client::from_conf(summary_client(bedrock.sdk_config()).build());
    let model = BedrockModel::for_summaries(client, patient);
    let from = Instant::now();
    let (failure, _) = fail(&model, question()).await;
    let Failure::TimedOut { wait: Wait::WholeAnswer, after } = failure else { panic!("{failure:?}") };
    assert_eq!((after.as_secs(), from.elapsed().as_secs()), (60, 60));
}
