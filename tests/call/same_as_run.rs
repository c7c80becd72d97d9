//! Live calls and runs share one engine: a scripted model leaves the same log in both.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;
use verbale::call::{CallBuilder, CallSettings};
use verbale::clock::SequentialIds;
use verbale::conversation::{Config, Conversation, Models};
use verbale::log::CallId;
use verbale::message::{Record, TurnRecord};
use verbale::model::{Failure, StopReason, Tool, ToolContext, ToolError, ToolSpec};
use verbale::{MessagesManager, PlainMessage, Policy, Value};

use crate::support::{Scripted, Step, TokioClock, pass, read};

/// One answer of the model.
fn answer() -> impl Strategy<Value = Vec<Step>> {
    let stop = |reason| vec![Step::Stop(reason), Step::Use(7)];
    let text = prop_oneof![3 => Just("It is done. "), 1 => Just(""), 1 => Just(" \n")];
    let calls = prop::collection::vec(
        (prop::sample::select(vec!["c1", "c2"]), prop::sample::select(vec!["quick", "slow", "fails", "nobody"])),
        0..3,
    );
    let end = prop_oneof![
        6 => Just(stop(StopReason::EndTurn)),
        1 => Just(stop(StopReason::MaxTokens)),
        1 => Just(stop(StopReason::Filtered)),
        1 => Just(vec![Step::Fail(Failure::Throttled)]),
        1 => Just(vec![Step::Fail(Failure::Cut)]),
        1 => Just(vec![Step::Hang]),
        1 => Just(vec![]),
    ];
    (text, calls, end).prop_map(|(text, calls, end)| {
        let text = (!text.is_empty()).then_some(Step::Say(text));
        let calls = calls.into_iter().map(|(id, tool)| Step::Call(id, tool));
        [Step::Wait(50)].into_iter().chain(text).chain(calls).chain(end).collect()
    })
}

fn config(config: Config) -> Config {
    let tool = |name: &'static str| {
        let schema = Value::map([("type", Value::from("object"))]).unwrap();
        let spec = ToolSpec::new(name, "What it does.", schema).unwrap();
        Tool::raw(spec, move |_: Value, _: ToolContext| async move {
            match name {
                "slow" => pass(400).await,
                "fails" => return Err(ToolError::new("no such account")),
                _ => {}
            }
            Ok(vec!["done".into()])
        })
    };
    let policy = Policy::default().with_tokens(None).with_messages(4..=8).with_keep_turns(1);
    ["quick", "slow", "fails"]
        .into_iter()
        .fold(config, |config, name| config.with_tool(tool(name)))
        .with_policy(policy)
        .with_first_token_timeout(Duration::from_secs(3))
        .with_max_tool_rounds(2)
}

/// Shows a record without ids and times.
fn show(record: &Record) -> String {
    let turn = |turn: &TurnRecord| {
        let mut turn = serde_json::to_value(turn).unwrap();
        without_times(&mut turn);
        turn.to_string()
    };
    let attributes: Vec<_> = record.metadata().attributes().collect();
    let mut contents = serde_json::to_value(record.contents()).unwrap();
    without_times(&mut contents);
    format!("{:?} {contents} {attributes:?} {:?}", record.role(), record.metadata().turn().map(turn))
}

/// Removes times, random keys, and prompt hashes: the memory in a call's prompt says whether the caller has heard an outcome yet.
fn without_times(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(entries) => {
            entries.retain(|key, _| !key.ends_with("Ms") && key != "promptHash" && key != "idempotencyKey");
            entries.values_mut().for_each(without_times);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Returns a question so long that a summary always pays. The memory of a call is longer than that of a run by what the
/// caller has not heard yet.
fn question(turn: usize) -> String {
    format!("question {turn} {}", "and what does it cost ".repeat(20))
}

fn records(manager: &verbale::MessagesManager<PlainMessage>) -> Vec<String> {
    manager.records().iter().map(show).collect()
}

async fn in_a_call(answers: &[Vec<Step>], turns: usize) -> (Vec<String>, usize) {
    let model = Scripted::new(answers.to_vec());
    // A blank apology adds nothing, as in a run.
    let settings = CallSettings::default().with_apology(" ").without_playback_reports();
    let clock = Arc::new(TokioClock(Instant::now()));
    let call = CallBuilder::new(model.clone())
        .clock(clock, Arc::new(SequentialIds::default()))
        .settings(settings)
        .config(config)
        .open()
        .unwrap();
    for turn in 0..turns {
        call.caller_said(question(turn)).unwrap();
        read(call.reply().unwrap()).await;
        pass(20_000).await;
    }
    let logged = (call.conversation().read(records), model.requests().len());
    call.close("hangup", Duration::from_secs(1)).await.unwrap();
    logged
}

async fn in_runs(answers: &[Vec<Step>], turns: usize) -> (Vec<String>, usize) {
    let model = Scripted::new(answers.to_vec());
    let clock = Arc::new(TokioClock(Instant::now()));
    let models = Models::default().with("default", "default", model.clone());
    let manager = MessagesManager::new().with_clock(clock, Arc::new(SequentialIds::default()));
    let conversation =
        Conversation::from_manager(CallId::new("CA1").unwrap(), manager).with_config(config(Config::new(models)));
    for turn in 0..turns {
        conversation.add_user(question(turn)).unwrap();
        let mut run = conversation.run();
        while run.next().await.is_some() {}
        drop(run);
        pass(20_000).await;
    }
    (conversation.read(records), model.requests().len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn call_and_runs_leave_the_same_log(answers in prop::collection::vec(answer(), 0..12), turns in 1_usize..8) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (call, run) = (in_a_call(&answers, turns).await, in_runs(&answers, turns).await);
            prop_assert_eq!(&call.0, &run.0);
            prop_assert_eq!(call.1, run.1);
            Ok(())
        })?;
    }
}
