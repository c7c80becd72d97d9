//! Recovery in pieces, and a spool whose file is deleted or replaced while it is in use.

use std::fs;

use super::*;

const CALLS: usize = 40;
const MESSAGES: usize = 30;
/// The writer then knows 256 spooled records at a time, and those of one more call.
const MAX_BYTES: usize = 1 << 20;
const MOST: u64 = 256 + MESSAGES as u64;

fn name(call: usize) -> String {
    format!("CA{call:02}")
}

/// Spools calls while the log is away, and returns what a crash leaves.
async fn spooled(log: &Arc<Faulty>) -> (SpoolMemory, Vec<Manager>) {
    let memory = SpoolMemory::default();
    let writer = started(log, settings().with_spool(spool(&memory, 64 << 20)));
    let mut managers = Vec::new();
    for call in 0..CALLS {
        log.always(&call_id(&name(call)), Next::Unavailable);
        let handle = writer.open(CallHeader::new(call_id(&name(call)), START_MS).unwrap()).unwrap();
        let mut manager = Manager::new();
        for turn in 0..MESSAGES / 2 {
            manager.add_user(format!("user {turn}")).unwrap();
            manager.add_assistant("yes").unwrap();
        }
        handle.submit(&mut manager, LastMessage::Include).unwrap();
        managers.push(manager);
    }
    tokio::time::sleep(SOON).await;
    assert_eq!(writer.status().spooled, (CALLS * MESSAGES) as u64);
    (memory.copy(), managers)
}

fn all(log: &Faulty, next: Next) {
    (0..CALLS).for_each(|call| log.always(&call_id(&name(call)), next));
}

#[tokio::test(start_paused = true)]
async fn recovery_knows_few_records_at_a_time_and_stores_all() {
    let log = Arc::new(Faulty::new());
    let (memory, managers) = spooled(&log).await;
    let spool = spool(&memory, 64 << 20);
    let writer = started(&log, settings().with_spool(spool.clone()).with_limits(MAX_BYTES, MAX_BYTES));
    tokio::time::sleep(SOON * 20).await;
    let status = writer.status();
    assert!((200..=MOST).contains(&status.spooled), "{status:?}");
    let unstored = writer.flush(SOON).await;
    assert!(unstored.iter().any(|unstored| unstored.to_string().starts_with("an unknown part")), "{unstored:?}");

    all(&log, Next::Go);
    let flush = writer.flush(SOON * 100);
    tokio::pin!(flush);
    let unstored = loop {
        assert!(writer.status().spooled <= MOST, "{:?}", writer.status());
        tokio::select! {
            unstored = &mut flush => break unstored,
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
    };
    assert_eq!(unstored, []);
    let status = writer.status();
    balanced(&status);
    assert_eq!((status.recovered, status.stored), ((CALLS * MESSAGES) as u64, (CALLS * MESSAGES) as u64));
    for (call, manager) in managers.iter().enumerate() {
        assert!(stored(&log, &name(call)).await == *manager);
    }
    tokio::time::sleep(SOON).await;
    assert!(format!("{spool:?}").contains("pending_bytes: 0,"), "{spool:?}");
}

/// The log is available again for the last calls only. Nothing of them is in the pieces that the writer has read.
#[tokio::test(start_paused = true)]
async fn call_of_a_later_piece_is_read_when_it_is_used() {
    let log = Arc::new(Faulty::new());
    let (memory, managers) = spooled(&log).await;
    let spool = spool(&memory, 64 << 20);
    let writer = started(&log, settings().with_spool(spool.clone()).with_limits(MAX_BYTES, MAX_BYTES));
    tokio::time::sleep(SOON).await;
    let [resumed, continued, erased] = [CALLS - 1, CALLS - 2, CALLS - 3];
    for call in [resumed, continued, erased] {
        log.always(&call_id(&name(call)), Next::Go);
    }
    let (manager, handle) = writer.resume::<PlainMessage>(&call_id(&name(resumed)), SOON).await.unwrap();
    assert!(manager == managers[resumed]);
    drop(handle);

    // The records of the earlier process are stored first, also without a resume.
    let before = log.puts();
    let handle = writer.call(lease(&name(continued)));
    let mut manager = Manager::restore(managers[continued].records()).unwrap();
    manager.add_user("and then").unwrap();
    handle.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(handle.flush(SOON).await, []);
    assert_eq!(log.puts() - before, MESSAGES + 1);
    assert!(stored(&log, &name(continued)).await == manager);

    writer.erase(&call_id(&name(erased))).await.unwrap();
    all(&log, Next::Go);
    assert_eq!(writer.flush(SOON * 100).await, []);
    let status = writer.status();
    balanced(&status);
    assert_eq!(status.stored, ((CALLS - 1) * MESSAGES) as u64 + 1);
    assert_eq!(log.read_call(&call_id(&name(erased))).await.unwrap_err().kind(), verbale::log::LogErrorKind::Erased);
}

#[cfg(unix)]
/// A spool whose records wait for a log that is away is looked at every second.
#[tokio::test(start_paused = true)]
async fn file_that_is_deleted_while_nothing_is_said_is_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let log = Arc::new(Faulty::new());
    log.always(&call_id("CA1"), Next::Unavailable);
    let spool = Arc::new(Spool::open(&path, SpoolSettings::default()).unwrap());
    let writer = started(&log, settings().with_spool(spool));
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    // The pauses between attempts grow.
    tokio::time::sleep(Duration::from_secs(600)).await;
    for _ in 0..20 {
        fs::remove_file(&path).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(path.exists());
        assert!(writer.status().trouble[0].to_string().contains("was deleted"), "{:?}", writer.status().trouble);
    }
    log.always(&call_id("CA1"), Next::Go);
    assert_eq!(writer.flush(Duration::from_secs(60)).await, []);
    assert!(stored(&log, "CA1").await == manager);
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn deleted_file_of_dead_letters_or_of_a_header_is_noticed() {
    for (next, has_letter) in [(Next::Refuse, true), (Next::Unavailable, false)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        let log = Arc::new(Faulty::new());
        log.always(&call_id("CA1"), next);
        let spool = Arc::new(Spool::open(&path, SpoolSettings::default()).unwrap());
        let writer = started(&log, settings().with_spool(spool));
        let _call = if has_letter {
            let call = writer.call(lease("CA1"));
            let mut manager = Manager::new();
            manager.add_user("Hi").unwrap();
            call.submit(&mut manager, LastMessage::Include).unwrap();
            call
        } else {
            writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap()
        };
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!((writer.status().spooled, writer.status().dead_letters), (0, u64::from(has_letter)));
        fs::remove_file(&path).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(path.exists());
        assert!(writer.status().trouble[0].to_string().contains("was deleted"), "{:?}", writer.status().trouble);
    }
}

#[tokio::test(start_paused = true)]
async fn deleted_or_replaced_file_is_reported_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let log = Arc::new(Faulty::new());
    log.always(&call_id("CA1"), Next::Unavailable);
    let spool = Arc::new(Spool::open(&path, SpoolSettings::default()).unwrap());
    let writer = started(&log, settings().with_spool(spool));
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    tokio::time::sleep(SOON).await;
    assert_eq!((writer.status().spooled, writer.status().trouble.len()), (1, 0));

    fs::remove_file(&path).unwrap();
    manager.add_assistant("Hello!").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let status = writer.status();
    assert_eq!((status.spooled, status.queued), (2, 0));
    assert!(status.trouble[0].to_string().contains("was deleted"), "{:?}", status.trouble);
    call.acknowledge(&mut manager);
    assert!(manager.changes(LastMessage::Include).is_empty());

    // Another file has its name: the next records are not spooled, and not acknowledged.
    fs::write(directory.path().join("other"), "somebody's").unwrap();
    fs::rename(directory.path().join("other"), &path).unwrap();
    manager.add_user("And then?").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let status = writer.status();
    assert_eq!((status.spooled, status.queued), (2, 1));
    assert!(status.trouble[0].to_string().contains("was replaced"), "{:?}", status.trouble);
    call.acknowledge(&mut manager);
    assert_eq!(manager.changes(LastMessage::Include).len(), 1);

    fs::remove_file(&path).unwrap();
    log.always(&call_id("CA1"), Next::Go);
    assert_eq!(writer.flush(Duration::from_secs(60)).await, []);
    assert!(stored(&log, "CA1").await == manager);
    tokio::time::sleep(Duration::from_secs(120)).await;
    manager.add_assistant("Good bye!").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    balanced(&writer.status());
    assert!(writer.status().trouble.is_empty(), "{:?}", writer.status().trouble);
    assert!(path.exists());
}
