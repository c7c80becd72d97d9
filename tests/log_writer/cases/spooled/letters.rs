//! Dead letters in a spool, of calls that the writer has not read from it yet.

use verbale::log::{CallEnd, CallHeader, DeadLetter, LogErrorKind};

use super::*;
use crate::letters::take_dead_letters;

/// The writer then knows one spooled record at a time, and reads nothing while the first call is not stored.
const MAX_BYTES: usize = 4_096;

/// Spools a record of CA1 while the log is away, and a dead letter of CA2 with revision 1. Returns what a crash leaves,
/// and the manager of CA2.
async fn spooled(log: &Arc<Faulty>) -> (SpoolMemory, Manager) {
    let memory = SpoolMemory::default();
    let (writer, task) = LogWriter::new(log.clone(), settings().with_spool(spool(&memory, 1 << 20)));
    let task = tokio::spawn(task);
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    for (name, next) in [("CA1", Next::Unavailable), ("CA2", Next::Refuse)] {
        log.always(&call_id(name), next);
        let mut manager = manager.clone();
        manager.take_back();
        writer.call(lease(name)).submit(&mut manager, LastMessage::Include).unwrap();
    }
    tokio::time::sleep(SOON).await;
    assert_eq!((writer.status().spooled, writer.status().dead_letters), (1, 1));
    task.abort();
    let _ = task.await;
    (memory.copy(), manager)
}

fn restarted(log: &Arc<Faulty>, memory: &SpoolMemory) -> (LogWriter, Arc<Spool>) {
    let spool = spool(memory, 1 << 20);
    let settings = settings().with_spool(spool.clone()).with_limits(MAX_BYTES, MAX_BYTES);
    (started(log, settings), spool)
}

async fn letters(writer: &LogWriter) -> Vec<DeadLetter> {
    writer.dead_letters(None).await.unwrap()
}

/// Checks that the writer stores the rest, and that neither it nor its spool has a dead letter.
async fn assert_settles(log: &Faulty, writer: &LogWriter, spool: &Spool) {
    log.always(&call_id("CA1"), Next::Go);
    assert_eq!(writer.flush(SOON * 10).await, []);
    tokio::time::sleep(SOON).await;
    assert_eq!((letters(writer).await, writer.status().dead_letters), (vec![], 0));
    assert!(format!("{spool:?}").contains("pending_bytes: 0, dead_letter_bytes: 0,"), "{spool:?}");
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn taken_letters_of_an_unread_call_do_not_come_again() {
    for waits in [true, false] {
        let log = Arc::new(Faulty::new());
        let (memory, _) = spooled(&log).await;
        let (writer, spool) = restarted(&log, &memory);
        if waits {
            tokio::time::sleep(SOON).await;
            assert_eq!((writer.status().spooled, writer.status().dead_letters), (1, 0), "CA2 is not read");
        }
        let taken = take_dead_letters(&writer).await.unwrap();
        assert_eq!(taken.len(), 1, "{taken:?}");
        assert_eq!(take_dead_letters(&writer).await.unwrap(), []);
        // The operator may discard them twice.
        writer.discard_dead_letters(&taken);
        tokio::time::sleep(SOON).await;
        assert_eq!(letters(&writer).await, []);
        assert_settles(&log, &writer, &spool).await;
    }
}

/// A spool that fails cannot remove it yet.
#[tokio::test(start_paused = true)]
async fn taken_letters_do_not_come_again_while_the_spool_fails() {
    for reads in [true, false] {
        let log = Arc::new(Faulty::new());
        let (memory, _) = spooled(&log).await;
        if reads {
            log.always(&call_id("CA1"), Next::Go);
        }
        let (writer, spool) = restarted(&log, &memory);
        tokio::time::sleep(SOON).await;
        assert_eq!(writer.status().dead_letters, u64::from(reads));
        memory.fail_after(Some(0));
        assert_eq!(take_dead_letters(&writer).await.unwrap().len(), 1);
        for _ in 0..10 {
            // A spool whose disk is full may not be readable either.
            assert_eq!(writer.dead_letters(None).await.unwrap_or_default(), []);
            tokio::time::sleep(SOON).await;
        }
        memory.fail_after(None);
        tokio::time::sleep(SOON * 10).await;
        assert_settles(&log, &writer, &spool).await;
    }
}

#[tokio::test(start_paused = true)]
async fn newer_revision_supersedes_the_letter_of_an_unread_call() {
    let log = Arc::new(Faulty::new());
    let (memory, mut manager) = spooled(&log).await;
    let (writer, spool) = restarted(&log, &memory);
    tokio::time::sleep(SOON).await;
    log.always(&call_id("CA2"), Next::Go);
    let id = manager.meta_messages()[0].id();
    manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS).unwrap();
    writer.call(lease("CA2")).submit(&mut manager, LastMessage::Include).unwrap();
    assert_settles(&log, &writer, &spool).await;
    assert!(stored(&log, "CA2").await == manager);
}

#[tokio::test(start_paused = true)]
async fn letter_of_an_unread_call_can_be_stored_again() {
    let log = Arc::new(Faulty::new());
    let (memory, manager) = spooled(&log).await;
    let (writer, spool) = restarted(&log, &memory);
    tokio::time::sleep(SOON).await;
    log.always(&call_id("CA2"), Next::Go);
    log.open_call(&CallHeader::new(call_id("CA2"), START_MS).unwrap()).await.unwrap();
    let letter = letters(&writer).await.remove(0);
    let _call = writer.call(lease("CA2"));
    writer.retry_dead_letter(letter).await.unwrap();
    assert_settles(&log, &writer, &spool).await;
    assert!(stored(&log, "CA2").await == manager);
}

/// Submits two messages for one place while the log is away: the later one becomes a dead letter before it is spooled.
fn conflict(log: &Faulty, writer: &LogWriter) -> [Manager; 2] {
    log.always(&call_id("CA1"), Next::Unavailable);
    ["Hi", "Hello"].map(|words| {
        let mut manager = Manager::new();
        manager.add_user(words).unwrap();
        writer.call(lease("CA1")).submit(&mut manager, LastMessage::Include).unwrap();
        manager
    })
}

/// Dies, starts again, and checks that the dead letter of this manager is still there.
async fn assert_survives(log: &Arc<Faulty>, memory: &SpoolMemory, manager: &Manager) {
    let copy = memory.copy();
    let (restarted, spool) = restarted(log, &copy);
    tokio::time::sleep(SOON).await;
    let found = letters(&restarted).await;
    let records: Vec<_> = found.iter().filter_map(|letter| letter.record.as_ref()).map(|record| record.id()).collect();
    assert_eq!(records, [manager.meta_messages()[0].id()]);
    restarted.discard_dead_letters(&found);
    assert_settles(log, &restarted, &spool).await;
}

#[tokio::test(start_paused = true)]
async fn letter_that_arises_before_its_commit_outlives_the_process() {
    let (log, memory) = (Arc::new(Faulty::new()), SpoolMemory::default());
    let writer = started(&log, settings().with_spool(spool(&memory, 1 << 20)));
    let [_, refused] = conflict(&log, &writer);
    assert_eq!(letters(&writer).await.len(), 1);
    tokio::time::sleep(SOON).await;
    assert_eq!(letters(&writer).await.len(), 1);
    let status = writer.status();
    assert_eq!((status.dead_letters, status.queued, status.bytes), (1, 0, 0), "{status:?}");
    balanced(&status);
    assert_survives(&log, &memory, &refused).await;
    // The operator discards it in the first process.
    assert_eq!(take_dead_letters(&writer).await.unwrap().len(), 1);
    tokio::time::sleep(SOON).await;
    assert_eq!(letters(&writer).await, []);
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn letter_is_spooled_once_the_spool_recovers() {
    for writes in 0..24 {
        let (log, memory) = (Arc::new(Faulty::new()), SpoolMemory::default());
        let writer = started(&log, settings().with_spool(spool(&memory, 1 << 20)));
        memory.fail_after(Some(writes));
        let [_, refused] = conflict(&log, &writer);
        tokio::time::sleep(SOON).await;
        memory.fail_after(None);
        tokio::time::sleep(SOON * 12).await;
        assert_eq!(letters(&writer).await.len(), 1, "after {writes} writes");
        balanced(&writer.status());
        assert_survives(&log, &memory, &refused).await;
    }
}

#[tokio::test(start_paused = true)]
async fn letter_waits_in_memory_for_room_in_the_spool() {
    let (log, memory) = (Arc::new(Faulty::new()), SpoolMemory::default());
    let spool = spool(&memory, 1_000);
    let writer = started(&log, settings().with_spool(spool.clone()));
    let mut full = Manager::new();
    full.add_user("x".repeat(700)).unwrap();
    log.always(&call_id("CA2"), Next::Unavailable);
    writer.call(lease("CA2")).submit(&mut full, LastMessage::Include).unwrap();
    tokio::time::sleep(SOON).await;
    assert_eq!(writer.status().spooled, 1);
    let [_, refused] = conflict(&log, &writer);
    tokio::time::sleep(SOON).await;
    assert_eq!(letters(&writer).await.len(), 1);
    assert!(format!("{spool:?}").contains("dead_letter_bytes: 0"), "{spool:?}");
    log.always(&call_id("CA2"), Next::Go);
    tokio::time::sleep(SOON * 12).await;
    balanced(&writer.status());
    assert_survives(&log, &memory, &refused).await;
}

#[tokio::test(start_paused = true)]
async fn letter_that_is_discarded_during_its_commit_does_not_come_again() {
    for turns in 0..12 {
        let (log, memory) = (Arc::new(Faulty::new()), SpoolMemory::default());
        let spool = spool(&memory, 1 << 20);
        let writer = started(&log, settings().with_spool(spool.clone()));
        conflict(&log, &writer);
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        let found = letters(&writer).await;
        writer.discard_dead_letters(&found);
        tokio::time::sleep(SOON).await;
        assert_settles(&log, &writer, &spool).await;
    }
}

/// A way in which this process learns that another one has erased CA2. Returns the answer that says so, if one does.
async fn learn(writer: &LogWriter, letter: DeadLetter, way: u8) -> Option<LogErrorKind> {
    let id = call_id("CA2");
    let header = || CallHeader::new(id.clone(), 1_000).unwrap();
    let mut later = Manager::new();
    for text in ["Hi", "Bye"] {
        later.add_user(text).unwrap();
        later.add_assistant(text).unwrap();
    }
    let learned = match way {
        0 => writer.resume::<PlainMessage>(&id, SOON).await.map(drop),
        1 => {
            let _handle = writer.call(lease("CA2"));
            writer.retry_dead_letter(letter).await
        }
        2 => writer.call(lease("CA2")).submit(&mut later, LastMessage::Include).map(drop),
        3 => writer.open(header()).map(drop),
        4 => {
            let call_end = CallEnd::of(&later, 2_000, "hangup").unwrap();
            let call = writer.call(lease("CA2"));
            call.finish(&mut Manager::new(), call_end, SOON).await
        }
        _ => writer.erase(&id).await,
    };
    learned.err().map(|error| error.kind())
}

/// Another process erases the call of a dead letter. This one learns it from the first refusal.
#[tokio::test(start_paused = true)]
async fn letter_of_a_call_that_is_erased_elsewhere_is_forgotten() {
    for way in 0..6 {
        let log = Arc::new(Faulty::new());
        let (memory, _) = spooled(&log).await;
        log.always(&call_id("CA2"), Next::Go);
        log.erase_call(&call_id("CA2")).await.unwrap();
        let (writer, spool) = restarted(&log, &memory);
        tokio::time::sleep(SOON).await;
        let found = letters(&writer).await;
        assert_eq!((found.len(), writer.status().dead_letters), (1, 0), "CA2 is not read");
        let learned = learn(&writer, found[0].clone(), way).await;
        assert!(way >= 2 || learned == Some(LogErrorKind::Erased), "{way}: {learned:?}");
        tokio::time::sleep(SOON).await;
        assert_eq!(letters(&writer).await, [], "{way}");
        assert_settles(&log, &writer, &spool).await;
    }
}

/// Nothing else of the call asks the log.
#[tokio::test(start_paused = true)]
async fn restarted_writer_forgets_the_letter_of_a_call_that_is_erased() {
    for is_erased in [true, false] {
        let log = Arc::new(Faulty::new());
        let (memory, _) = spooled(&log).await;
        log.always(&call_id("CA1"), Next::Go);
        log.always(&call_id("CA2"), Next::Go);
        if is_erased {
            log.erase_call(&call_id("CA2")).await.unwrap();
        }
        log.always(&call_id("CA2"), Next::Unavailable);
        let (writer, spool) = restarted(&log, &memory);
        tokio::time::sleep(SOON).await;
        assert_eq!(letters(&writer).await.len(), 1, "the log is away");
        log.always(&call_id("CA2"), Next::Go);
        tokio::time::sleep(SOON * 10).await;
        let found = letters(&writer).await;
        assert_eq!(found.len(), usize::from(!is_erased));
        writer.discard_dead_letters(&found);
        assert_settles(&log, &writer, &spool).await;
    }
}
