//! What grows where it should not.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_flushes_tell_in_an_outage_grows_with_the_calls_not_with_their_square() {
    let log = Arc::new(Scripted::default());
    let (writer, _task) = started(&log, settings());
    let mut flushes = Vec::new();
    for number in 0..200 {
        let call_id = CallId::new(format!("CA{number}")).unwrap();
        log.set(&call_id, Mode::Unavailable);
        let call = writer.call(Claim::first(call_id));
        call.hand_over(&mut said(&["Hi"]), Tail::Include).unwrap();
        flushes.push(tokio::spawn(async move { call.flush(SECOND).await.len() }));
    }
    let mut told = 0;
    for flush in flushes {
        told += flush.await.unwrap();
    }
    assert!(told <= 10 * 200, "200 records were told of {told} times");
}

#[tokio::test(start_paused = true)]
async fn what_is_set_aside_does_not_stop_its_call() {
    let log = Arc::new(Scripted::default());
    log.refuse(0, 1);
    let (writer, _task) = started(&log, settings().with_limits(1_000, 1 << 20));
    let call = writer.call(Claim::first(ca1()));
    let mut manager = said(&[&"x".repeat(5_000)]);
    call.hand_over(&mut manager, Tail::Include).unwrap();
    assert_eq!(writer.flush(SOON).await.len(), 1);
    say(&mut manager, &["Hello!"]);
    assert_eq!(call.hand_over(&mut manager, Tail::Include).unwrap().records, 1);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_bounded_with_its_custom_data() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::new());
    log.set(&ca1(), Mode::Unavailable);
    let room = SpoolSettings::default().with_max_bytes(100_000);
    let spool = Arc::new(Spool::in_memory(&memory, room).unwrap());
    let settings = settings().with_spool(spool.clone()).with_limits(100_000, 100_000);
    let (writer, _task) = started(&log, settings);
    let call = writer.call(Claim::first(ca1()));
    let mut manager = Manager::new();
    for turn in 0..50 {
        say(&mut manager, &[&format!("turn {turn}")]);
        let id = manager.meta_messages()[turn].id();
        manager.entry(&id).unwrap().set_data("trace", "x".repeat(50_000)).unwrap();
    }
    let handed_over = call.hand_over(&mut manager, Tail::Include).unwrap();
    sleep(SECOND).await;
    assert!(handed_over.is_full, "{} records of 50,000 bytes each found room in 100,000", handed_over.records);
    assert!(spool.pending_bytes() <= 100_000, "{} bytes are spooled", spool.pending_bytes());
}

#[tokio::test(start_paused = true)]
async fn nothing_of_an_erased_call_is_accepted() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::new());
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    writer.open(header()).unwrap().hand_over(&mut said(&["Hi"]), Tail::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let silent = writer.call(Claim::first(ca1()));
    writer.erase(&ca1()).await.unwrap();
    log.set(&ca1(), Mode::Unavailable);
    let handed_over = silent.hand_over(&mut said(&["secret words"]), Tail::Include);
    sleep(SECOND).await;
    assert!(handed_over.is_err() || !memory.contains(b"secret words"));
}
