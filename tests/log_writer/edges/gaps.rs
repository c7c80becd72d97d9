//! Records after a gap in the log, where no fence stops a writer that has lost its call.

use verbale::dynamodb::Layout;
use verbale::log::LogErrorKind;

use super::*;
use crate::letters::take_dead_letters;

fn is_all_dead(unstored: &[Unstored], manager: &Manager, seqs: &[u32]) -> bool {
    let records = manager.records();
    let ids = seqs.iter().map(|seq| records.iter().find(|record| record.position().seq() == *seq).unwrap().id());
    let found = unstored.iter().filter(|one| one.is_dead_letter).filter_map(|one| one.message_id);
    found.eq(ids) && unstored.len() == seqs.len()
}

#[tokio::test(start_paused = true)]
async fn records_after_a_dead_letter_are_reported_after_a_takeover() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    log.refuse(1, 1);
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &manager, &[1]));
    log.take_over_beside(&ca1()).await;
    say(&mut manager, &["Are you there?", "Yes."]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &manager, &[1, 2, 3]));
    assert!(call.submit(&mut manager, LastMessage::Include).is_err());
    assert_eq!(log.kept(&ca1()).len(), 1, "nothing is stored after the fence");
    balanced(&writer.status());
}

/// Another process takes the call over at the last possible moment: the records are stored, but no read returns them.
#[tokio::test(start_paused = true)]
async fn records_after_a_dead_letter_are_reported_if_the_takeover_comes_during_the_put() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    log.refuse(1, 1);
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    writer.flush(SOON).await;
    log.take_over_after_header_read(1);
    say(&mut manager, &["Are you there?", "Yes."]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &manager, &[1, 2, 3]));
    assert_eq!(log.kept(&ca1()).len(), 3);
    assert_eq!(log.read_call(&ca1()).await.unwrap().records.len(), 1);
    balanced(&writer.status());
}

/// Another process erases the call at the last possible moment, and marks only the next message.
#[tokio::test(start_paused = true)]
async fn records_after_dead_letters_are_not_stored_if_the_erasure_comes_during_the_put() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    log.refuse(1, 1);
    log.refuse(2, 1);
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!", "Are you there?"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &manager, &[1, 2]));
    log.erase_after_header_read(1);
    say(&mut manager, &["Yes.", "Good."]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    assert_eq!(log.kept(&ca1()).len(), 3, "the log took both records");
    let status = writer.status();
    assert_eq!((status.stored, status.dropped, status.dead_letters), (1, 4, 0), "{status:?}");
    balanced(&status);
    let error = call.submit(&mut manager, LastMessage::Include).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Erased);
    assert_eq!(log.read_call(&ca1()).await.unwrap_err().kind(), LogErrorKind::Erased);
}

#[tokio::test(start_paused = true)]
async fn gap_within_a_batch_is_checked() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    log.refuse(1, 1);
    let mut manager = said(&["Hi", "Hello!", "Are you there?", "Yes."]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &manager, &[1]));
    assert_eq!(log.header_reads(), 1);
    assert_eq!(log.read_call(&ca1()).await.unwrap().records.len(), 3);
}

/// The fenced record was taken from the spool, so the spool has no trace of the takeover.
#[tokio::test(start_paused = true)]
async fn restarted_writer_detects_that_it_has_lost_its_call() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let memory = SpoolMemory::default();
    let (writer, task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    log.take_over_beside(&ca1()).await;
    say(&mut manager, &["Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(is_all_dead(&writer.flush(SOON).await, &manager, &[1]));
    assert_eq!(take_dead_letters(&writer).await.unwrap().len(), 1);
    call.acknowledge(&mut manager);
    sleep(SECOND).await;
    task.abort();
    let _ = task.await;
    drop((writer, call));

    for is_opened_again in [true, false] {
        let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory.copy())));
        let call = if is_opened_again { writer.open(header()).unwrap() } else { writer.call(WriterLease::from(ca1())) };
        manager.take_back();
        say(&mut manager, &["Are you there?"]);
        let seqs: Vec<u32> =
            manager.changes(LastMessage::Include).iter().map(|record| record.position().seq()).collect();
        assert!(seqs[0] > 1, "{seqs:?}");
        call.submit(&mut manager, LastMessage::Include).unwrap();
        assert!(is_all_dead(&writer.flush(SOON).await, &manager, &seqs));
        assert!(call.submit(&mut manager, LastMessage::Include).is_err());
        assert_eq!(log.kept(&ca1()).len(), 1, "nothing is stored after the fence");
        balanced(&writer.status());
    }
}

/// Fencing is free for gapless calls: the header is read only if there may be a gap.
#[tokio::test(start_paused = true)]
async fn gapless_call_reads_no_header() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let (mut manager, call) = writer.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
    let reads = log.header_reads();
    say(&mut manager, &["Are you there?"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    assert_eq!((log.kept(&ca1()).len(), log.header_reads()), (3, reads));
}

/// DynamoDB has no item with the key of the second message of a span, so the put itself would not be refused.
#[tokio::test(start_paused = true)]
async fn dead_letter_does_not_take_the_place_of_another_message_in_a_span() {
    for layout in [Layout::Messages, Layout::Spans] {
        let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await.with_layout(layout))));
        let (old, _task) = started(&log, settings());
        let call = old.open(header()).unwrap();
        let mut manager = Manager::new();
        assert_eq!(old.flush(SOON).await, []);
        let (new, _new_task) = started(&log, settings());
        let (mut taken_over, new_call) = new.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
        say(&mut taken_over, &["Hi", "Hello!"]);
        new_call.submit(&mut taken_over, LastMessage::Include).unwrap();
        assert_eq!(new.flush(SOON).await, []);
        say(&mut manager, &["Hi", "Hello!"]);
        call.submit(&mut manager, LastMessage::Include).unwrap();
        assert_eq!(old.flush(SOON).await.len(), 2);

        let (resumed, _call) = old.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
        assert_eq!((resumed.meta_messages().len(), resumed.left_out().len()), (2, 2));
        for letter in old.dead_letters(None).await.unwrap() {
            let error = old.retry_dead_letter(letter).await.unwrap_err();
            assert_eq!(error.kind(), LogErrorKind::Refused, "{error}");
        }
        assert_eq!(old.dead_letters(None).await.unwrap().len(), 2);
        assert!(stored(&log).await == taken_over);
    }
}
