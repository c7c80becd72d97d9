//! Calls with a dead letter: they are resumed without it, and it is stored after all or discarded.

use serde_json::{Value as Json, json};
use verbale::log::{CallWriter, DeadLetter, LogErrorKind, MemoryLog, Redaction};
use verbale::{MessageWrapper, Record};

use super::*;
use crate::letters::take_dead_letters;

/// Custom data that fits into no item.
const TOO_LARGE: usize = 420_000;

/// The logs: one compares epochs in each put and stores spans, one only compares epochs, and the last has only fences.
async fn logs() -> [Arc<Scripted>; 3] {
    let with_spans = MemoryLog::default().with_spans();
    [Arc::new(with_spans) as Arc<dyn CallLog>, Arc::new(MemoryLog::default()), Arc::new(in_dynamo().await)]
        .map(|log| Arc::new(Scripted::over(log)))
}

/// Finishes a call that another process has taken over.
async fn finished_after_a_takeover(writer: &LogWriter, log: &Scripted) -> (CallWriter, CallEnd) {
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    log.take_over_beside(&ca1()).await;
    let call_end = CallEnd::of(&manager, START_MS, "hangup").unwrap();
    call.finish(&mut manager, call_end.clone(), SOON).await.unwrap();
    (call, call_end)
}

/// Three messages, and the log refuses the second one.
async fn with_dead_letter(log: &Scripted, call: &CallWriter) -> Manager {
    log.refuse(1, 1);
    let mut manager = said(&["Hi", "Hello!", "Are you there?"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(call.flush(SOON).await.len(), 1);
    manager
}

async fn killed(task: JoinHandle<()>) {
    task.abort();
    let _ = task.await;
}

/// The messages that the manager lacks.
fn places(manager: &Manager) -> Vec<u32> {
    let seq = |text: String| text.strip_prefix("message ")?.split(':').next()?.parse().ok();
    manager.left_out().iter().map(|left_out| seq(left_out.to_string()).unwrap()).collect()
}

fn window(manager: &Manager) -> Vec<String> {
    let texts =
        |message: &PlainMessage| message.contents().texts().map(|text| text.as_str().to_owned()).collect::<Vec<_>>();
    manager.messages().map(|message| format!("{}: {}", message.role(), texts(&message).join(" "))).collect()
}

/// Returns the dead letter with a changed record.
fn repaired(letter: DeadLetter, change: impl FnOnce(&mut Json)) -> DeadLetter {
    let mut json = serde_json::to_value(letter.record.as_ref().unwrap()).unwrap();
    change(&mut json);
    let record: Record = serde_json::from_value(json).unwrap();
    let mut letter = letter;
    letter.record = Some(record);
    letter
}

#[tokio::test(start_paused = true)]
async fn call_with_a_dead_letter_is_resumed_by_another_process_and_continues() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let (first, task) = started(&log, settings());
    let call = first.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!", "What is my balance?"]);
    let id = manager.meta_messages()[1].id();
    manager.entry(&id).unwrap().set_data("trace", "x".repeat(TOO_LARGE)).unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    let unstored = first.flush(SOON).await;
    assert_eq!((unstored.len(), unstored[0].message_id, unstored[0].is_dead_letter), (1, Some(id), true));
    let advice = unstored[0].error.clone().unwrap();
    assert!(advice.contains("keep custom data small"), "{advice}");
    killed(task).await;

    let (second, task) = started(&log, settings());
    let (mut resumed, call) = second.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
    assert_eq!((places(&resumed), call.ended()), (vec![1], None));
    assert_eq!(resumed.left_out()[0].to_string(), "message 1: the log has no record of it");
    assert_eq!(window(&resumed), ["user: Hi What is my balance?"]);
    resumed.add_assistant("It is 5 euros.").unwrap();
    resumed.add_user("Thanks").unwrap();
    let call_end = CallEnd::of(&resumed, START_MS, "hangup").unwrap();
    assert_eq!(call_end.messages, 5);
    call.finish(&mut resumed, call_end.clone(), SOON).await.unwrap();
    assert_eq!(second.flush(SOON).await, []);
    balanced(&second.status());
    killed(task).await;

    let (third, _task) = started(&log, settings());
    let (again, call) = third.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
    assert!(again == resumed);
    assert_eq!((places(&again), call.ended()), (vec![1], Some(&call_end)));
    assert_eq!(log.read_call(&ca1()).await.unwrap().header.unwrap().call_end(), None);
}

#[tokio::test(start_paused = true)]
async fn record_that_cannot_be_redacted_leaves_the_call_resumable() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let fails = |text: &str| -> Result<Vec<Redaction>, Box<dyn std::error::Error + Send + Sync>> {
        if text.contains("Hello") { Err("no".into()) } else { Ok(Vec::new()) }
    };
    let (first, task) = started(&log, settings().with_redactor(Arc::new(fails)));
    let call = first.open(header()).unwrap();
    call.submit(&mut said(&["Hi", "Hello!", "Yes"]), LastMessage::Include).unwrap();
    assert_eq!(first.flush(SOON).await.len(), 1);
    let letter = first.dead_letters(None).await.unwrap().remove(0);
    assert!(letter.is_unredacted);
    // The redactor still fails, so the words are not stored.
    let error = first.retry_dead_letter(letter.clone()).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Refused);
    let changed = repaired(letter, |json| json["message"]["contents"] = json!(["[removed]"]));
    first.retry_dead_letter(changed).await.unwrap();
    assert_eq!(first.flush(SOON).await, []);
    killed(task).await;
    let (second, _task) = started(&log, settings());
    let (resumed, _call) = second.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
    assert_eq!(window(&resumed), ["user: Hi", "assistant: [removed]", "user: Yes"]);
}

#[tokio::test(start_paused = true)]
async fn repaired_dead_letter_of_a_live_call_is_stored_and_acknowledged() {
    for log in logs().await {
        let (writer, _task) = started(&log, settings());
        let call = writer.open(header()).unwrap();
        let mut manager = with_dead_letter(&log, &call).await;
        assert_eq!(manager.changes(LastMessage::Include).len(), 3);
        let letter = writer.dead_letters(Some(&ca1())).await.unwrap().remove(0);
        // Nothing has changed.
        let error = writer.retry_dead_letter(letter.clone()).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Refused);
        assert_eq!(writer.dead_letters(None).await.unwrap(), std::slice::from_ref(&letter));
        log.allow(1, 1);
        let changed = repaired(letter, |json| json["metadata"]["aux"] = json!({"repaired": true}));
        writer.retry_dead_letter(changed).await.unwrap();
        assert_eq!(writer.flush(SOON).await, []);
        assert_eq!(writer.dead_letters(None).await.unwrap(), []);
        call.acknowledge(&mut manager);
        assert!(manager.changes(LastMessage::Include).is_empty());
        let read = stored(&log).await;
        assert_eq!(read.meta_messages()[1].metadata().aux().len(), 1);
        let status = writer.status();
        assert_eq!((status.stored, status.dead_letters, status.bytes), (3, 0, 0));
        balanced(&status);
    }
}

#[tokio::test(start_paused = true)]
async fn dead_letter_of_an_earlier_writer_takes_the_place_that_was_left_out() {
    for log in logs().await {
        let memory = SpoolMemory::default();
        let (first, task) = started(&log, settings().with_spool(spool_in(&memory)));
        let call = first.open(header()).unwrap();
        let said = with_dead_letter(&log, &call).await;
        sleep(SECOND).await;
        killed(task).await;
        drop((first, call));

        log.allow(1, 1);
        let (before, memory) = (memory.copy(), memory.copy());
        let (second, task) = started(&log, settings().with_spool(spool_in(&memory)));
        let (mut resumed, call) = second.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
        let left_out = resumed.left_out()[0].to_string();
        assert!(left_out.starts_with("message 1: revision 1 is a dead letter of this process: "), "{left_out}");
        resumed.add_assistant("Yes.").unwrap();
        call.submit(&mut resumed, LastMessage::Include).unwrap();
        assert_eq!(second.flush(SOON).await.len(), 1);
        let letter = second.dead_letters(Some(&ca1())).await.unwrap().remove(0);
        second.retry_dead_letter(letter).await.unwrap();
        assert_eq!(second.flush(SOON).await, []);
        // The live conversation stays as it is.
        assert_eq!((places(&resumed), resumed.meta_messages().len()), (vec![1], 3));
        balanced(&second.status());
        sleep(SECOND).await;
        killed(task).await;

        // A spool that still has the dead letter does not hide the record.
        for (memory, letters) in [(&memory, 0), (&before, 1)] {
            let (third, _task) = started(&log, settings().with_spool(spool_in(&memory.copy())));
            let (whole, _call) = third.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
            assert_eq!((places(&whole), whole.meta_messages().len()), (vec![], 4));
            assert_eq!(whole.meta_messages()[1].message(), said.meta_messages()[1].message());
            assert_eq!(third.dead_letters(None).await.unwrap().len(), letters);
        }
    }
}

/// Without a check of the header, the record would be reported as stored, and no read would return it.
#[tokio::test(start_paused = true)]
async fn retry_of_a_writer_that_has_lost_its_call_is_refused() {
    for log in logs().await {
        let (old, _task) = started(&log, settings());
        let call = old.open(header()).unwrap();
        with_dead_letter(&log, &call).await;
        let (new, _new_task) = started(&log, settings());
        let (resumed, _call) = new.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
        assert_eq!(places(&resumed), [1]);
        log.allow(1, 1);
        let letter = old.dead_letters(None).await.unwrap().remove(0);
        let error = old.retry_dead_letter(letter.clone()).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Fenced);
        assert_eq!(old.dead_letters(None).await.unwrap(), std::slice::from_ref(&letter));
        assert_eq!(log.read_call(&ca1()).await.unwrap().records.len(), 2);
        // An operator brings it to the process that writes the call.
        new.retry_dead_letter(letter.clone()).await.unwrap();
        assert_eq!(log.read_call(&ca1()).await.unwrap().records.len(), 3);
        old.discard_dead_letters([&letter]);
        assert_eq!(old.dead_letters(None).await.unwrap(), []);
        balanced(&old.status());
    }
}

#[tokio::test(start_paused = true)]
async fn takeover_during_a_retry_keeps_the_dead_letter() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let (old, _task) = started(&log, settings());
    let call = old.open(header()).unwrap();
    with_dead_letter(&log, &call).await;
    log.allow(1, 1);
    log.take_over_after_header_read(1);
    let letter = old.dead_letters(None).await.unwrap().remove(0);
    let error = old.retry_dead_letter(letter.clone()).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Fenced);
    assert_eq!(old.dead_letters(None).await.unwrap(), [letter]);
    assert_eq!(log.read_call(&ca1()).await.unwrap().records.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn dead_letter_of_an_ended_call_is_stored_after_it_is_resumed() {
    for log in logs().await {
        let (writer, _task) = started(&log, settings());
        let call = writer.open(header()).unwrap();
        let mut manager = with_dead_letter(&log, &call).await;
        let call_end = CallEnd::of(&manager, START_MS, "hangup").unwrap();
        call.finish(&mut manager, call_end.clone(), SOON).await.unwrap();
        writer.flush(SOON).await;
        drop(call);
        log.allow(1, 1);
        let letter = writer.dead_letters(None).await.unwrap().remove(0);
        let error = writer.retry_dead_letter(letter.clone()).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::NotOpened);
        assert!(error.to_string().contains("resume the call, retry, and finish it again"), "{error}");

        let (mut resumed, call) = writer.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
        assert_eq!(call.ended(), Some(&call_end));
        writer.retry_dead_letter(letter).await.unwrap();
        call.finish(&mut resumed, call_end.clone(), SOON).await.unwrap();
        assert_eq!(writer.flush(SOON).await, []);
        let read = log.read_call(&ca1()).await.unwrap();
        assert_eq!(read.ended, Some(call_end));
        assert!(Manager::restore(read.records).unwrap() == manager);
    }
}

#[tokio::test(start_paused = true)]
async fn lost_last_message_is_named_because_the_end_counts_it() {
    for log in logs().await {
        log.refuse(2, 1);
        let (first, task) = started(&log, settings());
        let call = first.open(header()).unwrap();
        let mut manager = said(&["Hi", "Hello!", "Bye"]);
        let call_end = CallEnd::of(&manager, START_MS, "hangup").unwrap();
        call.finish(&mut manager, call_end, SOON).await.unwrap();
        first.flush(SOON).await;
        let letter = first.dead_letters(None).await.unwrap().remove(0);
        killed(task).await;
        let (second, _task) = started(&log, settings());
        let (mut resumed, call) = second.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
        assert_eq!(places(&resumed), [2]);
        // The next message leaves room for it.
        resumed.add_user("Wait").unwrap();
        call.submit(&mut resumed, LastMessage::Include).unwrap();
        assert_eq!(second.flush(SOON).await, []);
        log.allow(2, 1);
        second.retry_dead_letter(letter).await.unwrap();
        let texts = window(&stored(&log).await);
        assert_eq!(texts, ["user: Hi", "assistant: Hello!", "user: Bye Wait"]);
    }
}

/// The next process does not know that there was a last message, and gives its number to another one.
#[tokio::test(start_paused = true)]
async fn dead_letter_whose_place_is_taken_is_refused() {
    for log in logs().await {
        log.refuse(1, 1);
        let (old, _task) = started(&log, settings());
        let call = old.open(header()).unwrap();
        call.submit(&mut said(&["Hi", "Hello!"]), LastMessage::Include).unwrap();
        old.flush(SOON).await;
        let letter = old.dead_letters(None).await.unwrap().remove(0);
        log.allow(1, 1);
        let (new, _new_task) = started(&log, settings());
        let (mut resumed, call) = new.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
        assert_eq!(places(&resumed), [0; 0]);
        resumed.add_assistant("Good morning!").unwrap();
        call.submit(&mut resumed, LastMessage::Include).unwrap();
        assert_eq!(new.flush(SOON).await, []);
        let error = new.retry_dead_letter(letter.clone()).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Refused);
        assert!(error.to_string().ends_with("discard it"), "{error}");
        // The first process takes the call back, and names its dead letter.
        let (back, _call) = old.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
        assert!(back == resumed);
        assert_eq!(places(&back), [1]);
        let error = old.retry_dead_letter(letter.clone()).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Refused);
        assert!(error.to_string().ends_with("discard it"), "{error}");
        assert_eq!(old.dead_letters(None).await.unwrap(), [letter]);
        assert!(stored(&log).await == resumed);
    }
}

#[tokio::test(start_paused = true)]
async fn summary_of_an_earlier_writer_is_not_stored_later() {
    let log = Arc::new(Scripted::default());
    log.refuse_summaries();
    let memory = SpoolMemory::default();
    let (first, task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = first.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!", "Bye"]);
    manager.add_summary("They met.", &manager.summarizing().unwrap()).unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(first.flush(SOON).await.len(), 1);
    sleep(SECOND).await;
    killed(task).await;
    let (second, _task) = started(&log, settings().with_spool(spool_in(&memory.copy())));
    let (resumed, _call) = second.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
    assert!(resumed.left_out()[0].to_string().starts_with("summary 1: "), "{:?}", resumed.left_out());
    assert_eq!(window(&resumed).len(), 3);
    let letter = second.dead_letters(None).await.unwrap().remove(0);
    assert_eq!(second.retry_dead_letter(letter).await.unwrap_err().kind(), LogErrorKind::Refused);
}

#[tokio::test(start_paused = true)]
async fn end_that_is_refused_after_a_takeover_is_reported_until_it_is_discarded() {
    for log in logs().await {
        let (writer, _task) = started(&log, settings());
        let (_call, call_end) = finished_after_a_takeover(&writer, &log).await;
        let unstored = writer.flush(SOON).await;
        assert_eq!(unstored.len(), 1, "{unstored:?}");
        assert!(unstored[0].to_string().starts_with("the end of call CA1 is not stored: "), "{}", unstored[0]);
        assert!(unstored[0].is_dead_letter);
        for _ in 0..2 {
            let letters = writer.dead_letters(Some(&ca1())).await.unwrap();
            assert_eq!((letters.len(), &letters[0].record, letters[0].call_end.as_ref()), (1, &None, Some(&call_end)));
        }
        let letters = writer.dead_letters(None).await.unwrap();
        assert_eq!(writer.retry_dead_letter(letters[0].clone()).await.unwrap_err().kind(), LogErrorKind::Refused);
        writer.discard_dead_letters(&letters);
        assert_eq!(writer.flush(SOON).await, []);
        balanced(&writer.status());
    }
}

#[tokio::test(start_paused = true)]
async fn call_that_ends_twice_keeps_the_end_that_counts_all_messages() {
    for log in logs().await {
        let (writer, _task) = started(&log, settings());
        let call = writer.open(header()).unwrap();
        let mut manager = said(&["Hi", "Hello!"]);
        let first = CallEnd::of(&manager, START_MS, "hangup").unwrap();
        call.finish(&mut manager, first.clone(), SOON).await.unwrap();
        assert_eq!(writer.flush(SOON).await, []);
        say(&mut manager, &["One more", "Yes?"]);
        let last = CallEnd::of(&manager, START_MS + 9_000, "transfer").unwrap();
        call.finish(&mut manager, last.clone(), SOON).await.unwrap();
        assert_eq!(writer.flush(SOON).await, []);
        assert_eq!(log.read_call(&ca1()).await.unwrap().ended, Some(last.clone()));
        // A repetition of the first end comes late.
        call.finish(&mut manager, first, SOON).await.unwrap();
        assert_eq!(writer.flush(SOON).await, []);
        let read = log.read_call(&ca1()).await.unwrap();
        assert_eq!((read.records.len(), read.ended), (last.messages as usize, Some(last)));
    }
}

#[tokio::test(start_paused = true)]
async fn no_record_is_written_after_a_refused_header() {
    for spool in [None, Some(SpoolMemory::default())] {
        let log = Arc::new(Scripted::default());
        log.refuse_headers(|_| true);
        let settings = spool.iter().fold(settings(), |settings, memory| settings.with_spool(spool_in(memory)));
        let (writer, _task) = started(&log, settings);
        let call = writer.open(header()).unwrap();
        let mut manager = said(&["Hi", "Hello!"]);
        call.submit(&mut manager, LastMessage::Include).unwrap();
        let unstored = writer.flush(SOON).await;
        assert!(unstored.iter().all(|part| part.is_dead_letter) && unstored.len() == 3, "{unstored:?}");
        assert_eq!(log.kept(&ca1()), []);
        let letters = writer.dead_letters(Some(&ca1())).await.unwrap();
        assert_eq!(letters.iter().filter_map(|letter| letter.header.as_ref()).collect::<Vec<_>>(), [&header()]);
        assert_eq!(call.submit(&mut manager, LastMessage::Include).unwrap_err().kind(), LogErrorKind::Refused);

        // The service opens the call with another header, and stores what was kept.
        log.refuse_headers(|_| false);
        let again = writer.open(header()).unwrap();
        assert!(writer.flush(SOON).await.iter().all(|part| part.is_dead_letter));
        for letter in take_dead_letters(&writer).await.unwrap() {
            if let Some(record) = &letter.record {
                log.put_record(again.lease(), record).await.unwrap();
            }
        }
        assert!(stored(&log).await == manager);
        assert_eq!(writer.flush(SOON).await, []);
        balanced(&writer.status());
    }
}

#[tokio::test(start_paused = true)]
async fn call_whose_attributes_are_refused_is_logged_without_them() {
    let log = Arc::new(Scripted::default());
    log.refuse_headers(|header| !header.attributes().is_empty());
    let memory = SpoolMemory::default();
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    let attributes = serde_json::from_value(json!({"dialled": "x"})).unwrap();
    let call = writer.open(header().with_attributes(attributes)).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    let unstored = writer.flush(SOON).await;
    assert_eq!(unstored.len(), 1, "{unstored:?}");
    assert!(unstored[0].to_string().starts_with("the header of call CA1 is not stored"), "{}", unstored[0]);
    assert!(stored(&log).await == manager);
    assert!(log.read_header(&ca1()).await.unwrap().unwrap().attributes().is_empty());
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn refused_end_outlives_its_process_until_it_is_discarded() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    let (writer, task) = started(&log, settings().with_spool(spool_in(&memory)));
    let (_call, call_end) = finished_after_a_takeover(&writer, &log).await;
    assert_eq!(writer.flush(SOON).await.len(), 1);
    assert_eq!(writer.dead_letters(None).await.unwrap().len(), 1);
    sleep(SECOND).await;
    task.abort();

    for discards in [false, true] {
        let memory = memory.copy();
        let (writer, task) = started(&log, settings().with_spool(spool_in(&memory)));
        let unstored = writer.flush(SOON).await;
        assert_eq!(unstored.len(), 1, "{unstored:?}");
        assert!(unstored[0].is_dead_letter && unstored[0].to_string().starts_with("the end of call CA1"));
        let letters = writer.dead_letters(None).await.unwrap();
        assert_eq!((letters.len(), letters[0].call_end.as_ref()), (1, Some(&call_end)), "{letters:?}");
        if discards {
            writer.discard_dead_letters(&letters);
            assert_eq!(writer.dead_letters(None).await.unwrap(), []);
            sleep(SECOND).await;
            task.abort();
            let (next, _task) = started(&log, settings().with_spool(spool_in(&memory.copy())));
            assert_eq!((next.flush(SOON).await, next.dead_letters(None).await.unwrap()), (vec![], vec![]));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn refused_header_outlives_its_process_and_the_call_is_opened_with_a_repaired_one() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    log.set(&ca1(), Mode::Unavailable);
    let (writer, task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await.len(), 3);
    log.refuse_headers(|_| true);
    log.set(&ca1(), Mode::Go);
    assert!(writer.flush(LONG).await.iter().all(|part| part.is_dead_letter));
    sleep(SECOND).await;
    killed(task).await;

    let memory = memory.copy();
    let (writer, task) = started(&log, settings().with_spool(spool_in(&memory)));
    let unstored = writer.flush(SOON).await;
    assert!(unstored.len() == 3 && unstored.iter().all(|part| part.is_dead_letter), "{unstored:?}");
    assert_eq!(writer.resume::<PlainMessage>(&ca1(), SOON).await.unwrap_err().kind(), LogErrorKind::NotOpened);
    let letters = writer.dead_letters(Some(&ca1())).await.unwrap();
    assert_eq!(letters.iter().filter_map(|letter| letter.header.clone()).collect::<Vec<_>>(), [header()]);
    assert_eq!(letters.len(), 3, "{letters:?}");

    // The reason is gone, or the header is repaired. The call is opened, and gets all its records.
    log.refuse_headers(|_| false);
    let _call = writer.open(header()).unwrap();
    for letter in letters.iter().filter(|letter| letter.record.is_some()) {
        writer.retry_dead_letter(letter.clone()).await.unwrap();
    }
    writer.discard_dead_letters(letters.iter().filter(|letter| letter.header.is_some()));
    assert_eq!((writer.flush(SOON).await, writer.dead_letters(None).await.unwrap()), (vec![], vec![]));
    assert!(stored(&log).await == manager);
    balanced(&writer.status());
    sleep(SECOND).await;
    killed(task).await;
    let (next, _task) = started(&log, settings().with_spool(spool_in(&memory.copy())));
    assert_eq!((next.flush(SOON).await, next.dead_letters(None).await.unwrap()), (vec![], vec![]));
    assert!(next.resume::<PlainMessage>(&ca1(), SOON).await.unwrap().0 == manager);
}
