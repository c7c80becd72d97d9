//! Rebuilding the prompts that were sent, from the log.

use std::sync::Arc;
use std::time::Duration;

use verbale::MessagesManager;
use verbale::call::{CallSession, Played};
use verbale::conversation::{Config, Conversation};
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, MemoryLog, WriterSettings};
use verbale::message::ToolError;
use verbale::model::{ModelRequest, Tool, ToolContext, ToolSpec};
use verbale::{MessageWrapper, PlainMessage, Policy, Value};

use crate::support::{START_MS, Scripted, builder, calls, pass, read, words};

fn tool(name: &str, ms: u64) -> Tool {
    let spec = ToolSpec::new(name, "It does something.", Value::map([("type", Value::from("object"))]).unwrap());
    Tool::raw(spec.unwrap(), move |_: Value, _: ToolContext| async move {
        pass(ms).await;
        Ok::<_, ToolError>(vec!["seat 14, ticket F-17".into()])
    })
}

/// Returns when each request of the turns was sent, and the hash of its prompt.
fn sent(manager: &MessagesManager<PlainMessage>) -> Vec<(i64, String)> {
    let mut sent = Vec::new();
    for message in manager.meta_messages().iter().map(PlainMessage::message) {
        let record = serde_json::to_value(message.metadata().turn()).unwrap();
        let earlier = record["earlier"].as_array().cloned().unwrap_or_default();
        for turn in earlier.iter().chain([&record]) {
            for request in turn["requests"].as_array().into_iter().flatten() {
                let at_ms = turn["startMs"].as_i64().unwrap() + request["afterMs"].as_i64().unwrap_or_default();
                sent.push((at_ms, request["promptHash"].as_str().unwrap().to_owned()));
            }
        }
    }
    sent.sort();
    sent
}

async fn say(call: &CallSession, text: &str) {
    pass(300).await;
    call.caller_said(text).unwrap();
    let mut reply = call.reply().unwrap();
    let speech = reply.speech();
    while reply.next().await.is_some() {}
    call.playback_started(speech, call.now_ms());
    pass(1_000).await;
    call.playback_finished(speech, call.now_ms());
}

/// Plays a call with tools, summaries, instructions added later, and a barge-in.
async fn played(
    log: &Arc<MemoryLog>,
    model: &Scripted,
    config: impl FnOnce(Config) -> Config + Send + 'static,
) -> CallId {
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let id = CallId::new("CA1").unwrap();
    let header = CallHeader::new(id.clone(), START_MS).unwrap();
    let call = builder(model)
        .system("You answer the phone of a ferry.")
        .config(config)
        .tool(tool("find_seat", 100).read_only())
        .tool(tool("book", 200))
        .tool(tool("slow", 1_500).with_timeout(Duration::from_millis(500)))
        .log(writer.open(header).unwrap())
        .open()
        .unwrap();
    call.say("Good morning.").unwrap();
    say(&call, "My name is Mia. Is there a seat for Friday at ten thirty?").await;
    say(&call, "Then book it, please. My number is 030 123456.").await;
    call.conversation().add_system("The ferry of Friday is late.").unwrap();
    say(&call, "Is it on time?").await;
    call.caller_said("And can I take").unwrap();
    let mut reply = call.reply().unwrap();
    let speech = reply.speech();
    reply.next().await;
    call.playback_started(speech, call.now_ms());
    pass(150).await;
    call.caller_started_speaking(call.now_ms());
    call.playback_interrupted(speech, Played::Words("Dogs".into()), call.now_ms());
    drop(reply);
    say(&call, "my dog with me?").await;
    say(&call, "Ask for a cabin, too.").await;
    pass(3_000).await;
    for text in ["And a meal?", "What does it cost?", "Is there a discount?", "Can I pay on board?"] {
        say(&call, text).await;
    }
    let closed = call.close("hangup", Duration::from_secs(10)).await.unwrap();
    assert!(closed.unstored.is_empty());
    id
}

fn model() -> Scripted {
    Scripted::new([
        calls("One moment. ", "c1", "find_seat"),
        words("There is one seat left, seat 14, by the window."),
        calls("", "c2", "book"),
        words("It is booked: ticket F-17."),
        words("It is late by an hour."),
        words("Dogs are welcome on board, but they must have a lead."),
        words("Yes, with a lead."),
        calls("Let me ask. ", "c3", "slow"),
        words("I do not know yet."),
    ])
}

async fn restored(log: &MemoryLog, id: &CallId, config: Config) -> Conversation {
    let call = log.read_call(id).await.unwrap();
    Conversation::from_manager(id.clone(), call.restore()).with_config(config)
}

#[tokio::test(start_paused = true)]
async fn prompts_of_a_logged_call_are_rebuilt() {
    let (log, model) = (Arc::new(MemoryLog::default()), model());
    let id = played(&log, &model, |config| config).await;
    // Neither the tools nor any setting of the service are known.
    let restored = restored(&log, &id, Config::default()).await;
    let sent = restored.read(sent);
    let requests = model.requests();
    assert_eq!(sent.len(), requests.len());
    for ((at_ms, hash), request) in sent.iter().zip(&requests) {
        let (rebuilt, is_same) = restored.prompt_at(*at_ms).unwrap();
        let without = |request: &ModelRequest| {
            let mut request = request.clone();
            request.tools = Arc::default();
            request.inference = Default::default();
            request
        };
        assert!(without(request).fingerprint().starts_with(hash), "{at_ms}");
        assert_eq!(rebuilt.memory, request.memory);
        assert_eq!((&rebuilt.system, &rebuilt.late_system), (&request.system, &request.late_system));
        assert_eq!((rebuilt.fingerprint(), is_same), (without(request).fingerprint(), Some(true)), "{at_ms}");
    }
    assert_eq!(restored.prompt_at(START_MS - 1), None);
}

#[tokio::test(start_paused = true)]
async fn prompts_with_a_memory_are_rebuilt_with_their_policy() {
    let policy = || Policy::default().with_tokens(None).with_messages(2..=6).with_keep_turns(1).with_memory(5);
    let (log, model) = (Arc::new(MemoryLog::default()), model());
    let id = played(&log, &model, move |config| config.with_policy(policy())).await;
    let same = restored(&log, &id, Config::default().with_policy(policy())).await;
    let other = restored(&log, &id, Config::default()).await;
    let sent = same.read(sent);
    let is_same = |conversation: &Conversation| -> Vec<bool> {
        sent.iter().map(|(at_ms, _)| conversation.prompt_at(*at_ms).unwrap().1.unwrap()).collect()
    };
    assert!(model.requests().iter().filter(|request| request.memory.is_some()).count() > 3);
    assert_eq!(is_same(&same), vec![true; sent.len()]);
    // Another limit of the memory makes another prompt, and the hash says so.
    assert!(is_same(&other).contains(&false));
}

#[tokio::test(start_paused = true)]
async fn call_without_tools_is_rebuilt_whether_it_had_some_or_not() {
    for has_tools in [true, false] {
        let model = Scripted::new([words("Good morning.")]);
        let log = Arc::new(MemoryLog::default());
        let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
        tokio::spawn(task);
        let id = CallId::new("CA1").unwrap();
        let mut call = builder(&model).system("You answer the phone.");
        if has_tools {
            call = call.tool(tool("book", 10));
        }
        let call = call.log(writer.open(CallHeader::new(id.clone(), START_MS).unwrap()).unwrap()).open().unwrap();
        call.caller_said("Hello?").unwrap();
        read(call.reply().unwrap()).await;
        call.close("hangup", Duration::from_secs(10)).await.unwrap();
        let restored = restored(&log, &id, Config::default()).await;
        let sent = restored.read(sent);
        assert_eq!(restored.prompt_at(sent[0].0).unwrap().1, Some(true), "{has_tools}");
    }
}
