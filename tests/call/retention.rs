//! Release: what a summary covers and the log has leaves memory, and comes back from the log on demand.

use std::sync::Arc;
use std::time::Duration;

use verbale::call::{CallSession, Played};
use verbale::conversation::{Config, Conversation};
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, MemoryLog, WriterSettings};
use verbale::message::HeardSource;
use verbale::model::{StopReason, Tool, ToolSpec};
use verbale::{MessagesManager, PlainMessage, Policy, Record, ToolCall};

use crate::support::{
    START_MS, Scripted, Step, UNKNOWN_SPEECH, answer, builder, calls, pass, turn, why_ignored, words,
};

const LONG: &str = "I would like to know what became of my last order, which I made three weeks ago, please.";

fn policy(config: Config) -> Config {
    config.with_policy(Policy::default().with_tokens(None).with_messages(4..=8).with_keep_turns(1))
}

fn open(model: &Scripted, log: &Arc<MemoryLog>, config: impl FnOnce(Config) -> Config + Send + 'static) -> CallSession {
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let header = CallHeader::new(CallId::new("CA1").unwrap(), START_MS).unwrap();
    let call = builder(model).config(move |it| config(policy(it))).log(writer.open(header).unwrap());
    let book = |_: verbale::Value, _: verbale::model::ToolContext| async { Ok(vec!["KL305T".into()]) };
    let schema = verbale::Value::map([("type", verbale::Value::from("object"))]).unwrap();
    let spec = |name: &str, text: &str| ToolSpec::new(name, text, schema.clone()).unwrap();
    let ship = Tool::external(spec("ship", "Another service ships.")).acts_once();
    let track = Tool::external(spec("track", "Another service looks.")).read_only();
    call.tool(Tool::raw(spec("book", "It books."), book)).tool(ship).tool(track).open().unwrap()
}

async fn turns(call: &CallSession, count: usize) {
    for _ in 0..count {
        turn(call, LONG).await;
        pass(3_000).await;
    }
}

fn in_memory(conversation: &Conversation) -> usize {
    conversation.read(|manager| manager.meta_messages().len())
}

#[tokio::test(start_paused = true)]
async fn covered_messages_leave_memory_and_come_back_from_the_log() {
    let log = Arc::new(MemoryLog::default());
    let model = Scripted::new([calls("One moment. ", "c1", "book"), words("It is booked.")]);
    let call = open(&model, &log, |config| config);
    turns(&call, 40).await;
    let conversation = call.conversation();
    assert!(in_memory(conversation) <= 14, "{}", in_memory(conversation));
    assert!(conversation.read(|manager| manager.to_string().contains("[released]")));
    // The part that the prompt needs of them stays, also after an edit.
    conversation.edit(|_| ());
    turn(&call, LONG).await;
    let memory = model.requests().last().unwrap().memory.clone().unwrap();
    assert!(memory.contains("#1 book succeeded"), "{:?}", memory.as_str());
    call.close("hangup", Duration::from_secs(5)).await.unwrap();
    let whole = conversation.whole(&*log).await.unwrap();
    assert_eq!(whole.pruned(), 0);
    assert_eq!(whole.records(), log.read_call(conversation.id()).await.unwrap().records);
    let said = |wrapper: &PlainMessage| {
        wrapper.contents().iter().any(|content| content.as_text().is_some_and(|text| text.as_str() == LONG))
    };
    assert_eq!(whole.meta_messages().iter().filter(|wrapper| said(wrapper)).count(), 41);
    // The first message can be forked there.
    let first = whole.meta_messages().iter().find(|wrapper| said(wrapper)).unwrap().id();
    assert_eq!(whole.clone().fork(&first, "CA1").unwrap().messages().count(), 1);
    assert!(conversation.fork(&first, CallId::new("CA2").unwrap()).is_err());
}

#[tokio::test(start_paused = true)]
async fn fork_knows_what_left_memory_before() {
    let log = Arc::new(MemoryLog::default());
    let model = Scripted::new([calls("One moment. ", "c1", "book"), words("It is booked.")]);
    let call = open(&model, &log, |config| config);
    turn(&call, "My user id is mia_li_3668.").await;
    turns(&call, 40).await;
    let source = call.conversation();
    let last = source.read(|manager| manager.meta_messages().last().unwrap().id());
    let fork = source.fork(&last, CallId::new("CA2").unwrap()).unwrap();
    let facts = fork.facts();
    assert!(facts.iter().any(|fact| fact.value() == "mia_li_3668") && facts == source.facts(), "{facts:?}");
    let [first, other] = [source, &fork].map(Conversation::metadata);
    let times = (first.created_ms, first.last_message_ms, first.messages, first.update_count, first.roles);
    assert_eq!((other.created_ms, other.last_message_ms, other.messages, other.update_count, other.roles), times);
    fork.continuation().request("What did you book for me?").prompt().await.unwrap();
    let memory = model.requests().last().unwrap().memory.clone().unwrap();
    assert!(memory.contains("#1 book succeeded") && memory.contains("mia_li_3668"), "{:?}", memory.as_str());
}

/// Another service may report the outcome of its call long after its time.
#[tokio::test(start_paused = true)]
async fn call_of_another_service_stays_until_its_outcome_is_known() {
    for tool in ["ship", "track"] {
        let log = Arc::new(MemoryLog::default());
        let model = Scripted::new([calls("One moment. ", "c1", tool), words("I do not know yet.")]);
        let call = open(&model, &log, |config| config);
        turns(&call, 1).await;
        pass(30_000).await;
        turns(&call, 12).await;
        assert!(call.conversation().read(|manager| manager.last_summary().is_some()));
        let of_call = ToolCall::new("c1", tool, verbale::Value::Null).unwrap();
        assert!(call.tool_result(of_call.success(["parcel 7"])).is_applied());
        turns(&call, 12).await;
        assert!(in_memory(call.conversation()) <= 14, "{}", in_memory(call.conversation()));
        call.close("hangup", Duration::from_secs(5)).await.unwrap();
        let records = log.read_call(call.conversation().id()).await.unwrap().records;
        assert!(serde_json::to_string(&records).unwrap().contains("parcel 7"));
        let memory = model.requests().last().unwrap().memory.clone().unwrap();
        assert!(memory.contains(&format!("#1 {tool} succeeded")), "{:?}", memory.as_str());
    }
}

#[tokio::test(start_paused = true)]
async fn everything_stays_if_it_is_to_or_if_nothing_is_logged() {
    let (model, log) = (Scripted::default(), Arc::new(MemoryLog::default()));
    let call = open(&model, &log, |config| config.with_all_messages(true));
    turns(&call, 20).await;
    assert_eq!(call.conversation().read(MessagesManager::pruned), 0);
    let unlogged = builder(&model).config(policy).open().unwrap();
    turns(&unlogged, 20).await;
    assert_eq!(unlogged.conversation().read(MessagesManager::pruned), 0);
}

#[tokio::test(start_paused = true)]
async fn late_report_reaches_the_log_or_is_ignored() {
    let log = Arc::new(MemoryLog::default());
    let answers =
        (0..30).map(|_| vec![Step::Say("Your order was sent three weeks ago."), Step::Stop(StopReason::EndTurn)]);
    let call = open(&Scripted::new(answers), &log, |config| config);
    let interrupted = || async {
        let speech = answer(&call, LONG).await;
        call.playback_started(speech, call.now_ms());
        pass(500).await;
        // The next words of the caller interrupt it. How much was heard is an estimate until the player reports it.
        turns(&call, 6).await;
        speech
    };
    let report = |speech| call.playback_interrupted(speech, Played::Words("Your order".to_owned()), call.now_ms());
    let speech = interrupted().await;
    assert!(call.conversation().read(|manager| manager.last_summary().is_some()));
    assert!(report(speech).is_applied());
    pass(5_000).await;
    let records = log.read_call(call.conversation().id()).await.unwrap().records;
    let heard = |record: &Record| record.heard().is_some_and(|heard| heard.source() == HeardSource::WordTiming);
    assert_eq!(records.iter().filter(|record| heard(record)).count(), 1);
    // With the report, the message is settled.
    turns(&call, 1).await;
    assert!(call.conversation().read(MessagesManager::pruned) > 0);
    let speech = interrupted().await;
    turns(&call, 8).await;
    assert_eq!(why_ignored(report(speech)), UNKNOWN_SPEECH);
}
