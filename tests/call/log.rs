//! The log of a live call, also if the call is dropped, closed late, or taken over.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use verbale::call::{CallBuilder, CallSession, SpeechId};
use verbale::conversation::{CallEvent, Conversation, Observer};
use verbale::log::{
    CallHeader, CallId, CallLog, Durability, LogErrorKind, LogWriter, MemoryLog, Spool, SpoolSettings, WriterSettings,
};
use verbale::model::Tool;
use verbale::testing::{FaultyLog, LogFault, SpoolMemory};
use verbale::{MessageWrapper, MessagesManager, PlainMessage, Record, Timing};

use crate::support::{START_MS, Scripted, builder, calls, pass, read, shown, turn, words};

fn id() -> CallId {
    CallId::new("CA1").unwrap()
}

fn writer(log: &Arc<MemoryLog>) -> LogWriter {
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    writer
}

fn open(model: &Scripted, writer: &LogWriter) -> CallSession {
    let call = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
    builder(model).system("You answer the phone.").log(call).open().unwrap()
}

fn records(call: &CallSession) -> Vec<Record> {
    call.conversation().read(MessagesManager::records)
}

#[tokio::test(start_paused = true)]
async fn each_turn_is_logged_and_close_waits_for_the_log() {
    let log = Arc::new(MemoryLog::default());
    let writer = writer(&log);
    let call = open(&Scripted::new([words("I am fine, and you?")]), &writer);
    turn(&call, "How are you?").await;
    pass(1_000).await;
    assert_eq!(log.read_call(&id()).await.unwrap().records, records(&call));
    call.caller_said("Well").unwrap();
    let closed = call.close("hangup", Duration::from_secs(5)).await.unwrap();
    assert!(closed.unstored.is_empty() && closed.not_accepted.is_none(), "{closed:?}");
    let logged = log.read_call(&id()).await.unwrap();
    assert_eq!(logged.records, records(&call));
    let call_end = logged.header.unwrap().call_end().cloned().unwrap();
    assert_eq!((call_end.reason.as_ref(), call_end.messages), ("hangup", 4));
    let again = call.close("again", Duration::from_secs(5)).await.unwrap();
    assert!(again.unstored.is_empty());
    let header = log.read_call(&id()).await.unwrap().header.unwrap();
    assert_eq!(header.call_end(), Some(&call_end));
}

#[tokio::test(start_paused = true)]
async fn reopened_call_keeps_its_lease() {
    let renewals = Arc::new(AtomicUsize::new(0));
    let counted = renewals.clone();
    let log = Arc::new(FaultyLog::new(MemoryLog::default(), move |method: &str, _: Option<&CallId>, _| {
        counted.fetch_add(usize::from(method == "change_call"), Ordering::SeqCst);
        None
    }));
    let settings = WriterSettings::default().with_takeover_after(Duration::from_secs(30));
    let (writer, task) = LogWriter::new(log, settings);
    tokio::spawn(task);
    let first = open(&Scripted::default(), &writer);
    first.close("hangup", Duration::from_secs(5)).await.unwrap();
    let renewed = async || {
        let before = renewals.load(Ordering::SeqCst);
        pass(60_000).await;
        renewals.load(Ordering::SeqCst) - before
    };
    assert_eq!(renewed().await, 0);
    let again = CallBuilder::of(first.conversation()).open().unwrap();
    let count = renewed().await;
    assert!((4..=6).contains(&count), "{count}");
    again.close("hangup", Duration::from_secs(5)).await.unwrap();
    assert_eq!(renewed().await, 0);
}

#[tokio::test(start_paused = true)]
async fn reopened_call_has_its_earlier_end_until_it_is_closed_again_or_resumed() {
    let log = Arc::new(MemoryLog::default());
    let first = open(&Scripted::default(), &writer(&log));
    turn(&first, "Hello").await;
    first.close("hangup", Duration::from_secs(5)).await.unwrap();
    let again = CallBuilder::of(first.conversation()).open().unwrap();
    turn(&again, "One more question").await;
    pass(60_000).await;
    let end = async || {
        let header = log.read_call(&id()).await.unwrap().header.unwrap();
        header.call_end().map(|end| (end.reason.to_string(), end.messages))
    };
    assert_eq!(end().await, Some(("hangup".to_owned(), 3)));
    again.close("transfer", Duration::from_secs(5)).await.unwrap();
    assert_eq!(end().await, Some(("transfer".to_owned(), 5)));

    // Another process gets the messages after the end, too, if this one dies.
    let last = CallBuilder::of(first.conversation()).open().unwrap();
    turn(&last, "And another one").await;
    pass(60_000).await;
    std::mem::forget(last);
    let (manager, handle) = writer(&log).resume::<PlainMessage>(&id(), Duration::from_secs(5)).await.unwrap();
    assert_eq!((manager.message_count(), manager.left_out().len()), (7, 0));
    assert_eq!(handle.ended().map(|end| end.messages), Some(5));
    assert_eq!(end().await, None);
}

/// Opens a call with a spool in a log that stores spans, and counts its puts.
fn counted(model: &Scripted, spool: Option<Arc<Spool>>) -> (CallSession, Arc<MemoryLog>, Arc<AtomicUsize>) {
    let (log, puts) = (Arc::new(MemoryLog::default().with_spans()), Arc::new(AtomicUsize::new(0)));
    let counted = puts.clone();
    let count = move |method: &str, _: Option<&CallId>, _| {
        counted.fetch_add(usize::from(method.starts_with("put_")), Ordering::SeqCst);
        None
    };
    let settings = WriterSettings::default();
    let settings = spool.into_iter().fold(settings, WriterSettings::with_spool);
    let (writer, task) = LogWriter::new(Arc::new(FaultyLog::new(log.clone(), count)), settings);
    tokio::spawn(task);
    (open(model, &writer), log, puts)
}

/// Runs a turn until its reply is generated.
async fn replied(call: &CallSession) -> SpeechId {
    call.caller_said("How are you?").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    read(reply).await;
    speech
}

#[tokio::test(start_paused = true)]
async fn turn_is_put_once_with_the_greeting_and_its_playback() {
    let spool = Arc::new(SpoolMemory::default().open(SpoolSettings::default()).unwrap());
    let (call, log, puts) = counted(&Scripted::new([words("I am fine, and you?"), words("Bye.")]), Some(spool));
    let speech = call.say("Welcome.").unwrap();
    pass(40_000).await;
    call.playback_started(speech, call.now_ms());
    pass(3_000).await;
    call.playback_finished(speech, call.now_ms());
    pass(5_000).await;
    assert_eq!(puts.load(Ordering::SeqCst), 0);
    for turns in 1..=2 {
        let speech = replied(&call).await;
        call.playback_started(speech, call.now_ms());
        pass(40_000).await;
        assert_eq!(puts.load(Ordering::SeqCst), turns - 1);
        call.playback_finished(speech, call.now_ms());
        pass(1_000).await;
        assert_eq!(puts.load(Ordering::SeqCst), turns);
        assert_eq!(log.read_call(&id()).await.unwrap().records, records(&call));
    }
}

#[tokio::test(start_paused = true)]
async fn turn_waits_forty_seconds_without_a_spool() {
    let (call, log, puts) = counted(&Scripted::new([words("I am fine, and you?"), words("Bye.")]), None);
    pass(20_000).await;
    assert_eq!(puts.load(Ordering::SeqCst), 0, "the system prompt belongs to the first turn");
    let speech = replied(&call).await;
    call.playback_started(speech, call.now_ms());
    pass(5_000).await;
    call.playback_finished(speech, call.now_ms());
    pass(1_000).await;
    assert_eq!(puts.load(Ordering::SeqCst), 1);
    assert_eq!(log.read_call(&id()).await.unwrap().records, records(&call));
    // A longer turn is put before it ends, and again.
    let speech = replied(&call).await;
    call.playback_started(speech, call.now_ms());
    pass(41_000).await;
    assert_eq!(puts.load(Ordering::SeqCst), 2);
    assert_eq!(log.read_call(&id()).await.unwrap().records.len(), 5);
    call.playback_finished(speech, call.now_ms());
    pass(1_000).await;
    assert_eq!(puts.load(Ordering::SeqCst), 3);
    assert_eq!(log.read_call(&id()).await.unwrap().records, records(&call));
}

#[tokio::test(start_paused = true)]
async fn outcome_of_an_act_is_stored_at_once_without_a_spool() {
    for spool in [None, Some(Arc::new(SpoolMemory::default().open(SpoolSettings::default()).unwrap()))] {
        for acts in [true, false] {
            let schema = verbale::Value::map([("type", verbale::Value::from("object"))]).unwrap();
            let spec = verbale::model::ToolSpec::new("book", "Books.", schema).unwrap();
            let tool = Tool::raw(spec, async |_: verbale::Value, _| {
                Ok::<_, verbale::model::ToolError>(vec![verbale::message::ResultContent::from("BOOKED-78")])
            });
            let tool = if acts { tool.acts_once() } else { tool.read_only() };
            let log = Arc::new(MemoryLog::default().with_spans());
            let settings = spool.iter().cloned().fold(WriterSettings::default(), WriterSettings::with_spool);
            let (writer, task) = LogWriter::new(log.clone(), settings);
            tokio::spawn(task);
            let log_call = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
            let model = Scripted::new([calls("One moment. ", "c1", "book"), words("Done.")]);
            let call = builder(&model).tool(tool).log(log_call).open().unwrap();
            let speech = replied(&call).await;
            call.playback_started(speech, call.now_ms());
            pass(1_000).await;
            let stored: String = log
                .read_call(&id())
                .await
                .unwrap()
                .records
                .iter()
                .map(|it| serde_json::to_string(it).unwrap())
                .collect();
            let is_stored = acts && spool.is_none();
            assert_eq!((stored.contains("BOOKED-78"), stored.contains("Done.")), (is_stored, false), "{stored}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn reply_is_logged_once_with_its_playback_or_after_a_while() {
    for is_reported in [true, false] {
        let log = Arc::new(MemoryLog::default());
        let writes = Arc::new(AtomicUsize::new(0));
        let counted = writes.clone();
        let count = move |method: &str, _: Option<&CallId>, _| {
            counted.fetch_add(usize::from(method == "put_record"), Ordering::SeqCst);
            None
        };
        let (writer, task) = LogWriter::new(Arc::new(FaultyLog::new(log.clone(), count)), WriterSettings::default());
        tokio::spawn(task);
        let call = open(&Scripted::new([words("I am fine, and you?")]), &writer);
        call.caller_said("How are you?").unwrap();
        let mut reply = call.reply().unwrap();
        let speech = reply.speech();
        while reply.next().await.is_some() {}
        pass(500).await;
        call.playback_started(speech, call.now_ms());
        // The words of the caller do not wait.
        assert_eq!(log.read_call(&id()).await.unwrap().records.len(), 2);
        pass(800).await;
        if is_reported {
            call.playback_finished(speech, call.now_ms());
            pass(300).await;
        } else {
            pass(2_000).await;
        }
        let logged = log.read_call(&id()).await.unwrap().records;
        assert_eq!((logged.len(), writes.load(Ordering::SeqCst)), (3, 3));
        assert!(logged[2].metadata().timing(Timing::PlayEnd).is_some() == is_reported);
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_call_is_logged() {
    let log = Arc::new(MemoryLog::default());
    let writer = writer(&log);
    let call = open(&Scripted::new([words("I am fine, and you?")]), &writer);
    call.caller_said("How are you?").unwrap();
    let reply = call.reply().unwrap();
    pass(225).await;
    drop(call);
    assert_eq!(read(reply).await.1, verbale::call::ReplyEnd::Interrupted);
    assert!(writer.flush(Duration::from_secs(5)).await.is_empty());
    let logged = log.read_call(&id()).await.unwrap();
    let manager = MessagesManager::<PlainMessage>::restore(logged.records).unwrap();
    let last = manager.meta_messages().last().unwrap().message().clone();
    assert_eq!(last.contents().texts().next().unwrap().as_str(), "I am fine, ");
}

#[tokio::test(start_paused = true)]
async fn another_process_continues_the_call() {
    let log = Arc::new(MemoryLog::default());
    let slow = |_: verbale::Value, _: verbale::model::ToolContext| async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(vec!["late".into()])
    };
    let schema = verbale::Value::map([("type", verbale::Value::from("object"))]).unwrap();
    let spec = verbale::model::ToolSpec::new("transfer", "It transfers.", schema).unwrap();
    let first = writer(&log);
    let model = Scripted::new([calls("One moment. ", "c1", "transfer")]);
    let header = CallHeader::new(id(), START_MS).unwrap();
    let old = builder(&model)
        .system("You answer the phone.")
        .tool(Tool::raw(spec, slow))
        .log(first.open(header).unwrap())
        .open()
        .unwrap();
    old.caller_said("Transfer it").unwrap();
    let reply = old.reply().unwrap();
    pass(1_000).await;

    let second = writer(&log);
    let (manager, call_writer) = second.resume(&id(), Duration::from_secs(5)).await.unwrap();
    let model = Scripted::new([words("I do not know.")]);
    let new = builder(&model).system("You answer the phone.").log(call_writer).resume(manager).unwrap();
    assert_eq!(
        shown(&new),
        [
            "system \"You answer the phone.\"",
            "user \"Transfer it\"",
            "assistant \"One moment. \" call(c1)",
            "user result(c1: OutcomeUnknown)"
        ]
    );
    new.caller_said("Did you?").unwrap();
    assert_eq!(read(new.reply().unwrap()).await.0, "I do not know.");
    // The old session learns that the call was taken over.
    pass(20_000).await;
    drop(reply);
    old.caller_said("Hello?").unwrap();
    old.reply().unwrap();
    pass(1_000).await;
    old.say("One more").ok();
    assert!(old.conversation().not_logged().is_some());
    assert_eq!(old.conversation().log_level(), Some(Durability::Accepted), "what was refused is not stored");
    let closed = new.close("hangup", Duration::from_secs(5)).await.unwrap();
    assert!(closed.unstored.is_empty());
    assert_eq!(log.read_call(&id()).await.unwrap().records, records(&new));
}

/// Collects the levels of the log.
#[derive(Clone, Default)]
struct Levels(Arc<Mutex<Vec<Durability>>>);

impl Observer for Levels {
    fn observe(&self, _: &CallId, event: &CallEvent) {
        if let CallEvent::LogLevel { durability } = event {
            self.0.lock().unwrap().push(*durability);
        }
    }
}

impl Levels {
    fn take(&self) -> Vec<Durability> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn words_are_not_stored_before_the_log_has_them() {
    let (writer, task) = LogWriter::new(Arc::new(MemoryLog::default()), WriterSettings::default());
    tokio::spawn(task);
    let handle = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
    let call = builder(&Scripted::new([])).log(handle).open().unwrap();
    pass(5_000).await;
    for words in ["How are you?", "Are you there?"] {
        assert_eq!(call.conversation().log_level(), Some(Durability::Stored));
        call.caller_said(words).unwrap();
        // The writer's task has not run yet.
        assert_eq!(call.conversation().log_level(), Some(Durability::Accepted));
        pass(60_000).await;
    }
    assert_eq!(call.conversation().log_level(), Some(Durability::Stored));
}

#[tokio::test(start_paused = true)]
async fn late_observer_sees_how_durable_the_call_is_once() {
    let (writer, task) = LogWriter::new(Arc::new(MemoryLog::default()), WriterSettings::default());
    tokio::spawn(task);
    let conversation = Conversation::new(id());
    conversation.log(writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap());
    pass(5_000).await;
    let levels = Levels::default();
    let conversation = conversation.with_observer(Levels::default()).with_observer(levels.clone());
    conversation.add_user("How are you?").unwrap();
    pass(60_000).await;
    assert_eq!(levels.take(), [Durability::Accepted, Durability::Stored]);
}

#[tokio::test(start_paused = true)]
async fn observer_sees_how_durable_the_call_is() {
    let is_away = Arc::new(AtomicBool::new(false));
    let away = is_away.clone();
    let fault = move |method: &str, _: Option<&CallId>, _| {
        (method == "put_record" && away.load(Ordering::SeqCst)).then_some(LogFault::Fail(LogErrorKind::Unavailable))
    };
    let log = Arc::new(FaultyLog::new(MemoryLog::default(), fault));
    for with_spool in [false, true] {
        let mut settings = WriterSettings::default();
        if with_spool {
            let spool = SpoolMemory::default().open(SpoolSettings::default()).unwrap();
            settings = settings.with_spool(Arc::new(spool));
        }
        let (writer, task) = LogWriter::new(log.clone(), settings);
        tokio::spawn(task);
        let levels = Levels::default();
        let id = CallId::new(format!("CA{with_spool}")).unwrap();
        let handle = writer.open(CallHeader::new(id, START_MS).unwrap()).unwrap();
        let model = Scripted::new([words("I am fine, and you?"), words("Good."), words("Bye.")]);
        let call = builder(&model).observer(levels.clone()).log(handle).open().unwrap();
        turn(&call, "How are you?").await;
        pass(5_000).await;
        assert_eq!(levels.take().last(), Some(&Durability::Stored));

        is_away.store(true, Ordering::SeqCst);
        turn(&call, "Well").await;
        pass(5_000).await;
        let lowest = if with_spool { Durability::Spooled } else { Durability::Accepted };
        assert_eq!(levels.take().last(), Some(&lowest));
        let word = if with_spool { "spooled" } else { "accepted" };
        assert_eq!(level_of_last_turn(&call).as_deref(), Some(word));
        is_away.store(false, Ordering::SeqCst);
        pass(60_000).await;
        assert_eq!(levels.take(), [Durability::Stored]);
        call.caller_said("Bye").unwrap();
        pass(5_000).await;
        read(call.reply().unwrap()).await;
        assert_eq!(level_of_last_turn(&call), None, "the log has all that was there when the turn began");
    }
}

/// The level of the log in the record of the last turn.
fn level_of_last_turn(call: &CallSession) -> Option<String> {
    call.conversation().read(|manager| {
        let turn = manager.meta_messages().iter().filter_map(|wrapper| wrapper.message().metadata().turn()).next_back();
        serde_json::to_value(turn.unwrap()).unwrap().get("log").map(|log| log.as_str().unwrap().to_owned())
    })
}

#[tokio::test(start_paused = true)]
async fn close_and_finish_end_at_their_deadline_if_the_task_of_the_log_never_runs() {
    const LIMIT: Duration = Duration::from_secs(5);
    let (writer, _task) = LogWriter::new(Arc::new(MemoryLog::default()), WriterSettings::default());
    let call = open(&Scripted::new([words("I am fine, and you?")]), &writer);
    turn(&call, "How are you?").await;
    let started = Instant::now();
    let closed = call.close("hangup", LIMIT).await.unwrap();
    assert!(started.elapsed() <= LIMIT, "{:?}", started.elapsed());
    assert!(closed.not_accepted.is_none() && !closed.unstored.is_empty(), "{closed:?}");

    let started = Instant::now();
    let unstored = call.conversation().finish("over", LIMIT).await.unwrap();
    assert!(started.elapsed() <= LIMIT && !unstored.is_empty(), "{:?}: {unstored:?}", started.elapsed());
}
