//! The calls in the log of the tests. Their ids and times are the same in each run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use verbale::Value;
use verbale::call::{CallBuilder, CallSession, Played, ReplyEnd, ReplyEvent, Utterance};
use verbale::clock::{Clock, SequentialIds};
use verbale::log::{CallHeader, CallId, CallLog, CallerId, LogWriter, WriterSettings};
use verbale::message::ToolError;
use verbale::model::{Tool, ToolContext, ToolSpec};
use verbale::testing::{ScriptedModel, ScriptedReply};

/// Monday, 2025-10-20, 07:15:02 UTC.
pub const START_MS: i64 = 1_760_944_502_400;
const IN_TIME: Duration = Duration::from_secs(5);

/// A model with these answers, each after 350 ms.
fn scripted(replies: impl IntoIterator<Item = ScriptedReply>) -> ScriptedModel {
    let model = ScriptedModel::default();
    replies.into_iter().for_each(|reply| model.reply(after(350, reply)));
    model
}

fn after(ms: u64, reply: ScriptedReply) -> ScriptedReply {
    reply.first_token_after(Duration::from_millis(ms))
}

/// Follows tokio's clock.
#[derive(Debug)]
struct CallClock(Instant);

impl Clock for CallClock {
    fn now_ms(&self) -> i64 {
        START_MS + i64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

/// Plays the calls: one with a tool and a barge-in, one whose booking has an unknown outcome, and a live one.
pub async fn play(log: Arc<dyn CallLog>) {
    let settings = WriterSettings::default().with_seed(1);
    let (writer, task) = LogWriter::new(log, settings);
    tokio::spawn(task);
    let clock: Arc<dyn Clock> = Arc::new(CallClock(Instant::now()));

    let model = scripted([
        ScriptedReply::text("One moment.").tool_call("t1", "seats", json!({"ferry": "10:30"})).usage(412, 31),
        ScriptedReply::text("There are four seats left. Shall I book one?").usage(80, 12).cached(400, 0),
        ScriptedReply::default().tool_call("t2", "book", json!({"ferry": "10:30", "seats": 1})).usage(120, 22),
        ScriptedReply::text("It is booked. You get a ticket by e-mail, and a text message.")
            .usage(190, 18)
            .cached(400, 0),
    ]);
    let call = open(&writer, &clock, "ferry-1", model);
    greet(&call).await;
    ask(&call, "Are there seats on the ten thirty?", None).await;
    ask(&call, "Yes, please.", Some("It is booked.")).await;
    call.caller_said("Thank you, bye.").unwrap();
    call.close("hangup", IN_TIME).await.unwrap();

    let model = ScriptedModel::default();
    let book = json!({"ferry": "lost", "seats": 2});
    model.reply(ScriptedReply::refused("ThrottlingException"));
    model.reply(after(2_400, ScriptedReply::default().tool_call("t1", "book", book).usage(412, 24)));
    model.reply(after(
        350,
        ScriptedReply::text("I cannot see whether it is booked. Let me pass you on.").usage(460, 15),
    ));
    let call = open(&writer, &clock, "ferry-2", model);
    greet(&call).await;
    ask(&call, "Two seats on the last ferry.", None).await;
    call.close("transferred", IN_TIME).await.unwrap();

    let call = open(&writer, &clock, "ferry-3", ScriptedModel::default());
    greet(&call).await;
    assert_eq!(writer.flush(IN_TIME).await, []);
    // The call continues, in a process that is not this one.
    std::mem::forget(call);
}

/// Plays a call in which the caller says these lines, and the model the same to each.
pub async fn play_lines(log: Arc<dyn CallLog>, id: &str, lines: &[String]) {
    let (writer, task) = LogWriter::new(log, WriterSettings::default());
    tokio::spawn(task);
    let clock: Arc<dyn Clock> = Arc::new(CallClock(Instant::now()));
    let model = scripted(lines.iter().map(|_| ScriptedReply::text("I see.").usage(190, 18)));
    let call = open(&writer, &clock, id, model);
    for line in lines {
        ask(&call, line, None).await;
    }
    call.close("hangup", IN_TIME).await.unwrap();
    assert_eq!(writer.flush(IN_TIME).await, []);
}

/// Plays a call in which the caller, the model and the tools say the same words in each turn.
pub async fn play_turns(log: Arc<dyn CallLog>, id: &str, turns: usize, words: &str) {
    let settings = WriterSettings::default().with_seed(1);
    let (writer, task) = LogWriter::new(log, settings);
    tokio::spawn(task);
    let clock: Arc<dyn Clock> = Arc::new(CallClock(Instant::now()));
    let seats = |turn: usize| {
        ScriptedReply::default().tool_call(format!("t{turn}"), "seats", json!({"ferry": words})).usage(120, 22)
    };
    let model = scripted((0..turns).flat_map(|turn| [seats(turn), ScriptedReply::text(words).usage(190, 18)]));
    let call = open(&writer, &clock, id, model);
    for _ in 0..turns {
        ask(&call, words, None).await;
    }
    call.close("<b>hangup</b>", IN_TIME).await.unwrap();
    assert_eq!(writer.flush(IN_TIME).await, []);
}

fn open(writer: &LogWriter, clock: &Arc<dyn Clock>, id: &str, model: ScriptedModel) -> CallSession {
    let tool = |name: &str| {
        let spec =
            ToolSpec::new(name, "A tool of the ferries.", Value::map([("type", Value::from("object"))]).unwrap());
        Tool::raw(spec.unwrap(), |arguments: Value, _: ToolContext| async move { sail(&arguments).await })
    };
    let caller = CallerId::new("+4930123456", b"pellam-island-ferries").unwrap();
    let header = CallHeader::new(CallId::new(id).unwrap(), clock.now_ms()).unwrap().with_caller(caller);
    CallBuilder::new(model)
        .system("You answer the telephone of the Pellam Island Ferries.")
        .tool(tool("seats").read_only())
        .tool(tool("book"))
        .clock(clock.clone(), Arc::new(SequentialIds::default()))
        .log(writer.open(header).unwrap())
        .open()
        .unwrap()
}

async fn sail(arguments: &Value) -> Result<Vec<verbale::message::ResultContent>, ToolError> {
    let arguments = serde_json::to_value(arguments).unwrap();
    let is_slow = arguments["ferry"].as_str() == Some("the slow one");
    sleep(Duration::from_millis(if is_slow { 4_000 } else { 300 })).await;
    match arguments["ferry"].as_str() {
        Some("lost") => Err(ToolError::new("no answer from the booking service").with_type("OutcomeUnknown")),
        _ if arguments.get("seats").is_some() => Ok(vec!["ticket F-17".into()]),
        _ => Ok(vec!["4 seats".into()]),
    }
}

async fn greet(call: &CallSession) {
    let speech = call.say("Good morning, Pellam Island Ferries.").unwrap();
    call.playback_started(speech, call.now_ms());
    sleep(Duration::from_secs(2)).await;
    call.playback_finished(speech, call.now_ms());
}

/// The caller asks, and hears the answer, or its beginning.
async fn ask(call: &CallSession, words: &str, heard: Option<&str>) {
    let started_ms = call.now_ms();
    call.caller_started_speaking(started_ms);
    sleep(Duration::from_millis(1_500)).await;
    call.caller_said(Utterance::new(words).with_times(started_ms, call.now_ms())).unwrap();
    let mut reply = call.reply().unwrap();
    let speech = reply.speech();
    let mut has_started = false;
    let end = loop {
        match reply.next().await.unwrap() {
            ReplyEvent::Text(_) if !has_started => {
                has_started = true;
                call.playback_started(speech, call.now_ms());
            }
            ReplyEvent::Ended(end) => break end,
            _ => {}
        }
    };
    assert!(matches!(end, ReplyEnd::Complete(_)), "{end:?}");
    sleep(Duration::from_secs(3)).await;
    match heard {
        None => drop(call.playback_finished(speech, call.now_ms())),
        Some(heard) => {
            call.caller_started_speaking(call.now_ms());
            call.playback_interrupted(speech, Played::Words(heard.to_owned()), call.now_ms());
        }
    }
    sleep(Duration::from_secs(1)).await;
}
