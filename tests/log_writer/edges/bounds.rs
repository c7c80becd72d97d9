//! Bounds of memory and work.

use super::*;

#[tokio::test(start_paused = true)]
async fn reports_of_flushes_in_an_outage_grow_linearly_with_the_calls() {
    let log = Arc::new(Scripted::default());
    let (writer, _task) = started(&log, settings());
    let mut flushes = Vec::new();
    for number in 0..200 {
        let call_id = CallId::new(format!("CA{number}")).unwrap();
        log.set(&call_id, Mode::Unavailable);
        let call = writer.call(WriterLease::from(call_id));
        call.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
        flushes.push(tokio::spawn(async move { call.flush(SECOND).await.len() }));
    }
    let mut reported = 0;
    for flush in flushes {
        reported += flush.await.unwrap();
    }
    assert!(reported <= 10 * 200, "200 records were reported {reported} times");
}

#[tokio::test(start_paused = true)]
async fn dead_letter_does_not_block_its_call() {
    let log = Arc::new(Scripted::default());
    log.refuse(0, 1);
    let (writer, _task) = started(&log, settings().with_limits(1_000, 1 << 20));
    let call = writer.call(WriterLease::from(ca1()));
    let mut manager = said(&[&"x".repeat(5_000)]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await.len(), 1);
    say(&mut manager, &["Hello!"]);
    assert_eq!(call.submit(&mut manager, LastMessage::Include).unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn custom_data_counts_towards_the_limits() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    log.set(&ca1(), Mode::Unavailable);
    let room = SpoolSettings::default().with_max_bytes(100_000);
    let spool = Arc::new(memory.open(room).unwrap());
    let settings = settings().with_spool(spool.clone()).with_limits(100_000, 100_000);
    let (writer, _task) = started(&log, settings);
    let call = writer.call(WriterLease::from(ca1()));
    let mut manager = Manager::new();
    for turn in 0..50 {
        say(&mut manager, &[&format!("turn {turn}")]);
        let id = manager.meta_messages()[turn].id();
        manager.entry(&id).unwrap().set_data("trace", "x".repeat(50_000)).unwrap();
    }
    let submitted = call.submit(&mut manager, LastMessage::Include).unwrap();
    sleep(SECOND).await;
    assert!(submitted < 50, "{submitted} records of 50,000 bytes each fit into 100,000");
    assert!(writer.status().spooled <= 2, "{:?}", writer.status());
}

#[tokio::test(start_paused = true)]
async fn erased_call_accepts_nothing() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    writer.open(header()).unwrap().submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let silent = writer.call(WriterLease::from(ca1()));
    writer.erase(&ca1()).await.unwrap();
    log.set(&ca1(), Mode::Unavailable);
    let submitted = silent.submit(&mut said(&["secret words"]), LastMessage::Include);
    sleep(SECOND).await;
    assert!(submitted.is_err() || !memory.contains(b"secret words"));
}

#[tokio::test(start_paused = true)]
async fn handle_without_an_expiry_keeps_that_of_the_call() {
    let log = Arc::new(Scripted::default());
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header().with_expires_at(4_102_444_800)).unwrap();
    let second = writer.call(WriterLease::from(ca1()));
    let mut manager = said(&["Hi", "Hello!"]);
    for handle in [&call, &second] {
        handle.submit(&mut manager, LastMessage::Include).unwrap();
        assert_eq!(writer.flush(SOON).await, []);
        touch(&mut manager, START_MS);
    }
    let expiries: Vec<_> = log.kept(&ca1()).iter().map(|kept| kept.expires_at_s).collect();
    assert_eq!(expiries, [Some(4_102_444_800); 3]);
}
