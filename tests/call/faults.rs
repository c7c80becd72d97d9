//! Every fault of Bedrock, in turns and in summaries, through the real SDK client. The caller gets an answer or an apology
//! in time, the conversation stays valid, and the next turn works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use serde_json::json;
use tokio::time::Instant;
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::call::{CallBuilder, ReplyEnd};
use verbale::clock::SequentialIds;
use verbale::memory::ModelSummarizer;
use verbale::model::{Tool, ToolContext, ToolSpec};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Policy, Value};

use crate::support::{TokioClock, pass, read, shown, turn};

const MODEL_ID: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
const ANSWER: &str = "Your balance is twelve euros and fifty cents.";

fn model(bedrock: &FakeBedrock) -> BedrockModel {
    let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
    BedrockModel::for_turns(client, BedrockSettings::new(MODEL_ID))
}

fn builder(bedrock: &FakeBedrock) -> CallBuilder {
    let clock = Arc::new(TokioClock(Instant::now()));
    CallBuilder::new(model(bedrock))
        .system("You answer the phone of a bank.")
        .clock(clock, Arc::new(SequentialIds::default()))
}

/// Each fault, its reply, and whether words arrive before it.
fn faults() -> Vec<(&'static str, ScriptedReply, bool)> {
    let text = || ScriptedReply::text(ANSWER);
    vec![
        ("throttled", ScriptedReply::refused("ThrottlingException"), false),
        ("unavailable", ScriptedReply::refused("ServiceUnavailableException"), false),
        ("internal error", ScriptedReply::refused("InternalServerException"), false),
        ("access denied", ScriptedReply::refused("AccessDeniedException"), false),
        ("validation", ScriptedReply::validation("The model does not like it."), false),
        ("model timeout", ScriptedReply::refused("ModelTimeoutException"), false),
        ("model not ready", ScriptedReply::refused("ModelNotReadyException"), false),
        ("bad gateway", ScriptedReply::bad_gateway(), false),
        ("hang before", text().first_token_after(Duration::MAX), false),
        ("hang at once", text().hang_after(0), false),
        ("hang in the answer", text().hang_after(4), true),
        ("cut at once", text().cut_after(0), false),
        ("cut in the answer", text().cut_after(4), true),
        ("end at once", text().end_after(0), false),
        ("end in the answer", text().end_after(4), true),
        ("malformed at once", text().malformed_after(0), false),
        ("malformed in the answer", text().malformed_after(4), true),
        ("throttled in the answer", text().exception_after(4, "ThrottlingException"), true),
        ("internal error in the answer", text().exception_after(4, "InternalServerException"), true),
        ("model stream error at once", text().exception_after(0, "ModelStreamErrorException"), false),
        ("validation in the answer", text().exception_after(4, "ValidationException"), true),
        ("unavailable in the answer", text().exception_after(4, "ServiceUnavailableException"), true),
        ("slow", text().first_token_after(Duration::from_secs(60)), false),
        ("a tool call that is no JSON", ScriptedReply::text("").tool_call("c1", "balance", "{\"id\":"), false),
    ]
}

#[tokio::test(start_paused = true)]
async fn fault_in_a_turn_leads_to_an_apology_in_time() {
    for (fault, reply, speaks) in faults() {
        let is_broken = Arc::new(AtomicBool::new(false));
        let breaks = is_broken.clone();
        let bedrock = FakeBedrock::answering(move |_| match breaks.load(Ordering::SeqCst) {
            true => reply.clone(),
            false => ScriptedReply::text("It is 12.50."),
        });
        let call = builder(&bedrock).open().unwrap();
        turn(&call, "Hello").await;
        is_broken.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        call.caller_said("What is my balance?").unwrap();
        let answer = call.reply().unwrap();
        let speech = answer.speech();
        let (text, end) = read(answer).await;
        assert!(matches!(end, ReplyEnd::Failed(Some(_))), "{fault}: {end:?}");
        assert!(text.ends_with("Could you say that again, please?"), "{fault}: {text}");
        assert_eq!(text.contains("Your"), speaks, "{fault}: {text}");
        assert!(begun.elapsed() <= Duration::from_secs(20), "{fault}: {:?}", begun.elapsed());
        if !speaks {
            assert!(begun.elapsed() <= Duration::from_secs(8), "{fault}: {:?}", begun.elapsed());
        }
        call.playback_started(speech, call.now_ms());
        call.playback_finished(speech, call.now_ms() + 3_000);
        // The fault is over.
        is_broken.store(false, Ordering::SeqCst);
        assert_eq!(turn(&call, "My balance, please").await.0, "It is 12.50.", "{fault}");
        assert_eq!(bedrock.counters().refused, 0, "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn barge_in_closes_the_stream_of_bedrock_at_once() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text(ANSWER).between_events(Duration::from_secs(1)));
    let call = builder(&bedrock).open().unwrap();
    call.caller_said("What is my balance?").unwrap();
    let mut answer = call.reply().unwrap();
    answer.next().await;
    assert_eq!(bedrock.counters().cancelled, 0);
    call.caller_started_speaking(call.now_ms());
    let seen = bedrock.until(|counters| counters.cancelled == 1);
    assert!(tokio::time::timeout(Duration::from_millis(1), seen).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn transient_faults_are_retried_once() {
    for fault in ["throttled", "unavailable", "bad gateway", "cut at once", "end at once"] {
        let bedrock = FakeBedrock::default();
        let (_, reply, _) = faults().into_iter().find(|(name, ..)| *name == fault).unwrap();
        bedrock.reply(reply);
        bedrock.reply(ScriptedReply::text(ANSWER));
        let call = builder(&bedrock).open().unwrap();
        call.caller_said("What is my balance?").unwrap();
        let begun = Instant::now();
        let (text, end) = read(call.reply().unwrap()).await;
        assert!(matches!(end, ReplyEnd::Complete(_)), "{fault}: {end:?}");
        assert_eq!(text, ANSWER, "{fault}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{fault}");
        assert_eq!(bedrock.counters().requests, 2, "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn fault_in_a_summary_keeps_the_window_bounded() {
    for (fault, reply, _) in faults() {
        let turns = FakeBedrock::answering(|_| ScriptedReply::text(ANSWER));
        let summaries = FakeBedrock::answering(move |_| reply.clone());
        let client = Client::from_conf(summary_client(summaries.sdk_config()).build());
        let summarizer = ModelSummarizer::new(BedrockModel::for_summaries(client, BedrockSettings::new(MODEL_ID)));
        let policy = Policy::default().with_tokens(None).with_messages(2..=6).with_keep_turns(1);
        let call = builder(&turns).config(|config| config.with_policy(policy)).summarizer(summarizer).open().unwrap();
        for _ in 0..12 {
            let begun = Instant::now();
            let said = "I would like to know what became of my last order, which I made three weeks ago.";
            assert_eq!(turn(&call, said).await.0, ANSWER, "{fault}");
            assert!(begun.elapsed() < Duration::from_millis(1_100), "{fault}: {:?}", begun.elapsed());
            pass(5_000).await;
        }
        pass(60_000).await;
        turn(&call, "Thank you.").await;
        assert!(summaries.counters().requests > 0, "{fault}");
        let summaries = shown(&call).iter().filter(|line| line.starts_with("summary")).count();
        assert!(summaries > 1, "{fault}");
        assert!(call.conversation().read(|manager| manager.messages().count()) < 12, "{fault}");
        assert_eq!(turns.counters().refused, 0, "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_with_tools_and_summaries_stay_valid() {
    let turns = FakeBedrock::answering(|request| {
        if request.last_text().is_some() && request.number() % 3 == 0 {
            ScriptedReply::text("One moment. ").tool_call(
                format!("c{}", request.number()),
                "balance",
                json!({ "id": 7 }),
            )
        } else {
            ScriptedReply::text(ANSWER).usage(400, 12).cached(300, 0)
        }
    });
    let summaries = FakeBedrock::answering(|_| {
        ScriptedReply::text("The caller asked for the balance, which is 12.50.").usage(900, 30)
    });
    let client = Client::from_conf(summary_client(summaries.sdk_config()).build());
    let summarizer = ModelSummarizer::new(BedrockModel::for_summaries(client, BedrockSettings::new(MODEL_ID)));
    let policy = Policy::default().with_tokens(None).with_messages(2..=8).with_keep_turns(1);
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    let balance = |_: Value, _: ToolContext| async { Ok(vec!["12.50".into()]) };
    let call = builder(&turns)
        .config(|config| config.with_policy(policy))
        .summarizer(summarizer)
        .tool(Tool::raw(ToolSpec::new("balance", "The balance of an account.", schema).unwrap(), balance))
        .open()
        .unwrap();
    for _ in 0..20 {
        turn(&call, "And now, what is my balance, after what I have just told you about it?").await;
        pass(1_000).await;
    }
    assert_eq!((turns.counters().refused, summaries.counters().refused), (0, 0));
    assert!(summaries.counters().requests > 2);
    let metrics = call.conversation().metrics();
    assert!(metrics.usage.cache_read_tokens > 0 && metrics.summary_usage.input_tokens > 0, "{metrics}");
}
