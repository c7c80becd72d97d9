//! Records behind one that the log does not have, where no fence meets a writer that has lost its call.

use super::*;

fn is_all_dead(unstored: &[Unstored], seqs: &[u32]) -> bool {
    let found = unstored.iter().filter(|one| one.is_dead_letter).filter_map(|one| match one.part {
        Part::Record { position, .. } => Some(position.seq()),
        _ => None,
    });
    found.eq(seqs.iter().copied()) && unstored.len() == seqs.len()
}

#[tokio::test(start_paused = true)]
async fn what_is_written_behind_what_was_set_aside_is_told_once_the_call_is_taken_over() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    log.refuse(1, 1);
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &[1]));
    log.resume_call_beside(&ca1()).await;
    say(&mut manager, &["Are you there?", "Yes."]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &[1, 2, 3]));
    assert!(call.submit(&mut manager, LastMessage::Include).is_err());
    assert_eq!(log.kept(&ca1()).len(), 1, "nothing lies about behind the fence");
    balanced(&writer.status());
}

/// The last moment in which another process may take the call over: the records are stored then, and nobody reads them.
#[tokio::test(start_paused = true)]
async fn what_is_written_behind_what_was_set_aside_is_told_if_the_call_is_taken_over_meanwhile() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    log.refuse(1, 1);
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    writer.flush(SOON).await;
    log.take_over_behind_header_read(1);
    say(&mut manager, &["Are you there?", "Yes."]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &[1, 2, 3]));
    assert_eq!(log.kept(&ca1()).len(), 3);
    assert_eq!(log.read_call(&ca1()).await.unwrap().records.len(), 1);
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn a_gap_within_a_batch_is_one_as_well() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    log.refuse(1, 1);
    let mut manager = said(&["Hi", "Hello!", "Are you there?", "Yes."]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &[1]));
    assert_eq!(log.header_reads(), 1);
    assert_eq!(log.read_call(&ca1()).await.unwrap().records.len(), 3);
}

/// What was fenced was taken from the spool, so that nothing there tells of it.
#[tokio::test(start_paused = true)]
async fn a_writer_that_was_started_again_learns_that_it_has_lost_its_call() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let memory = SpoolMemory::new();
    let (writer, task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    log.resume_call_beside(&ca1()).await;
    say(&mut manager, &["Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &[1]));
    assert_eq!(writer.take_dead_letters().await.unwrap().len(), 1);
    call.acknowledge(&mut manager);
    sleep(SECOND).await;
    task.abort();
    let _ = task.await;
    drop((writer, call));

    for is_opened_again in [true, false] {
        let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory.copy())));
        let call =
            if is_opened_again { writer.open(header()).unwrap() } else { writer.call(WriterLease::first(ca1())) };
        manager.take_back();
        say(&mut manager, &["Are you there?"]);
        let seqs: Vec<u32> =
            manager.changes(LastMessage::Include).records().iter().map(|record| record.position().seq()).collect();
        assert!(seqs[0] > 1, "{seqs:?}");
        call.submit(&mut manager, LastMessage::Include).unwrap();
        assert!(is_all_dead(&writer.flush(SOON).await, &seqs));
        assert!(call.submit(&mut manager, LastMessage::Include).is_err());
        assert_eq!(log.kept(&ca1()).len(), 1, "nothing lies about behind the fence");
        balanced(&writer.status());
    }
}

/// Logging pays nothing for fencing: the header is read where there may be a gap, and nowhere else.
#[tokio::test(start_paused = true)]
async fn where_all_is_written_in_its_order_no_header_is_read() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let (mut manager, call) = writer.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
    say(&mut manager, &["Are you there?"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    assert_eq!((log.kept(&ca1()).len(), log.header_reads()), (3, 0));
}
