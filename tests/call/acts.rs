//! Tools that act: the log has a call before it runs, one wish has one effect, and the caller hears a late outcome.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::sleep;
use verbale::call::{CallSession, ReplyEnd, ReplyEvent, SpeechId};
use verbale::conversation::CallEvent;
use verbale::log::{CallHeader, CallId, CallLog, LogErrorKind, LogWriter, MemoryLog, Redaction, WriterSettings};
use verbale::message::ResultContent;
use verbale::model::{Failure, Inference, StopReason, Tool, ToolContext, ToolError, ToolSpec};
use verbale::testing::{FaultyLog, LogFault};
use verbale::{MessagesManager, PlainMessage, Value};

use crate::support::{START_MS, Scripted, Step, builder, calls, pass, read, shown, window, words};

pub fn id() -> CallId {
    CallId::new("CA1").unwrap()
}

/// A log that can be away.
pub struct Log {
    pub log: Arc<FaultyLog<MemoryLog>>,
    is_away: Arc<AtomicBool>,
}

impl Log {
    pub fn new() -> Self {
        let is_away = Arc::new(AtomicBool::new(false));
        let away = is_away.clone();
        let fault = move |method: &str, _: Option<&CallId>, _| {
            (method == "put_record" && away.load(Ordering::SeqCst)).then_some(LogFault::Fail(LogErrorKind::Unavailable))
        };
        Self { log: Arc::new(FaultyLog::new(MemoryLog::default(), fault)), is_away }
    }

    pub fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    pub fn open(&self, model: &Scripted, tool: Tool) -> CallSession {
        self.open_with(model, tool, WriterSettings::default())
    }

    pub fn open_with(&self, model: &Scripted, tool: Tool, settings: WriterSettings) -> CallSession {
        let (writer, task) = LogWriter::new(self.log.clone(), settings);
        tokio::spawn(task);
        let call = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
        builder(model).tool(tool).log(call).open().unwrap()
    }

    /// Takes the call over, as another process does after this one has died.
    pub async fn resume(&self, model: &Scripted, tool: Tool) -> CallSession {
        self.resume_with(model, tool, WriterSettings::default()).await
    }

    pub async fn resume_with(&self, model: &Scripted, tool: Tool, settings: WriterSettings) -> CallSession {
        let (writer, task) = LogWriter::new(self.log.clone(), settings);
        tokio::spawn(task);
        let (manager, call) = writer.resume::<PlainMessage>(&id(), Duration::from_secs(5)).await.unwrap();
        builder(model).tool(tool).log(call).resume(manager).unwrap()
    }

    pub async fn stored(&self) -> String {
        self.log.read_call(&id()).await.unwrap().records.iter().map(|r| serde_json::to_string(r).unwrap()).collect()
    }
}

/// A booking system that counts its effects.
#[derive(Clone, Default)]
pub struct Bookings {
    began: Arc<AtomicUsize>,
    done: Arc<AtomicUsize>,
    keys: Arc<Mutex<Vec<String>>>,
}

impl Bookings {
    /// A tool that takes some time.
    pub fn tool(&self, takes_ms: u64) -> Tool {
        let bookings = self.clone();
        let schema = Value::map([("type", Value::from("object"))]).unwrap();
        Tool::raw(ToolSpec::new("book", "Books a flight.", schema).unwrap(), move |_: Value, context: ToolContext| {
            let bookings = bookings.clone();
            async move {
                bookings.began.fetch_add(1, Ordering::SeqCst);
                bookings.keys.lock().unwrap().push(context.idempotency_key().to_owned());
                sleep(Duration::from_millis(takes_ms)).await;
                bookings.done.fetch_add(1, Ordering::SeqCst);
                Ok::<_, ToolError>(vec![ResultContent::from("BOOKED-78")])
            }
        })
    }

    pub fn counts(&self) -> (usize, usize) {
        (self.began.load(Ordering::SeqCst), self.done.load(Ordering::SeqCst))
    }
}

/// Keeps the events of a call.
#[derive(Clone, Default)]
pub struct Seen(pub Arc<Mutex<Vec<CallEvent>>>);

impl verbale::conversation::Observer for Seen {
    fn observe(&self, _: &CallId, event: &CallEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

pub async fn ask(call: &CallSession, said: &str) -> String {
    call.caller_said(said).unwrap();
    read(call.reply().unwrap()).await.0
}

#[tokio::test(start_paused = true)]
async fn act_is_stored_with_its_key_before_it_runs() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([calls("One moment. ", "c1", "book"), words("Done.")]);
    let seen = Arc::new(Mutex::new(String::new()));
    let (watched, at_start) = (log.log.clone(), seen.clone());
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    let tool = Tool::raw(ToolSpec::new("book", "Books.", schema).unwrap(), move |_: Value, context: ToolContext| {
        let (watched, at_start) = (watched.clone(), at_start.clone());
        async move {
            let records = watched.read_call(&id()).await?.records;
            let records: String = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
            *at_start.lock().unwrap() = records;
            Ok::<_, ToolError>(vec![ResultContent::from(context.idempotency_key())])
        }
    });
    let call = log.open(&model, tool.acts_once());
    assert_eq!(ask(&call, "Book it").await, "One moment. Done.");
    let (stored, key) = (seen.lock().unwrap().clone(), bookings.keys.lock().unwrap().first().cloned());
    assert_eq!(key, None);
    assert!(stored.contains("Book it") && stored.contains("\"c1\""), "{stored}");
    let record = log.stored().await;
    let (_, after) = record.split_once("\"idempotencyKey\":\"").unwrap();
    let key = &after[..32];
    assert!(key.chars().all(|digit| digit.is_ascii_hexdigit()) && stored.contains(key), "{record}");
    assert!(record.contains(&format!("\"content\":[\"{key}\"]")), "{record}");
}

#[tokio::test(start_paused = true)]
async fn act_does_not_run_without_the_log() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([calls("", "c1", "book"), words("That could not be done.")]);
    let call = log.open(&model, bookings.tool(100).acts_once());
    log.set_away(true);
    let begun = call.now_ms();
    assert_eq!(ask(&call, "Book it").await, "That could not be done.");
    assert!((2_000..3_000).contains(&(call.now_ms() - begun)), "{}", call.now_ms() - begun);
    assert!(shown(&call)[2].contains("c1: NotRun"), "{:?}", shown(&call));
    log.set_away(false);
    pass(60_000).await;
    assert_eq!(bookings.counts(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn caller_hears_that_nothing_was_done_if_the_model_fails_too() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let denied = vec![Step::Fail(Failure::Denied(String::new()))];
    let call = log.open(&Scripted::new([calls("", "c1", "book"), denied]), bookings.tool(100).acts_once());
    log.set_away(true);
    assert!(ask(&call, "Book it").await.contains("nothing was changed"));
    assert_eq!(bookings.counts(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn dead_letter_holds_back_only_the_act_that_it_contains() {
    for (refused, counts) in [(1, (1, 1)), (2, (0, 0))] {
        let fault = move |method: &str, _: Option<&CallId>, number| {
            (method == "put_record" && number == refused).then_some(LogFault::Fail(LogErrorKind::Refused))
        };
        let log = Arc::new(FaultyLog::new(MemoryLog::default(), fault));
        let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
        tokio::spawn(task);
        let handle = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
        let bookings = Bookings::default();
        let model = Scripted::new([calls("", "c1", "book"), words("Done.")]);
        let call = builder(&model).tool(bookings.tool(0).acts_once()).log(handle).open().unwrap();
        ask(&call, "Book it").await;
        assert_eq!(bookings.counts(), counts, "record {refused} is refused");
    }
}

#[tokio::test(start_paused = true)]
async fn other_tools_wait_a_little_and_report_it() {
    let seen = Seen::default();
    for (read_only, waited_ms, is_reported) in [(true, 0, false), (false, 300, true)] {
        let (log, bookings) = (Log::new(), Bookings::default());
        let model = Scripted::new([calls("", "c1", "book"), words("Done.")]);
        let tool = bookings.tool(0);
        let (writer, task) = LogWriter::new(log.log.clone(), WriterSettings::default());
        tokio::spawn(task);
        let handle = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
        let tool = if read_only { tool.read_only() } else { tool };
        let call = builder(&model).tool(tool).log(handle).observer(seen.clone()).open().unwrap();
        log.set_away(true);
        let begun = call.now_ms();
        assert_eq!(ask(&call, "Book it").await, "Done.");
        // The model takes 100 ms and 210 ms.
        let took = call.now_ms() - begun - 310;
        assert!((waited_ms - 20..=waited_ms + 20).contains(&took), "{took} ms");
        let mut events = seen.0.lock().unwrap();
        assert_eq!(events.iter().any(|event| matches!(event, CallEvent::ToolUnlogged { .. })), is_reported);
        events.clear();
    }
}

#[tokio::test(start_paused = true)]
async fn tool_that_acts_once_needs_a_log() {
    let bookings = Bookings::default();
    let refused = builder(&Scripted::default()).tool(bookings.tool(0).acts_once()).open().unwrap_err();
    assert!(refused.to_string().contains("acts once, which needs a log"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn service_runs_an_act_only_once_it_is_stored() {
    let log = Log::new();
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    let tool = Tool::external(ToolSpec::new("book", "Books a flight.", schema).unwrap()).acts_once();
    let call = log.open(&Scripted::new([calls("", "c1", "book"), words("No.")]), tool);
    log.set_away(true);
    call.caller_said("Book it").unwrap();
    let mut reply = call.reply().unwrap();
    while let Some(event) = reply.next().await {
        assert!(!matches!(event, ReplyEvent::ToolCalled(_)), "{event:?}");
    }
    assert!(shown(&call)[2].contains("c1: NotRun"));
}

#[tokio::test(start_paused = true)]
async fn running_act_is_not_made_again() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([
        calls("One moment. ", "c1", "book"),
        calls("", "c2", "book"),
        words("It is running."),
        words("It is booked."),
    ]);
    let call = log.open(&model, bookings.tool(10_000).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    // The caller is impatient.
    assert_eq!(ask(&call, "Book it now").await, "It is running.");
    drop(reply);
    pass(20_000).await;
    assert_eq!(bookings.counts(), (1, 1));
    // The result arrived between two replies. It can be reported without new words of the caller.
    assert!(call.is_answerable());
    assert_eq!(read(call.reply().unwrap()).await.0, "It is booked.");
    assert!(!call.is_answerable());
}

#[tokio::test(start_paused = true)]
async fn deadline_ends_the_waiting_and_not_the_tool() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([
        calls("", "c1", "book"),
        words("I do not know yet."),
        calls("", "c2", "book"),
        words("Still running."),
        words("It is booked."),
    ]);
    let call = log.open(&model, bookings.tool(40_000).acts_once());
    assert_eq!(ask(&call, "Book it").await, "I do not know yet.");
    assert!(shown(&call)[2].contains("c1: OutcomeUnknown"));
    assert_eq!(ask(&call, "Book it!").await, "Still running.");
    assert!(shown(&call)[6].contains("c2: NotRun"), "{:?}", shown(&call));
    pass(60_000).await;
    assert_eq!(bookings.counts(), (1, 1));
    assert!(shown(&call)[2].contains("c1: done"), "{:?}", shown(&call));
    assert!(log.stored().await.contains("BOOKED-78"));
    assert_eq!(read(call.reply().unwrap()).await.0, "It is booked.");
    let asked = model.requests().last().unwrap().messages.last().cloned().unwrap();
    assert!(crate::support::line(&asked).contains("The result of an earlier tool call has arrived"));
}

#[tokio::test(start_paused = true)]
async fn successor_does_not_repeat_an_act_whose_outcome_is_unknown() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let first = Scripted::new([calls("One moment. ", "c1", "book")]);
    let call = log.open(&first, bookings.tool(5_000).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    assert_eq!(bookings.counts(), (1, 0));
    // The first process dies: its handles are forgotten, and the log is all that is left.
    std::mem::forget((call, reply));
    let model = Scripted::new([calls("", "c2", "book"), words("I do not know whether it is booked.")]);
    let call = log.resume(&model, bookings.tool(0).acts_once()).await;
    assert_eq!(ask(&call, "Book it!").await, "I do not know whether it is booked.");
    assert!(model.requests()[0].memory.as_ref().is_none_or(|memory| memory.contains("unknown")));
    assert_eq!(bookings.counts().0, 1);
    let record = log.stored().await;
    let keys: Vec<&str> = record.split("\"idempotencyKey\":\"").skip(1).map(|rest| &rest[..32]).collect();
    assert_eq!((keys.len(), keys[0]), (2, keys[1]));
}

/// A call of `book` with these arguments.
fn books(id: &'static str, arguments: &'static str) -> Vec<Step> {
    vec![Step::Wait(100), Step::CallWith(id, "book", arguments), Step::Stop(StopReason::ToolUse), Step::Use(10)]
}

/// Settings that remove the names of two callers from the log.
fn redacting() -> WriterSettings {
    let names = |text: &str| {
        let found = ["Nadia", "Tom"].into_iter().flat_map(|name| text.match_indices(name));
        Ok(found.map(|(at, name)| Redaction::new("name", at..at + name.len(), "[name]")).collect())
    };
    WriterSettings::default().with_redactor(Arc::new(names))
}

const NADIA: &str = r#"{"name": "Nadia", "seat": 7}"#;

#[tokio::test(start_paused = true)]
async fn redacted_act_is_recognized_after_a_takeover() {
    // By its seat, whatever the name.
    let by_seat = |tool: Tool| {
        let seat = |arguments: &Value| serde_json::to_value(arguments).unwrap()["seat"].clone();
        tool.same_act(move |earlier, later| seat(earlier) == seat(later))
    };
    for declare in [by_seat as fn(Tool) -> Tool, |tool| tool] {
        let (log, bookings) = (Log::new(), Bookings::default());
        let tool = |takes_ms| declare(bookings.tool(takes_ms).acts_once());
        let call = log.open_with(&Scripted::new([books("c1", NADIA)]), tool(5_000), redacting());
        call.caller_said("Book it").unwrap();
        let reply = call.reply().unwrap();
        pass(1_000).await;
        assert_eq!(bookings.counts(), (1, 0));
        std::mem::forget((call, reply));
        assert!(!log.stored().await.contains("Nadia"));
        let other = r#"{"name": "Nadia", "seat": 8}"#;
        let model = Scripted::new([books("c2", NADIA), words("Unknown."), books("c3", other), words("Booked.")]);
        let call = log.resume_with(&model, tool(0), redacting()).await;
        assert_eq!(ask(&call, "Book it!").await, "Unknown.");
        assert_eq!(bookings.counts().0, 1);
        assert_eq!(ask(&call, "And seat 8").await, "Booked.");
        assert_eq!(bookings.counts().0, 2);
        let record = log.stored().await;
        let keys: Vec<&str> = record.split("\"idempotencyKey\":\"").skip(1).map(|rest| &rest[..32]).collect();
        assert_eq!(keys[0], keys[1]);
        assert_ne!(keys[0], keys[2]);
    }
}

#[tokio::test(start_paused = true)]
async fn result_of_a_redacted_act_is_not_given_for_an_act_that_may_differ() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([books("c1", NADIA), words("It is booked.")]);
    let call = log.open_with(&model, bookings.tool(0).acts_once(), redacting());
    assert_eq!(ask(&call, "Book it").await, "It is booked.");
    pass(1_000).await;
    std::mem::forget(call);
    let tom = || books("c2", r#"{"name": "Tom", "seat": 7}"#);
    let again = books("c3", r#"{"name": "Tom", "seat": 7}"#);
    let model = Scripted::new([tom(), words("Seat 7 is booked for Nadia."), again, words("And for Tom.")]);
    let call = log.resume_with(&model, bookings.tool(0).acts_once(), redacting()).await;
    call.caller_said("Book it for Tom").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    read(reply).await;
    assert!(shown(&call).iter().any(|line| line.contains("c2: NotRun")), "{:?}", shown(&call));
    // Once the caller knows of the first, the second runs.
    play(&call, speech);
    assert_eq!(ask(&call, "And for Tom").await, "And for Tom.");
    assert_eq!(bookings.counts(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn act_does_not_run_in_an_erased_call() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let (writer, task) = LogWriter::new(log.log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let handle = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
    let slow = vec![Step::Wait(1_000), Step::Call("c1", "book"), Step::Stop(StopReason::ToolUse)];
    let model = Scripted::new([slow, words("It was not booked.")]);
    let call = builder(&model).tool(bookings.tool(0).acts_once()).log(handle).open().unwrap();
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(500).await;
    // Another process erases the call.
    log.log.erase_call(&id()).await.unwrap();
    assert_eq!(read(reply).await.0, "It was not booked.");
    assert_eq!(bookings.counts(), (0, 0));
    assert!(shown(&call)[2].contains("c1: NotRun"), "{:?}", shown(&call));
}

#[tokio::test(start_paused = true)]
async fn tool_call_counts_as_the_first_token() {
    // The usage follows long after the call, but the model has answered.
    let answer = vec![Step::Wait(7_000), Step::Call("c1", "book"), Step::Wait(2_000), Step::Stop(StopReason::ToolUse)];
    let bookings = Bookings::default();
    let model = Scripted::new([answer, words("Booked.")]);
    let call = builder(&model).tool(bookings.tool(0)).open().unwrap();
    assert_eq!(ask(&call, "Book it").await, "Booked.");
    assert_eq!((bookings.counts(), model.requests().len()), ((1, 1), 2));
}

#[tokio::test(start_paused = true)]
async fn successor_repeats_an_act_with_its_key_if_the_service_deduplicates() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let tool = |takes_ms| bookings.tool(takes_ms).acts_once().deduplicates_by_key();
    let call = log.open(&Scripted::new([calls("One moment. ", "c1", "book")]), tool(5_000));
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    std::mem::forget((call, reply));
    let call = log.resume(&Scripted::new([calls("", "c2", "book"), words("Booked.")]), tool(0)).await;
    assert_eq!(ask(&call, "Book it!").await, "Booked.");
    let keys = bookings.keys.lock().unwrap().clone();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
}

#[tokio::test(start_paused = true)]
async fn successor_looks_up_what_became_of_an_act() {
    for (found, outcome) in [(true, "c1: done"), (false, "c1: OutcomeUnknown")] {
        let (log, bookings) = (Log::new(), Bookings::default());
        let call = log.open(&Scripted::new([calls("One moment. ", "c1", "book")]), bookings.tool(5_000).acts_once());
        call.caller_said("Book it").unwrap();
        let reply = call.reply().unwrap();
        pass(1_000).await;
        std::mem::forget((call, reply));
        let key = bookings.keys.lock().unwrap()[0].clone();
        let tool = bookings.tool(0).acts_once().resume(move |context: ToolContext| {
            assert_eq!(context.idempotency_key(), key);
            async move { Ok(found.then(|| vec![ResultContent::from("BOOKED-78")])) }
        });
        let call = log.resume(&Scripted::new([words("It is booked.")]), tool).await;
        pass(1).await;
        assert!(shown(&call)[2].contains(outcome), "{:?}", shown(&call));
        assert!(call.is_answerable());
    }
}

#[tokio::test(start_paused = true)]
async fn untold_success_is_told_and_not_repeated() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let denied = vec![Step::Fail(Failure::Denied(String::new()))];
    let model = Scripted::new([
        calls("", "c1", "book"),
        denied,
        calls("", "c2", "book"),
        words("It is booked."),
        calls("", "c3", "book"),
        words("The second one, too."),
    ]);
    let call = log.open(&model, bookings.tool(100).acts_once());
    // The apology asks the caller to repeat, and the model makes the call again.
    assert!(ask(&call, "Book it").await.contains("say that again"));
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    assert_eq!(read(reply).await.0, "It is booked.");
    assert_eq!(bookings.counts(), (1, 1));
    assert!(shown(&call).iter().any(|line| line.contains("c2: done")), "{:?}", shown(&call));
    call.playback_started(speech, call.now_ms());
    call.playback_finished(speech, call.now_ms() + 1_000);
    // Now the caller knows, and may want another one.
    assert_eq!(ask(&call, "And one for my wife").await, "The second one, too.");
    assert_eq!(bookings.counts(), (2, 2));
    let keys = bookings.keys.lock().unwrap().clone();
    assert_ne!(keys[0], keys[1]);
}

/// Plays a speech to its end.
fn play(call: &CallSession, speech: SpeechId) {
    call.playback_started(speech, call.now_ms());
    call.playback_finished(speech, call.now_ms() + 1_000);
}

/// An answer that calls the tool twice.
fn twice(first: &'static str, second: &'static str) -> Vec<Step> {
    let mut steps = calls("", first, "book");
    steps.insert(1, Step::Call(second, "book"));
    steps
}

/// A call in which `c1` succeeded at once, and the reply about it was begun.
async fn told(log: &Log, bookings: &Bookings, answer: Vec<Step>) -> (CallSession, SpeechId, String) {
    let call = log.open(
        &Scripted::new([calls("", "c1", "book"), answer, calls("", "c2", "book"), words("It is booked.")]),
        bookings.tool(0).acts_once(),
    );
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    let (text, _) = read(reply).await;
    (call, speech, text)
}

/// Takes the call over and asks again. Returns what the successor says.
async fn asked_again(log: &Log, bookings: &Bookings, call: CallSession) -> String {
    pass(1_000).await;
    std::mem::forget(call);
    let model = Scripted::new([calls("", "c2", "book"), words("It is booked.")]);
    let call = log.resume(&model, bookings.tool(0).acts_once()).await;
    ask(&call, "Book it!").await
}

#[tokio::test(start_paused = true)]
async fn attempts_in_one_answer_share_their_key() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let call = log.open(&Scripted::new([twice("c1", "c2")]), bookings.tool(5_000).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    assert_eq!(bookings.counts(), (1, 0));
    std::mem::forget((call, reply));
    let record = log.stored().await;
    let keys: Vec<&str> = record.split("\"idempotencyKey\":\"").skip(1).map(|rest| &rest[..32]).collect();
    assert_eq!((keys.len(), keys[0]), (2, keys[1]));
    // The second call did not run. The first may have acted.
    let model = Scripted::new([calls("", "c3", "book"), words("I do not know.")]);
    let call = log.resume(&model, bookings.tool(0).acts_once()).await;
    assert_eq!(ask(&call, "Book it!").await, "I do not know.");
    assert_eq!(bookings.counts().0, 1);
}

#[tokio::test(start_paused = true)]
async fn incomplete_reply_reports_no_outcome() {
    let cut = vec![Step::Wait(200), Step::Say("It is "), Step::Fail(Failure::Cut)];
    let too_long = vec![Step::Wait(200), Step::Say("It is "), Step::Stop(StopReason::MaxTokens)];
    for answer in [cut, too_long] {
        let (log, bookings) = (Log::new(), Bookings::default());
        let (call, speech, text) = told(&log, &bookings, answer).await;
        assert!(text.starts_with("It is "), "{text}");
        play(&call, speech);
        assert!(call.is_answerable());
        assert_eq!(ask(&call, "Pardon?").await, "It is booked.");
        assert_eq!(bookings.counts(), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn interrupted_reply_reports_no_outcome_though_its_beginning_was_played() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let slow = vec![Step::Wait(200), Step::Say("Well, "), Step::Hang];
    let model = Scripted::new([calls("", "c1", "book"), slow, calls("", "c2", "book"), words("It is booked.")]);
    let call = log.open(&model, bookings.tool(0).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    pass(2_000).await;
    call.playback_started(speech, call.now_ms() - 1_000);
    call.playback_finished(speech, call.now_ms());
    assert_eq!(ask(&call, "Did you book it?").await, "It is booked.");
    assert_eq!(bookings.counts(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn change_of_the_conversation_reports_no_outcome() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let (call, speech, _) = told(&log, &bookings, words("It is booked.")).await;
    call.playback_started(speech, call.now_ms());
    pass(300).await;
    call.caller_started_speaking(call.now_ms());
    call.conversation().add_system("The caller is a regular.").unwrap();
    assert_eq!(ask(&call, "Book it").await, "It is booked.");
    assert_eq!(bookings.counts(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn successor_counts_only_played_replies_as_heard() {
    for is_played in [false, true] {
        let (log, bookings) = (Log::new(), Bookings::default());
        let (call, speech, _) = told(&log, &bookings, words("It is booked.")).await;
        call.playback_started(speech, call.now_ms());
        if is_played {
            call.playback_finished(speech, call.now_ms() + 1_000);
        }
        assert_eq!(asked_again(&log, &bookings, call).await, "It is booked.");
        assert_eq!(bookings.counts().0, if is_played { 2 } else { 1 });
    }
}

/// Hears the reply that is due, after which none is.
async fn tells(call: &CallSession, words: &str) {
    assert!(call.is_answerable());
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    assert_eq!(read(reply).await.0, words);
    play(call, speech);
    assert!(!call.is_answerable());
}

#[tokio::test(start_paused = true)]
async fn successor_tells_what_was_not_heard() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let (call, ..) = told(&log, &bookings, words("It is booked.")).await;
    pass(1_000).await;
    std::mem::forget(call);
    let call = log.resume(&Scripted::new([words("It is booked.")]), bookings.tool(0).acts_once()).await;
    tells(&call, "It is booked.").await;
}

#[tokio::test(start_paused = true)]
async fn successor_does_not_count_an_interrupted_reply_as_heard() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let (call, speech, _) = told(&log, &bookings, words("It is booked.")).await;
    // By its estimate, the session believes that everything was heard.
    call.playback_started(speech, call.now_ms() - 10_000);
    call.caller_started_speaking(call.now_ms());
    assert_eq!(asked_again(&log, &bookings, call).await, "It is booked.");
    assert_eq!(bookings.counts().0, 1);
}

#[tokio::test(start_paused = true)]
async fn successor_does_not_count_a_reply_as_heard_that_was_asked_for_before_the_result() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let slow = vec![Step::Wait(6_000), Step::Say("One moment."), Step::Stop(StopReason::EndTurn)];
    let model = Scripted::new([calls("", "c1", "book"), slow]);
    let call = log.open(&model, bookings.tool(5_000).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    call.caller_said("Please").unwrap();
    drop(reply);
    // The result arrives while the model answers.
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    read(reply).await;
    assert_eq!(bookings.counts(), (1, 1));
    play(&call, speech);
    assert_eq!(asked_again(&log, &bookings, call).await, "It is booked.");
    assert_eq!(bookings.counts().0, 1);
}

#[tokio::test(start_paused = true)]
async fn interrupted_outcome_is_told_again_though_all_words_count_as_heard() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let again = [calls("", "c1", "book"), words("It is booked."), words("I said that it is booked.")];
    let call = log.open(&Scripted::new(again), bookings.tool(0).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    read(reply).await;
    call.playback_started(speech, call.now_ms() - 10_000);
    call.caller_started_speaking(call.now_ms());
    // The caller only seemed to speak.
    call.caller_said("").unwrap();
    tells(&call, "I said that it is booked.").await;
}

#[tokio::test(start_paused = true)]
async fn late_outcome_is_told_again_after_a_cut_reply_that_nobody_heard() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let cut = vec![Step::Say("It "), Step::Stop(StopReason::Filtered)];
    let replies = [calls("", "c1", "book"), words("It takes long."), cut, words("It is booked.")];
    let call = log.open(&Scripted::new(replies), bookings.tool(20_000).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    assert_eq!(read(reply).await.0, "It takes long.");
    play(&call, speech);
    pass(20_000).await;
    assert!(call.is_answerable());
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    assert_eq!(read(reply).await.0, "It ");
    call.playback_started(speech, call.now_ms());
    call.caller_started_speaking(call.now_ms());
    // The caller only seemed to speak.
    call.caller_said("").unwrap();
    tells(&call, "It is booked.").await;
}

#[tokio::test(start_paused = true)]
async fn lookup_that_panics_leaves_the_outcome_unknown() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let call = log.open(&Scripted::new([calls("", "c1", "book")]), bookings.tool(5_000).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    std::mem::forget((call, reply));
    let panics = |_| -> std::future::Ready<Result<Option<Vec<ResultContent>>, ToolError>> {
        std::panic::resume_unwind(Box::new("a lookup of the service"))
    };
    let call = log.resume(&Scripted::default(), bookings.tool(0).acts_once().resume(panics)).await;
    pass(1).await;
    assert!(shown(&call)[2].contains("c1: OutcomeUnknown"), "{:?}", shown(&call));
}

#[tokio::test(start_paused = true)]
async fn repeated_success_settles_an_unknown_attempt() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let tool = |takes_ms| bookings.tool(takes_ms).acts_once().deduplicates_by_key();
    let call = log.open(&Scripted::new([calls("", "c1", "book")]), tool(5_000));
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    std::mem::forget((call, reply));
    let model =
        Scripted::new([calls("", "c2", "book"), words("Booked."), calls("", "c3", "book"), words("The second, too.")]);
    let call = log.resume(&model, tool(0)).await;
    call.caller_said("Book it!").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    assert_eq!(read(reply).await.0, "Booked.");
    play(&call, speech);
    assert_eq!(ask(&call, "And one for my wife").await, "The second, too.");
    let keys = bookings.keys.lock().unwrap().clone();
    assert_eq!((keys.len(), &keys[0]), (3, &keys[1]));
    assert_ne!(keys[1], keys[2]);
}

#[tokio::test(start_paused = true)]
async fn act_that_a_lookup_did_not_find_keeps_its_key() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let fails = || {
        let keys = bookings.keys.clone();
        let schema = Value::map([("type", Value::from("object"))]).unwrap();
        let spec = ToolSpec::new("book", "Books a flight.", schema).unwrap();
        let fails = move |_: Value, context: ToolContext| {
            keys.lock().unwrap().push(context.idempotency_key().to_owned());
            async { Err(ToolError::new("no room")) }
        };
        Tool::raw(spec, fails).acts_once().deduplicates_by_key().resume(|_| async { Ok(None) })
    };
    let first = bookings.tool(5_000).acts_once().deduplicates_by_key();
    let call = log.open(&Scripted::new([calls("", "c1", "book")]), first);
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    std::mem::forget((call, reply));
    let model =
        Scripted::new([calls("", "c2", "book"), words("No room."), calls("", "c3", "book"), words("Still no room.")]);
    let call = log.resume(&model, fails()).await;
    pass(1).await;
    assert!(shown(&call)[2].contains("c1: NotRun"), "{:?}", shown(&call));
    assert_eq!(ask(&call, "Book it!").await, "No room.");
    // The request of the first attempt may still be on its way.
    assert_eq!(ask(&call, "Try again").await, "Still no room.");
    let keys = bookings.keys.lock().unwrap().clone();
    assert_eq!((keys.len(), &keys[0], &keys[0]), (3, &keys[1], &keys[2]));
}

/// Books twice in a row, where the first attempt fails, and returns the keys of both attempts.
async fn keys_around_an_error(declare: fn(Tool) -> Tool) -> Vec<String> {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let seen = keys.clone();
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    let spec = ToolSpec::new("book", "Books a flight.", schema).unwrap();
    let tool = Tool::raw(spec, move |_: Value, context: ToolContext| {
        let mut keys = seen.lock().unwrap();
        keys.push(context.idempotency_key().to_owned());
        let is_first = keys.len() == 1;
        async move { if is_first { Err(ToolError::new("timeout")) } else { Ok(vec![ResultContent::from("BOOKED-78")]) } }
    });
    let model =
        Scripted::new([calls("", "c1", "book"), words("It failed."), calls("", "c2", "book"), words("Booked.")]);
    let call = Log::new().open(&model, declare(tool.acts_once()));
    assert_eq!(ask(&call, "Book it").await, "It failed.");
    assert_eq!(ask(&call, "Try again").await, "Booked.");
    let keys = keys.lock().unwrap();
    keys.clone()
}

#[tokio::test(start_paused = true)]
async fn act_that_failed_keeps_its_key_if_the_service_deduplicates() {
    // The error may be a lost response of a service that has acted.
    let keys = keys_around_an_error(Tool::deduplicates_by_key).await;
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
    // A service that does not deduplicate said that it did not act.
    let keys = keys_around_an_error(|tool| tool).await;
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test(start_paused = true)]
async fn same_act_may_differ_in_its_arguments() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([calls("", "c1", "book"), calls("", "c2", "book"), words("Both.")]);
    let call = log.open(&model, bookings.tool(0).acts_once().same_act(|_, _| false));
    assert_eq!(ask(&call, "Book two").await, "Both.");
    assert_eq!(bookings.counts(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn panic_in_same_act_has_no_second_effect_and_is_reported() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([calls("", "c1", "book"), calls("", "c2", "book"), words("Booked.")]);
    let tool = bookings.tool(0).acts_once().same_act(|_, _| panic!("a fault of the service"));
    let (writer, task) = LogWriter::new(log.log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let handle = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
    let seen = Seen::default();
    let call = builder(&model).tool(tool).log(handle).observer(seen.clone()).open().unwrap();
    assert_eq!(ask(&call, "Book two").await, "Booked.");
    assert_eq!(bookings.counts(), (1, 1));
    // The acts may be different ones, so the second call does not get the result of the first.
    assert!(shown(&call)[4].contains("c2: NotRun"), "{:?}", shown(&call));
    let events = seen.0.lock().unwrap();
    let panicked: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            CallEvent::SameActPanicked { id } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(panicked, ["c2"]);
}

#[tokio::test(start_paused = true)]
async fn panic_in_same_act_has_no_second_effect_in_one_answer() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([twice("c1", "c2"), words("Booked.")]);
    let call = log.open(&model, bookings.tool(100).same_act(|_, _| panic!("a fault of the service")));
    assert_eq!(ask(&call, "Book two").await, "Booked.");
    assert_eq!(bookings.counts(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn barge_in_before_an_act_runs_prevents_it() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([calls("One moment. ", "c1", "book"), words("All right.")]);
    let call = log.open(&model, bookings.tool(100).acts_once());
    log.set_away(true);
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(500).await;
    call.caller_started_speaking(call.now_ms());
    log.set_away(false);
    pass(10_000).await;
    drop(reply);
    assert_eq!(ask(&call, "No, not that one").await, "All right.");
    assert_eq!(bookings.counts(), (0, 0));
    assert!(shown(&call)[2].contains("c1: NotRun"), "{:?}", shown(&call));
}

#[tokio::test(start_paused = true)]
async fn large_result_is_cut_and_the_call_can_be_restored() {
    let log = Log::new();
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    let large = |_: Value, _: ToolContext| async { Ok::<_, ToolError>(vec![ResultContent::from("x".repeat(500_000))]) };
    let tool = Tool::raw(ToolSpec::new("book", "Lists all.", schema).unwrap(), large).read_only();
    let call = log.open(&Scripted::new([calls("", "c1", "book"), words("That is a lot.")]), tool);
    assert_eq!(ask(&call, "List all").await, "That is a lot.");
    let closed = call.close("hangup", Duration::from_secs(5)).await.unwrap();
    assert!(closed.unstored.is_empty(), "{closed:?}");
    let records = log.log.read_call(&id()).await.unwrap().records;
    let result = serde_json::to_string(&records[2]).unwrap();
    assert!(result.len() < 70_000 && result.contains("434464 of 500000 bytes are left out"), "{}", result.len());
    MessagesManager::<PlainMessage>::restore(records).unwrap();
}

#[tokio::test(start_paused = true)]
async fn words_after_a_tool_call_stand_before_it_in_the_window() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([calls("One moment. ", "c1", "book"), words("Done.")]);
    let call = log.open(&model, bookings.tool(5_000));
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    pass(1_000).await;
    call.playback_started(speech, call.now_ms() - 800);
    call.caller_started_speaking(call.now_ms());
    drop(reply);
    let speech = call.say("I am still on it.").unwrap();
    call.playback_finished(speech, call.now_ms());
    pass(10_000).await;
    assert_eq!(ask(&call, "And?").await, "Done.");
    let words = window(&call)[1].clone();
    assert!(words.contains("\"I am still on it.\" call(c1)"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn throttled_model_is_asked_again_within_the_deadline() {
    let throttled = || vec![Step::Fail(Failure::Throttled)];
    let model = Scripted::new([throttled(), throttled(), throttled(), words("Hello.")]);
    let call = builder(&model).open().unwrap();
    assert_eq!(ask(&call, "Hello?").await, "Hello.");
    assert_eq!(model.requests().len(), 4);
    // The whole time is used before the apology.
    let model = Scripted::new((0..100).map(|_| throttled()));
    let call = builder(&model).open().unwrap();
    let begun = call.now_ms();
    assert!(ask(&call, "Hello?").await.contains("sorry"));
    assert!((6_000..8_000).contains(&(call.now_ms() - begun)), "{}", call.now_ms() - begun);
    assert!((5..20).contains(&model.requests().len()), "{}", model.requests().len());
}

#[tokio::test(start_paused = true)]
async fn unreadable_call_is_corrected_once() {
    let broken = || vec![Step::Broken("c1", "book"), Step::Stop(StopReason::ToolUse)];
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([broken(), calls("", "c2", "book"), words("Booked.")]);
    let call = log.open(&model, bookings.tool(10));
    assert_eq!(ask(&call, "Book it").await, "Booked.");
    assert_eq!(bookings.counts(), (1, 1));
    assert_eq!(shown(&call)[1..3], ["assistant call(c1)", "user result(c1: NotRun)"]);

    let model = Scripted::new([broken(), broken()]);
    let call = builder(&model).tool(bookings.tool(10)).open().unwrap();
    assert!(ask(&call, "Book it").await.contains("sorry"));
    assert_eq!((bookings.counts(), model.requests().len()), ((1, 1), 2));
}

#[tokio::test(start_paused = true)]
async fn call_that_was_cut_off_never_runs_and_gets_more_room() {
    let cut =
        || vec![Step::Say("I will book that now. "), Step::CutCall("c1", "book"), Step::Stop(StopReason::MaxTokens)];
    let (log, bookings) = (Log::new(), Bookings::default());
    let model = Scripted::new([cut(), calls("", "c2", "book"), words("Booked.")]);
    let (writer, task) = LogWriter::new(log.log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let handle = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
    let inference = Inference { max_tokens: Some(100), ..Inference::default() };
    let call = builder(&model)
        .tool(bookings.tool(10))
        .config(|config| config.with_inference(inference))
        .log(handle)
        .open()
        .unwrap();
    assert_eq!(ask(&call, "Book it").await, "I will book that now. Booked.");
    assert_eq!(bookings.counts(), (1, 1));
    let room: Vec<_> = model.requests().iter().map(|request| request.inference.max_tokens).collect();
    assert_eq!(room, [Some(100), Some(200), Some(200)]);

    let call = builder(&Scripted::new([cut(), cut()])).tool(bookings.tool(10)).open().unwrap();
    call.caller_said("Book it").unwrap();
    let (_, end) = read(call.reply().unwrap()).await;
    // The caller would wait for what the words promise.
    assert_eq!(end, ReplyEnd::Failed(None));
    assert_eq!(bookings.counts(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn answer_after_a_cut_call_gets_twice_the_tokens_of_the_models_own_limit() {
    let cut = vec![Step::CutCall("c1", "book"), Step::Stop(StopReason::MaxTokens), Step::Use(300)];
    let model = Scripted::new([cut, calls("", "c2", "book"), words("Booked.")]);
    let call = builder(&model).tool(Bookings::default().tool(10)).open().unwrap();
    assert_eq!(ask(&call, "Book it").await, "Booked.");
    let room: Vec<_> = model.requests().iter().map(|request| request.inference.max_tokens).collect();
    assert_eq!(room, [None, Some(600), Some(600)]);
}

#[tokio::test(start_paused = true)]
async fn unreadable_call_after_the_last_round_does_not_fail_the_answer() {
    let broken = vec![Step::Say("It is booked."), Step::Broken("c2", "book"), Step::Stop(StopReason::EndTurn)];
    let model = Scripted::new([calls("", "c1", "book"), broken]);
    let call = builder(&model)
        .tool(Bookings::default().tool(10))
        .config(|config| config.with_max_tool_rounds(1))
        .open()
        .unwrap();
    assert_eq!(ask(&call, "Book it").await, "It is booked.");
    assert_eq!(shown(&call)[3..], ["assistant \"It is booked.\" call(c2)", "user result(c2: NotRun)"]);
}
