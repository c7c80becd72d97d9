//! Tools that run long, never return, or are looked up: the caller hears of no failure meanwhile, and every wait ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use verbale::call::{CallSession, ReplyEvent};
use verbale::conversation::{CallEvent, Conversation, Models, Prompt};
use verbale::log::{CallHeader, CallLog, LogWriter, SpoolSettings, WriterSettings};
use verbale::message::ResultContent;
use verbale::model::{Failure, StopReason, Tool, ToolContext, ToolError, ToolSpec};
use verbale::testing::SpoolMemory;
use verbale::{MessagesManager, PlainMessage, Value};

use crate::acts::{Bookings, Log, Seen, ask, id};
use crate::support::{START_MS, Scripted, Step, builder, calls, pass, read, shown, words};

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "What it does.", Value::map([("type", Value::from("object"))]).unwrap()).unwrap()
}

fn fails() -> Vec<Step> {
    vec![Step::Fail(Failure::Denied(String::new()))]
}

fn blank() -> Vec<Step> {
    vec![Step::Wait(100), Step::Stop(StopReason::EndTurn)]
}

/// Says something while the tool of an earlier turn runs for 10 s. Returns the answer, and whether the tool was still running.
async fn ask_meanwhile(answers: Vec<Vec<Step>>) -> (String, bool) {
    let bookings = Bookings::default();
    let model = Scripted::new([vec![calls("One moment. ", "c1", "book")], answers].concat());
    let call = builder(&model).tool(bookings.tool(10_000)).open().unwrap();
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    let heard = ask(&call, "Hurry up").await;
    drop(reply);
    (heard, bookings.counts() == (1, 0))
}

#[tokio::test(start_paused = true)]
async fn failure_is_not_told_while_a_tool_of_an_earlier_turn_runs() {
    // The result arrives, and the model is asked again.
    let (heard, is_running) = ask_meanwhile(vec![fails(), words("It is booked.")]).await;
    assert_eq!((heard.as_str(), is_running), ("It is booked.", false));
    let broken = vec![Step::Wait(100), Step::Say("Well, "), Step::Fail(Failure::Cut)];
    for answers in [vec![fails(), fails()], vec![blank(), blank()], vec![broken]] {
        let (heard, is_running) = ask_meanwhile(answers).await;
        assert!(heard.contains("sorry") && !is_running, "{heard}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_changed_is_said_only_if_no_tool_ran() {
    for has_acted in [false, true] {
        let (log, bookings) = (Log::new(), Bookings::default());
        let (writer, task) = LogWriter::new(log.log.clone(), WriterSettings::default());
        tokio::spawn(task);
        let handle = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
        let pay = |_: Value, _: ToolContext| async { Ok(vec![ResultContent::from("PAID")]) };
        let mut both = calls("", "c1", "pay");
        if has_acted {
            both.insert(1, Step::Call("c2", "book"));
        }
        let builder = builder(&Scripted::new([both, fails()])).tool(bookings.tool(100));
        let call = builder.tool(Tool::raw(spec("pay"), pay).acts_once()).log(handle).open().unwrap();
        log.set_away(true);
        let heard = ask(&call, "Book and pay it").await;
        assert!(heard.contains("sorry"), "{heard}");
        assert_eq!(heard.contains("nothing was changed"), !has_acted, "{heard}");
        assert_eq!(bookings.counts().1, usize::from(has_acted));
    }
}

#[tokio::test(start_paused = true)]
async fn tool_that_never_returns_holds_up_neither_turn_nor_close() {
    let log = Log::new();
    let never = |_: Value, _: ToolContext| std::future::pending();
    let tool = || Tool::raw(spec("book"), never).acts_once();
    let call = log.open(&Scripted::new([calls("", "c1", "book"), words("I do not know.")]), tool());
    let begun = Instant::now();
    assert_eq!(ask(&call, "Book it").await, "I do not know.");
    assert!(begun.elapsed() < Duration::from_secs(17), "{:?}", begun.elapsed());
    let begun = Instant::now();
    let closed = call.close("hangup", Duration::from_secs(4)).await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(closed.unfinished_tools.len(), 1);
    assert!(closed.unstored.is_empty(), "{closed:?}");
    assert!(log.stored().await.contains("OutcomeUnknown"));

    // The call is closed while the tool runs.
    let log = Log::new();
    let call = log.open(&Scripted::new([calls("", "c1", "book")]), tool());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    let closed = call.close("hangup", Duration::from_secs(4)).await.unwrap();
    drop(reply);
    assert_eq!((closed.unfinished_tools.len(), closed.unstored.len()), (1, 0));
    assert!(log.stored().await.contains("OutcomeUnknown"));
}

/// Dies while `c1` books.
async fn died_while_booking(log: &Log) {
    let call = log.open(&Scripted::new([calls("", "c1", "book")]), Bookings::default().tool(5_000).acts_once());
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    std::mem::forget((call, reply));
}

/// A tool whose first lookups hang, fail and find nothing.
fn found_at_last(attempts: &Arc<AtomicUsize>) -> Tool {
    let attempts = attempts.clone();
    Bookings::default().tool(0).acts_once().resume(move |_: ToolContext| {
        let attempt = attempts.fetch_add(1, Ordering::SeqCst);
        async move {
            match attempt {
                0 => std::future::pending().await,
                1 => Err(ToolError::new("the service is away")),
                2 => Ok(None),
                _ => Ok(Some(vec![ResultContent::from("BOOKED-78")])),
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn lookup_has_a_deadline_and_is_repeated() {
    let (log, attempts) = (Log::new(), Arc::default());
    died_while_booking(&log).await;
    let call = log.resume(&Scripted::new([words("It is booked.")]), found_at_last(&attempts)).await;
    pass(10_000).await;
    assert!(shown(&call)[2].contains("c1: OutcomeUnknown"), "{:?}", shown(&call));
    pass(20_000).await;
    assert!(shown(&call)[2].contains("c1: done"), "{:?}", shown(&call));
    assert!(log.stored().await.contains("BOOKED-78"));
    pass(600_000).await;
    assert_eq!(attempts.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn lookup_ends_with_its_conversation() {
    let (log, attempts) = (Log::new(), Arc::new(AtomicUsize::new(0)));
    died_while_booking(&log).await;
    let call = log.resume(&Scripted::default(), found_at_last(&attempts)).await;
    pass(1_000).await;
    call.close("hangup", Duration::from_secs(5)).await.unwrap();
    drop(call);
    pass(600_000).await;
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn run_looks_up_the_acts_of_an_earlier_process() {
    let (log, attempts) = (Log::new(), Arc::default());
    died_while_booking(&log).await;
    let (writer, task) = LogWriter::new(log.log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let (manager, handle) = writer.resume::<PlainMessage>(&id(), Duration::from_secs(5)).await.unwrap();
    let conversation = Conversation::from_manager(id(), manager);
    conversation.log(handle);
    let models = Models::default().with("any", "scripted", Scripted::new([words("Wait."), words("It is booked.")]));
    Prompt::new(models).tool(found_at_last(&attempts)).apply_to(&conversation).unwrap();
    let asked = conversation.continuation().request("Did you book it?");
    assert_eq!(asked.prompt().await.unwrap(), "Wait.");
    pass(60_000).await;
    assert_eq!(attempts.load(Ordering::SeqCst), 4);
    assert!(conversation.read(|manager| manager.to_string().contains("BOOKED-78")));
}

/// Asks for one booking in a run, then again, and returns the number of bookings.
async fn bookings_of_runs(answers: impl IntoIterator<Item = Vec<Step>>) -> (usize, usize) {
    let (log, bookings) = (Log::new(), Bookings::default());
    let (writer, task) = LogWriter::new(log.log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let conversation = Conversation::new(id());
    conversation.log(writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap());
    let models = Models::default().with("any", "scripted", Scripted::new(answers));
    Prompt::new(models).tool(bookings.tool(0).acts_once()).apply_to(&conversation).unwrap();
    for said in ["Book it", "Pardon?"] {
        conversation.add_user(said).unwrap();
        let mut run = conversation.run();
        while run.next().await.is_some() {}
    }
    bookings.counts()
}

#[tokio::test(start_paused = true)]
async fn incomplete_answer_of_a_run_reports_no_outcome() {
    let cut = vec![Step::Wait(100), Step::Say("It is "), Step::Fail(Failure::Cut)];
    let too_long = vec![Step::Wait(100), Step::Say("It is "), Step::Stop(StopReason::MaxTokens)];
    for answer in [cut, too_long] {
        let answers = [calls("", "c1", "book"), answer, calls("", "c2", "book"), words("It is booked.")];
        assert_eq!(bookings_of_runs(answers).await, (1, 1));
    }
    // A complete answer reports it, and the caller may want a second ticket.
    let answers = [calls("", "c1", "book"), words("Booked."), calls("", "c2", "book"), words("Booked again.")];
    assert_eq!(bookings_of_runs(answers).await, (2, 2));
}

#[tokio::test(start_paused = true)]
async fn call_beside_the_words_about_an_earlier_one_is_the_same_act() {
    let answers = [calls("", "c1", "book"), calls("It is booked. ", "c2", "book"), words("Done."), words("Yes.")];
    assert_eq!(bookings_of_runs(answers).await, (1, 1));
}

#[tokio::test(start_paused = true)]
async fn late_results_of_one_message_fit_into_its_record() {
    const IDS: [&str; 12] = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12"];
    let large = |_: Value, _: ToolContext| async {
        sleep(Duration::from_secs(2)).await;
        Ok(vec![ResultContent::from("x".repeat(60_000))])
    };
    let tool = Tool::raw(spec("list"), large).read_only().with_timeout(Duration::from_secs(1));
    let all = IDS.map(|id| Step::Call(id, "list")).into_iter().chain([Step::Stop(StopReason::ToolUse)]).collect();
    let log = Log::new();
    let call = log.open(&Scripted::new([all, words("That takes long.")]), tool);
    assert_eq!(ask(&call, "List all").await, "That takes long.");
    pass(5_000).await;
    let closed = call.close("hangup", Duration::from_secs(5)).await.unwrap();
    assert!(closed.unstored.is_empty(), "{closed:?}");
    let records = log.log.read_call(&id()).await.unwrap().records;
    // An item of DynamoDB holds 400 KB.
    let longest = records.iter().map(|record| serde_json::to_string(record).unwrap().len()).max().unwrap();
    assert!((200_000..400_000).contains(&longest), "{longest}");
    MessagesManager::<PlainMessage>::restore(records).unwrap();
}

#[tokio::test(start_paused = true)]
async fn act_whose_call_is_only_spooled_does_not_run() {
    let (log, bookings) = (Log::new(), Bookings::default());
    let spool = Arc::new(SpoolMemory::default().open(SpoolSettings::default()).unwrap());
    let model = Scripted::new([calls("", "c1", "book"), words("That could not be done.")]);
    let settings = WriterSettings::default().with_spool(spool);
    let call = log.open_with(&model, bookings.tool(100).acts_once(), settings);
    log.set_away(true);
    assert_eq!(ask(&call, "Book it").await, "That could not be done.");
    assert!(shown(&call)[2].contains("c1: NotRun"), "{:?}", shown(&call));
    log.set_away(false);
    pass(60_000).await;
    assert_eq!(bookings.counts(), (0, 0));
    assert!(log.stored().await.contains("NotRun"));
}

#[tokio::test(start_paused = true)]
async fn external_call_is_reported_unlogged_and_is_unknown_after_a_crash() {
    let (log, seen) = (Log::new(), Seen::default());
    let model = Scripted::new([calls("", "c1", "book"), words("Done.")]);
    let (writer, task) = LogWriter::new(log.log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let handle = writer.open(CallHeader::new(id(), START_MS).unwrap()).unwrap();
    let external = || Tool::external(spec("book"));
    let builder = builder(&model).tool(external()).log(handle).observer(seen.clone());
    let call: CallSession = builder.open().unwrap();
    log.set_away(true);
    call.caller_said("Book it").unwrap();
    let mut reply = call.reply().unwrap();
    let called = reply.next().await.unwrap();
    assert!(matches!(called, ReplyEvent::ToolCalled(_)), "{called:?}");
    assert!(seen.0.lock().unwrap().iter().any(|event| matches!(event, CallEvent::ToolUnlogged { .. })));
    // The log is back, and the process dies before the service has answered.
    log.set_away(false);
    pass(5_000).await;
    std::mem::forget((call, reply));
    let model = Scripted::new([calls("", "c2", "book"), words("It is booked.")]);
    let call = log.resume(&model, external()).await;
    assert!(shown(&call)[2].contains("c1: OutcomeUnknown"), "{:?}", shown(&call));
    call.caller_said("Book it!").unwrap();
    let mut reply = call.reply().unwrap();
    let ReplyEvent::ToolCalled(again) = reply.next().await.unwrap() else { panic!("a repeatable tool runs again") };
    let record = log.stored().await;
    let (_, key) = record.split_once("\"idempotencyKey\":\"").unwrap();
    assert_eq!(again.idempotency_key(), Some(&key[..32]));
    call.tool_result(again.success(["BOOKED-78"]));
    assert_eq!(read(reply).await.0, "It is booked.");
}
