//! Conversations submit every change to the log's writer at once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use verbale::conversation::{Config, Conversation, Conversations};
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, MemoryLog, WriterSettings};
use verbale::model::Tool;
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{MessagesManager, PlainMessage};

use super::tools::weather;
use super::{models, read, shown};

const TIMEOUT: Duration = Duration::from_secs(5);

async fn stored(log: &MemoryLog, id: &CallId) -> MessagesManager<PlainMessage> {
    let call = log.read_call(id).await.unwrap();
    MessagesManager::restore(call.records).unwrap()
}

#[tokio::test]
async fn every_message_is_logged_and_the_conversation_continues_elsewhere() {
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let id = CallId::new("CA1").unwrap();
    let call = Arc::new(writer.open(CallHeader::new(id.clone(), 1_744_815_823_058).unwrap()).unwrap());

    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("One moment.").tool_call("call_1", "get_weather", json!({"town": "Rome"})));
    let conversation = Conversation::new(id.clone()).with_config(Config::new(models(&bedrock)));
    conversation.continuation().agent("You know the weather.").apply().unwrap();
    conversation.log(call.clone());
    conversation.continuation().tool(weather()).request("In Rome?").apply().unwrap();
    let mut run = conversation.run();
    let mut read = 0;
    loop {
        // The tool runs during the flush, so compare only the messages from before it.
        let before = conversation.read(|manager| manager.records());
        assert!(before.len() >= 2 + read);
        assert!(call.flush(TIMEOUT).await.is_empty());
        let stored = stored(&log, &id).await.records();
        assert_eq!(stored[..before.len()], before, "the log has every message at any time");
        let Some(message) = run.next().await else { break };
        message.unwrap();
        read += 1;
    }
    assert_eq!(read, 3);
    assert!(conversation.not_logged().is_none());

    let elsewhere =
        Conversation::from_manager(id.clone(), stored(&log, &id).await).with_config(Config::new(models(&bedrock)));
    assert_eq!(elsewhere.continuation().request("Thanks!").prompt().await.unwrap(), "Yes, I am here.");
    assert_eq!((shown(&elsewhere).len(), shown(&conversation).len(), bedrock.counters().refused), (7, 5, 0));
}

#[tokio::test]
async fn stopped_log_is_reported_and_the_conversation_continues() {
    let (writer, task) = LogWriter::new(Arc::new(MemoryLog::default()), WriterSettings::default());
    let call = writer.open(CallHeader::new(CallId::new("CA1").unwrap(), 0).unwrap()).unwrap();
    drop(task);
    let bedrock = FakeBedrock::default();
    let conversation = super::prompt(&bedrock).conversation().clone();
    conversation.log(call);
    assert!(conversation.not_logged().is_none(), "an empty conversation logs nothing");
    let tool = Tool::new("ring", "Rings.", |_: serde_json::Map<_, _>, _| async { Ok(()) }).unwrap();
    conversation.continuation().tool(tool).request("Hello?").apply().unwrap();
    assert!(conversation.not_logged().is_some());
    assert!(read(conversation.run()).await.1.is_none());
    assert_eq!(shown(&conversation).len(), 2);
}

#[tokio::test]
async fn new_writer_gets_the_changes_that_a_stopped_one_had_not_stored() {
    let header = CallHeader::new(CallId::new("CA1").unwrap(), 0).unwrap();
    let (stopped, task) = LogWriter::new(Arc::new(MemoryLog::default()), WriterSettings::default());
    let conversation = super::prompt(&FakeBedrock::default()).conversation().clone();
    conversation.log(stopped.open(header.clone()).unwrap());
    conversation.continuation().request("Hello?").apply().unwrap();
    drop(task);

    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let call = Arc::new(writer.open(header.clone()).unwrap());
    conversation.log(call.clone());
    assert!(call.flush(TIMEOUT).await.is_empty());
    let stored = stored(&log, header.call_id()).await;
    assert!(conversation.read(|manager| *manager == stored));
}

#[tokio::test]
async fn finish_logs_all_messages_and_the_end() {
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default().with_limits(4_000, 1 << 20));
    tokio::spawn(task);
    let header = CallHeader::new(CallId::new("CA1").unwrap(), 0).unwrap();
    let conversation = super::prompt(&FakeBedrock::default()).conversation().clone();
    assert_eq!(conversation.finish("nobody", TIMEOUT).await.unwrap(), [], "without a log, nothing is unstored");
    conversation.log(writer.open(header.clone()).unwrap());
    for _ in 0..20 {
        conversation.change(|manager| manager.add_user("Hello? ".repeat(40)).map(drop).unwrap()).unwrap();
        conversation.change(|manager| manager.add_assistant("Yes? ".repeat(40)).map(drop).unwrap()).unwrap();
    }
    assert!(conversation.finish("a reason\n", TIMEOUT).await.is_err());
    assert_eq!(conversation.finish("hangup", TIMEOUT).await.unwrap(), []);

    let call = log.read_call(header.call_id()).await.unwrap();
    let call_end = call.header.as_ref().unwrap().call_end().unwrap();
    assert_eq!((call_end.reason.as_ref(), call_end.messages), ("hangup", 40));
    let stored = stored(&log, header.call_id()).await;
    assert!(conversation.read(|manager| *manager == stored));
    assert!(
        conversation.read(|manager| manager.changes(verbale::LastMessage::Include).is_empty()),
        "the conversation has acknowledged every record"
    );
    assert_eq!(conversation.finish("again", TIMEOUT).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn late_result_is_logged_although_its_message_is_over_the_limit() {
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let id = CallId::new("CA1").unwrap();
    let call = Arc::new(writer.open(CallHeader::new(id.clone(), 1_744_815_823_058).unwrap()).unwrap());

    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", "book", json!({})));
    bedrock.reply(ScriptedReply::text("It takes a while."));
    let slow = Tool::new("book", "Books a flight.", |_: serde_json::Map<_, _>, _| async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok("BOOKED-78")
    });
    let tool = slow.unwrap().with_timeout(Duration::from_secs(1));
    let conversation = Conversation::new(id.clone()).with_config(Config::new(models(&bedrock)));
    conversation.log(call.clone());
    Conversations::default().with_history_limit(2).insert(&conversation).unwrap();
    conversation.continuation().tool(tool).request("Book it.").apply().unwrap();
    read(conversation.run()).await;
    let in_memory = || conversation.read(|manager| manager.meta_messages().len());
    for number in 0..3 {
        conversation.add_user(format!("question {number}")).unwrap();
        conversation.add_assistant(format!("answer {number}")).unwrap();
        assert!(call.flush(TIMEOUT).await.is_empty());
    }
    assert_eq!(in_memory(), 10, "the message with the running tool and everything after it");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(call.flush(TIMEOUT).await.is_empty());
    let all = stored(&log, &id).await.records();
    assert!(serde_json::to_string(&all[2]).unwrap().contains("BOOKED-78"), "{all:#?}");
    conversation.add_user("Thanks").unwrap();
    assert_eq!(in_memory(), 3, "the last question with its answer, and the new words");
}
