//! Redacted text reaches neither the log nor the spool nor the traces.

use std::error::Error;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as Fields};
use tracing::{Event, Metadata, Subscriber};
use verbale::log::{
    CallHeader, CallLog, CardNumbers, Durability, LogErrorKind, LogWriter, Redaction, Redactor, Spool, SpoolSettings,
    redact,
};
use verbale::message::Map;
use verbale::testing::SpoolMemory;
use verbale::{LastMessage, Record, Timing};

use super::faulty::{Faulty, Next};
use super::{Manager, SOON, START_MS, balanced, call_id, lease, settings, started, stored};
use crate::letters::take_dead_letters;

/// The events that are traced on this thread.
#[derive(Clone, Default)]
struct Traced(Arc<Mutex<String>>);

impl Subscriber for Traced {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Fields<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for Traced {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push_str(&format!("{field}={value:?} "));
    }
}

fn spool(memory: &SpoolMemory) -> Arc<Spool> {
    Arc::new(memory.open(SpoolSettings::default()).unwrap())
}

async fn logged(log: &Faulty) -> Vec<Record> {
    log.read_call(&call_id("CA1")).await.unwrap().records
}

/// Looks for half of the card's number. Fewer digits may also be part of a time or an id.
fn has_card(memory: &SpoolMemory) -> bool {
    let halves: [&[u8]; 3] = [b"4111 1111", b"4111-1111", b"41111111"];
    halves.iter().any(|half| memory.contains(half))
}

#[tokio::test(start_paused = true)]
async fn card_number_reaches_neither_log_nor_spool() {
    let memory = SpoolMemory::default();
    let log = Arc::new(Faulty::new());
    log.always(&call_id("CA1"), Next::Unavailable);
    let settings = settings().with_redactor(Arc::new(CardNumbers));
    let (writer, task) = LogWriter::new(log.clone(), settings.clone().with_spool(spool(&memory)));
    let task = tokio::spawn(task);
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("My card is 4111 1111").unwrap();
    manager.add_user("1111 1111, is it not?").unwrap();
    manager.add_assistant("I have 4111-1111-1111-1111.").unwrap();
    manager.add_summary("The card is 4111111111111111.", &manager.summarizing().unwrap()).unwrap();
    manager.add_user("Yes").unwrap().set_data("note", "card 4111 1111 1111 1111").unwrap();
    let said = manager.records();
    let expected: Vec<Record> = said.iter().map(|record| redact(record, &CardNumbers).unwrap()).collect();
    assert!(expected.iter().zip(&said).all(|(redacted, said)| redacted != said), "each contains the number");

    assert_eq!(call.submit(&mut manager, LastMessage::Include).unwrap(), 4);
    tokio::time::sleep(SOON).await;
    assert!(writer.status().spooled == 4 && memory.contains(b"The card is") && !has_card(&memory));
    assert!(manager.records() == said, "the conversation keeps its text");
    balanced(&writer.status());
    task.abort();
    let _ = task.await;

    let crashed = memory.copy();
    assert!(!has_card(&crashed));
    log.always(&call_id("CA1"), Next::Go);
    let writer = started(&log, settings.with_spool(spool(&crashed)));
    assert_eq!(writer.flush(SOON).await, []);
    assert_eq!(logged(&log).await, expected);
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn attributes_are_redacted_or_left_out() {
    let attributes = |note: &str| Map::new([("note".to_owned(), note.into())].into()).unwrap();
    let header = |id| CallHeader::new(call_id(id), START_MS).unwrap();
    let memory = SpoolMemory::default();
    let log = Arc::new(Faulty::new());
    let settings = settings().with_redactor(Arc::new(CardNumbers)).with_spool(spool(&memory));
    let writer = started(&log, settings.with_redactor(Arc::new(broken(0, Arc::default()))));
    let opened = [("CA1", "card 4111 1111 1111 1111"), ("CA2", "a secret"), ("CA3", "plain")];
    let calls = opened.map(|(id, note)| writer.open(header(id).with_attributes(attributes(note))).unwrap());
    assert_eq!(writer.flush(SOON).await, []);
    assert!(!has_card(&memory) && !memory.contains(b"secret"));
    let found = [attributes("card **** **** **** 1111"), Map::default(), attributes("plain")];
    for (call, found) in calls.iter().zip(found) {
        let stored = log.read_header(call.lease().call_id()).await.unwrap().unwrap();
        let text = |map: &Map| serde_json::to_string(map).unwrap();
        assert_eq!(text(stored.attributes()), text(&found));
    }
}

/// A redactor that fails at texts with "secret", in one of three ways, until it is repaired.
fn broken(way: usize, is_repaired: Arc<AtomicBool>) -> impl Redactor + 'static {
    move |text: &str| -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> {
        if !text.contains("secret") || is_repaired.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        match way {
            0 => Err("out of reach".into()),
            1 => panic!("out of order"),
            _ => Ok(vec![Redaction::new("name", 5..9_999, "")]),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn record_that_cannot_be_redacted_is_written_nowhere_and_blocks_nothing() {
    for (way, reason) in ["out of reach", "panicked", "9999"].into_iter().enumerate() {
        let traced = Traced::default();
        let _guard = tracing::subscriber::set_default(traced.clone());
        let (memory, is_repaired) = (SpoolMemory::default(), Arc::new(AtomicBool::new(false)));
        let log = Arc::new(Faulty::new());
        log.always(&call_id("CA1"), Next::Unavailable);
        let redactor = Arc::new(broken(way, is_repaired.clone()));
        let settings = settings().with_redactor(Arc::new(CardNumbers)).with_redactor(redactor);
        let settings = settings.with_spool(spool(&memory));
        let writer = started(&log, settings);
        let call = writer.call(lease("CA1"));
        let mut manager = Manager::new();
        manager.add_user("Hi").unwrap();
        let id = manager.add_assistant("the secret word").unwrap().id();
        manager.add_user("Thank you").unwrap();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        tokio::time::sleep(SOON).await;
        let status = writer.status();
        balanced(&status);
        assert_eq!((status.spooled, status.dead_letters), (2, 1));
        assert!(status.bytes > 0, "it counts towards the limit");
        assert!(memory.contains(b"Thank you") && !memory.contains(b"secret"));

        log.always(&call_id("CA1"), Next::Go);
        let unstored = writer.flush(SOON).await;
        assert!(unstored.len() == 1 && unstored[0].is_dead_letter, "{unstored:?}");
        assert_eq!(unstored[0].level, Durability::Accepted);
        assert_eq!(logged(&log).await, [0, 2].map(|at| manager.records()[at].clone()));
        call.acknowledge(&mut manager);
        assert_eq!(manager.changes(LastMessage::Include), &manager.records()[1..2]);

        // A newer revision replaces it.
        manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS).unwrap();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        writer.flush(SOON).await;
        let taken = take_dead_letters(&writer).await.unwrap();
        assert_eq!(
            (taken.len(), taken[0].record.as_ref(), taken[0].is_unredacted),
            (1, Some(&manager.records()[1]), true)
        );
        assert!(taken[0].reason.contains(reason), "{}", taken[0].reason);
        assert_eq!(writer.flush(SOON).await, []);
        assert_eq!(writer.status().dropped, 2);
        assert_eq!((writer.status().dead_letters, writer.status().bytes), (0, 0));
        assert_eq!(logged(&log).await.len(), 2);

        is_repaired.store(true, Ordering::Relaxed);
        manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS + 1).unwrap();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        assert_eq!(writer.flush(SOON).await, []);
        assert!(stored(&log, "CA1").await == manager);
        balanced(&writer.status());
        let traced = traced.0.lock().unwrap();
        assert!(traced.contains("dead letter") && !traced.contains("secret"), "{traced}");
    }
}

#[tokio::test(start_paused = true)]
async fn unredacted_dead_letters_of_an_erased_call_are_dropped() {
    let log = Arc::new(Faulty::new());
    let redactor = broken(0, Arc::default());
    let writer = started(&log, settings().with_redactor(Arc::new(redactor)));
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("the secret word").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(writer.status().dead_letters, 1);
    // Submitted before the erasure is known, and handled after it.
    let erased_id = call_id("CA1");
    let (erased, submitted) = tokio::join!(writer.erase(&erased_id), async {
        manager.add_assistant("another secret word").unwrap();
        call.submit(&mut manager, LastMessage::Include)
    });
    erased.unwrap();
    assert_eq!(submitted.unwrap(), 1);
    assert_eq!(writer.flush(SOON).await, []);
    assert!(take_dead_letters(&writer).await.unwrap().is_empty());
    let status = writer.status();
    balanced(&status);
    assert_eq!((status.dead_letters, status.dropped, status.bytes), (0, 2, 0));
    assert_eq!(log.read_call(&call_id("CA1")).await.unwrap_err().kind(), LogErrorKind::Erased);
}

#[test]
fn debug_of_settings_hides_the_redactor() {
    let settings = settings().with_redactor(Arc::new(CardNumbers));
    assert!(format!("{settings:?}").contains("redactors: Redactors([Redactor])"));
}
