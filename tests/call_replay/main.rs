//! Replays recorded conversations of an airline's assistant through the live call: the session, the SDK's client with a fake
//! Bedrock in this process, summaries by a model, and the log in DynamoDB.
//!
//! The answers of the model and the results of the tools are recorded. Everything between them is real.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says why")]

mod airline;
mod breakdown;
mod cost;
mod history;
mod recording;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use verbale::call::{CallSession, Reply, ReplyEnd, ReplyEvent};
use verbale::conversation::CallMetrics;
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, WriterSettings};
use verbale::message::ToolError;
use verbale::testing::FakeBedrock;
use verbale::{MessageWrapper, MessagesManager, PlainMessage, Policy, Role};

use airline::{Airline, SUMMARY};
use recording::Said;

const START_MS: i64 = 1_744_815_823_058;
const IN_TIME: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn recorded_conversations_replay_without_loss() {
    let recordings = recording::all();
    if recordings.is_empty() {
        return;
    }
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    let log = Arc::new(DynamoLog::new(client));
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);

    let mut hidden = 0;
    for recording in &recordings {
        let name = &recording.name;
        let call_id = CallId::new(name.as_str()).unwrap();
        let airline = Airline::new(recording);
        let header = CallHeader::new(call_id.clone(), START_MS).unwrap();
        let policy = Policy::default().with_tokens(None).with_messages(4..=10).with_keep_turns(1);
        let call = airline.open(writer.open(header).unwrap(), policy, &recording.system);
        for turn in &recording.turns {
            call.caller_said(turn.caller.as_str()).unwrap();
            if !turn.answers.is_empty() {
                let end = answer(&call, &airline).await;
                assert!(matches!(end, ReplyEnd::Complete(_)), "{name}: {end:?}");
            }
        }
        // `close` does not wait for a running summary.
        sleep(Duration::from_secs(5)).await;
        let closed = call.close("hangup", IN_TIME).await.unwrap();
        assert!(closed.unstored.is_empty() && closed.not_accepted.is_none(), "{name}: {closed:?}");

        check_requests(name, &airline.turns, recording.answers().count());
        check_requests(name, &airline.summaries, usize::try_from(closed.metrics.summaries_applied).unwrap());
        check_summaries(name, &closed.metrics);
        assert_eq!(said(&call), recording.said(), "{name}");
        hidden += history::check(recording, &call, &airline.turns.requests());
        check_log(name, &call, &log, &call_id).await;
        println!(
            "{name}: {} requests, {} summaries",
            airline.turns.counters().requests,
            closed.metrics.summaries_applied
        );
    }
    // Otherwise `history::check` has checked nothing.
    assert!(hidden > recordings.len(), "{hidden}");
}

/// Reads a reply to its end, runs external tools, and plays the reply.
async fn answer(call: &CallSession, airline: &Airline) -> ReplyEnd {
    let mut reply: Reply = call.reply().unwrap();
    let speech = reply.speech();
    let end = loop {
        match reply.next().await.unwrap() {
            ReplyEvent::ToolCalled(tool_call) if airline.is_external(tool_call.name()) => {
                sleep(Duration::from_millis(200)).await;
                let result = match airline.act(&tool_call) {
                    Ok(done) => tool_call.success(done),
                    Err(error) => tool_call.failure(ToolError::new(error)),
                };
                assert!(call.tool_result(result).is_applied());
            }
            ReplyEvent::Ended(end) => break end,
            _ => {}
        }
    };
    assert!(call.playback_started(speech, call.now_ms()).is_applied());
    sleep(Duration::from_secs(1)).await;
    assert!(call.playback_finished(speech, call.now_ms()).is_applied());
    end
}

/// Checks that each request was valid, was sent once, and was answered to its end.
fn check_requests(name: &str, bedrock: &FakeBedrock, expected: usize) {
    let counters = bedrock.counters();
    let expected = u64::try_from(expected).unwrap();
    let seen = (counters.requests, counters.refused, counters.finished, counters.cancelled);
    assert_eq!(seen, (expected, 0, expected, 0), "{name}");
}

fn check_summaries(name: &str, metrics: &CallMetrics) {
    assert!(metrics.summaries_applied > 0, "{name}: {metrics}");
    let shown = metrics.to_string();
    assert!(shown.contains(", replaced 0, dropped 0\n") && shown.contains(", apologies 0, "), "{name}: {metrics}");
}

/// Returns the contents of the conversation without fakes, prompts and summaries.
fn said(call: &CallSession) -> Vec<Said> {
    let spoken = |message: &&PlainMessage| {
        matches!(message.role(), Role::User | Role::Assistant) && !message.message().is_fake()
    };
    call.conversation().read(|manager| {
        let messages = manager.meta_messages().iter().filter(spoken);
        let contents = messages.flat_map(|message| message.contents().iter().map(|content| (message.role(), content)));
        contents.map(|(role, content)| Said::of(role, content)).collect()
    })
}

/// Checks that the table equals the conversation, and that another process would restore the same window.
async fn check_log(name: &str, call: &CallSession, log: &DynamoLog, call_id: &CallId) {
    let logged = log.read_call(call_id).await.unwrap();
    assert_eq!(logged.records, call.conversation().read(MessagesManager::records), "{name}");
    let restored = MessagesManager::<PlainMessage>::restore(logged.records).unwrap();
    call.conversation().read(|manager| {
        assert_eq!(restored.meta_messages(), manager.meta_messages(), "{name}");
        assert!(restored.messages().eq(manager.messages()), "{name}");
        let summary = manager.last_summary().unwrap();
        assert!(summary.contents().texts().eq([SUMMARY]), "{name}");
    });
}
