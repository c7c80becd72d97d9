//! Summaries in the background: their start, their outcomes, and the limit of the window without any.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::sleep;
use verbale::call::{CallBuilder, CallSession};
use verbale::conversation::Config;
use verbale::model::{Failure, ModelError, Summarizer, Summary, SummaryFuture, Tool};
use verbale::{MessagesManager, PlainMessage, Policy, Role, Summarizing};

use crate::support::{Scripted, builder, calls, pass, read, shown, turn, words};

type Manager = MessagesManager<PlainMessage>;

/// One step of a scripted summarizer. The last step repeats.
#[derive(Clone, Copy)]
enum Does {
    Writes(u64, &'static str),
    Fails,
    Hangs,
    Panics,
}

#[derive(Clone)]
struct Scribe {
    does: Arc<Mutex<Vec<Does>>>,
    begun: Arc<AtomicUsize>,
    at_once: Arc<AtomicUsize>,
}

impl Scribe {
    fn new(does: impl IntoIterator<Item = Does>) -> Self {
        let mut does: Vec<_> = does.into_iter().collect();
        does.reverse();
        Self { does: Arc::new(Mutex::new(does)), begun: Arc::default(), at_once: Arc::default() }
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

impl Summarizer for Scribe {
    fn summarize<'a>(&'a self, _summarizing: &'a Summarizing) -> SummaryFuture<'a> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let does = {
            let mut all = self.does.lock().unwrap();
            if all.len() > 1 { all.pop().unwrap() } else { all[0] }
        };
        Box::pin(async move {
            assert_eq!(self.at_once.fetch_add(1, Ordering::SeqCst), 0, "two summaries at once");
            struct Ends<'a>(&'a AtomicUsize);
            impl Drop for Ends<'_> {
                fn drop(&mut self) {
                    self.0.fetch_sub(1, Ordering::SeqCst);
                }
            }
            let _ends = Ends(&self.at_once);
            match does {
                Does::Writes(after_ms, text) => {
                    sleep(Duration::from_millis(after_ms)).await;
                    let mut summary = Summary::from(text);
                    (summary.usage.input_tokens, summary.usage.output_tokens) = (900, 40);
                    Ok(summary)
                }
                Does::Fails => Err(ModelError::new(Failure::Denied("no such model".to_owned()))),
                Does::Hangs => std::future::pending().await,
                Does::Panics => panic!("a summarizer of the service"),
            }
        })
    }
}

const LONG: &str =
    "I would like to know what became of my last order, which I made three weeks ago and which has not come.";

fn config(config: Config) -> Config {
    config.with_policy(Policy::default().with_tokens(None).with_messages(2..=6).with_keep_turns(1))
}

fn with(model: &Scripted, scribe: &Scribe) -> CallBuilder {
    builder(model).summarizer(scribe.clone()).config(config)
}

fn summaries(call: &CallSession) -> Vec<String> {
    shown(call).into_iter().filter(|line| line.starts_with("summary")).collect()
}

async fn turns(call: &CallSession, turns: usize) {
    for _ in 0..turns {
        turn(call, LONG).await;
    }
}

#[tokio::test(start_paused = true)]
async fn summary_is_made_during_playback() {
    let model = Scripted::default();
    let scribe = Scribe::new([Does::Writes(1_500, "An order is late.")]);
    let call = with(&model, &scribe).open().unwrap();
    turns(&call, 3).await;
    assert_eq!(scribe.begun(), 0);
    call.caller_said(LONG).unwrap();
    let reply = call.reply().unwrap();
    // The caller waits for the first token.
    pass(100).await;
    assert_eq!(scribe.begun(), 0);
    let speech = reply.speech();
    read(reply).await;
    call.playback_started(speech, call.now_ms());
    pass(1).await;
    assert_eq!(scribe.begun(), 1);
    pass(1_000).await;
    call.playback_finished(speech, call.now_ms());
    // The summary arrives during the next turn, which does not wait for it.
    let before = model.requests().len();
    turn(&call, LONG).await;
    assert_eq!(summaries(&call), ["summary \"An order is late.\""]);
    assert_eq!(model.requests()[before].memory, None);
    turn(&call, LONG).await;
    let request = model.requests().last().cloned().unwrap();
    assert!(request.memory.as_deref().is_some_and(|memory| memory.starts_with("An order is late.\n")));
    assert!(request.messages.len() < 7);
}

#[tokio::test(start_paused = true)]
async fn log_has_the_tokens_of_a_summary_and_what_each_prompt_covers() {
    let scribe = Scribe::new([Does::Writes(200, "An order is late.")]);
    let call = with(&Scripted::default(), &scribe).open().unwrap();
    turns(&call, 6).await;
    let records: Vec<Json> = call
        .conversation()
        .read(|manager| manager.records().iter().map(|record| serde_json::to_value(record).unwrap()).collect());
    let summary = records.iter().find(|record| record["message"]["role"] == "summary").unwrap();
    assert_eq!(summary["metadata"]["request"], json!({"tookMs": 200, "input": 900, "output": 40}));
    let covers = |record: &Json| record.pointer("/metadata/turn/requests/0/memoryCovers").cloned();
    let covered: Vec<Json> = records.iter().filter_map(covers).collect();
    assert_eq!(covered.first(), Some(&summary["after"]), "{covered:?}");

    let restored = call.conversation().read(|manager| Manager::restore(manager.records()).unwrap());
    assert_eq!(restored.records(), call.conversation().read(Manager::records));
    assert!(restored.to_string().contains("request={model end 200 ms tokens 900 in 40 out}"), "{restored}");
}

#[tokio::test(start_paused = true)]
async fn summary_does_not_start_while_the_caller_waits() {
    let scribe = Scribe::new([Does::Writes(0, "An order is late.")]);
    let call = with(&Scripted::default(), &scribe).open().unwrap();
    turns(&call, 3).await;
    // The playback of the previous turn is reported between the caller's words and the answer.
    call.caller_said(LONG).unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    read(reply).await;
    pass(1).await;
    let begun = scribe.begun();
    call.caller_said(LONG).unwrap();
    call.playback_started(speech, call.now_ms());
    pass(1).await;
    assert_eq!(scribe.begun(), begun);
}

#[tokio::test(start_paused = true)]
async fn failed_summary_is_replaced_and_the_summarizer_backs_off() {
    for does in [Does::Fails, Does::Hangs, Does::Panics] {
        let scribe = Scribe::new([does]);
        let call = with(&Scripted::default(), &scribe).open().unwrap();
        turns(&call, 4).await;
        pass(31_000).await;
        assert_eq!((scribe.begun(), summaries(&call).len()), (1, 1), "{:?}", summaries(&call));
        // The backoff of 10 s is over. After the next failure it is 20 s.
        pass(10_000).await;
        turns(&call, 4).await;
        pass(31_000).await;
        assert_eq!((scribe.begun(), summaries(&call).len()), (2, 2));
        turns(&call, 4).await;
        assert!(scribe.begun() <= 3);
    }
}

#[tokio::test(start_paused = true)]
async fn summarizer_is_not_asked_during_the_backoff() {
    let scribe = Scribe::new([Does::Fails]);
    let call = builder(&Scripted::default()).summarizer(scribe.clone()).config(config).open().unwrap();
    let begun = tokio::time::Instant::now();
    turns(&call, 40).await;
    // The pauses are 10 s, 20 s, 40 s and so on.
    let elapsed = begun.elapsed().as_secs();
    let most = 1 + [10, 30, 70, 150, 310].into_iter().filter(|due| *due <= elapsed).count();
    assert!((1..=most).contains(&scribe.begun()), "{} in {elapsed} s", scribe.begun());
    assert!(summaries(&call).len() > 5);
    assert!(call.conversation().read(|manager| manager.messages().count()) <= 8);
}

#[tokio::test(start_paused = true)]
async fn summary_that_saves_too_little_is_skipped() {
    const WORDY: &str = "The caller said a great deal, and what the caller said was answered at length, as will be told \
        now in more words than it took: the caller would like to know what became of the last order, made weeks ago; \
        and again would like to know it; and once more would like to know what became of the order that did not come; \
        then the caller said it again; and it was answered, and the caller said it again; and it was answered again.";
    let scribe = Scribe::new([Does::Writes(0, WORDY)]);
    let call = with(&Scripted::default(), &scribe).open().unwrap();
    turns(&call, 4).await;
    pass(1).await;
    assert_eq!((scribe.begun(), summaries(&call).len()), (1, 0));
    assert!(call.conversation().metrics().to_string().contains("summaries     applied 0, replaced 0, dropped 1\n"));
}

#[tokio::test(start_paused = true)]
async fn slow_summary_is_applied_when_it_arrives() {
    let model = Scripted::default();
    let scribe = Scribe::new([Does::Writes(5_000, "An order is late.")]);
    let call = with(&model, &scribe).open().unwrap();
    turns(&call, 4).await;
    pass(1).await;
    assert_eq!(scribe.begun(), 1);
    pass(5_000).await;
    assert_eq!(summaries(&call).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn window_has_a_limit_without_summaries() {
    let config = |config: Config| {
        config.with_policy(Policy::default().with_messages(None).with_tokens(None)).with_max_window(400)
    };
    let model = Scripted::default();
    let call = builder(&model).config(config).open().unwrap();
    turns(&call, 40).await;
    let largest = |model: &Scripted| {
        let texts = |request: &verbale::model::ModelRequest| {
            request.messages.iter().flat_map(|message| message.contents().texts()).map(|text| text.len()).sum::<usize>()
        };
        model.requests().iter().map(texts).max().unwrap()
    };
    assert!(largest(&model) < 1_600, "{}", largest(&model));
    assert!(!summaries(&call).is_empty());
    let (metrics, count) = (call.conversation().metrics().to_string(), summaries(&call).len());
    assert!(metrics.contains(&format!("summaries     applied 0, replaced {count}, ")), "{metrics}");

    // An open tool call prevents every summary.
    let hangs = |_: verbale::Value, _: verbale::model::ToolContext| std::future::pending();
    let spec = || {
        let schema = verbale::Value::map([("type", verbale::Value::from("object"))]).unwrap();
        verbale::model::ToolSpec::new("hangs", "It hangs.", schema).unwrap()
    };
    let model = Scripted::new([calls("One moment. ", "c1", "hangs"), words("It runs.")]);
    let call = builder(&model)
        .tool(Tool::raw(spec(), hangs))
        .config(move |c| config(c).with_tool_timeout(Duration::from_secs(100_000)))
        .open()
        .unwrap();
    call.caller_said("Please").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    drop(reply);
    turns(&call, 40).await;
    assert_eq!(summaries(&call), [""; 0]);
    assert!(largest(&model) < 1_600, "{}", largest(&model));
    let last = model.requests().last().cloned().unwrap();
    assert_eq!(last.messages[0].role(), Role::User);
    assert!(last.memory.as_deref().is_some_and(|record| record.contains("left out") && record.contains("\n#1 ")));
}

#[tokio::test(start_paused = true)]
async fn close_does_not_wait_for_a_summary() {
    let scribe = Scribe::new([Does::Hangs]);
    let call = with(&Scripted::default(), &scribe).open().unwrap();
    turns(&call, 4).await;
    let begun = tokio::time::Instant::now();
    call.close("hangup", Duration::from_secs(5)).await.unwrap();
    assert_eq!((scribe.begun(), begun.elapsed()), (1, Duration::ZERO));
}
