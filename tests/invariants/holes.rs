//! A conversation is restored without some of its records and continued, again and again.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use verbale::log::{CallEnd, LoggedCall};
use verbale::{Content, LastMessage, MessageId, MessageWrapper, Record};

use super::history::{Done, Manager, Op, World, history, said};
use super::{assert_valid, config, window};

/// Restores a conversation from records, as a process does that knows how many there were.
fn restored(records: Vec<Record>, whole: &Manager) -> Manager {
    let mut logged = LoggedCall::new(None, records);
    logged.ended = Some(CallEnd::of(whole, 0, "hangup").unwrap());
    logged.restore()
}

fn ids(manager: &Manager) -> Vec<MessageId> {
    manager.meta_messages().iter().map(|message| message.id()).collect()
}

/// Checks that the records of a conversation restore it, with its tombstones.
fn assert_restores(manager: &Manager) -> TestCaseResult {
    let again = restored(manager.records(), manager);
    prop_assert!(again == *manager);
    prop_assert_eq!(window(&again), window(manager));
    prop_assert_eq!(again.open_tool_calls(), manager.open_tool_calls());
    prop_assert_eq!(again.summarizing(), manager.summarizing());
    prop_assert_eq!(again.message_count(), manager.message_count());
    prop_assert_eq!(again.left_out().len(), manager.left_out().len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..config() })]

    #[test]
    fn conversation_with_missing_messages_continues(
        ops in history(), lost in prop::collection::vec(prop::bool::weighted(0.2), 1..24),
        lives in prop::collection::vec(history(), 1..4),
    ) {
        // `Restore` requires all records.
        let is_kept = |op: &&Op| !matches!(op, Op::Prune { .. } | Op::Restore);
        let mut world = World::new();
        for op in ops.iter().filter(is_kept) {
            world.apply(op);
        }
        let mut lost = lost.iter().cycle();
        for ops in &lives {
            let whole = world.manager;
            let kept: Vec<Record> = whole.records().into_iter().filter(|_| !lost.next().unwrap()).collect();
            let manager = restored(kept.clone(), &whole);
            // Everything is there, or named.
            prop_assert_eq!(ids(&manager), kept.iter().map(|record| record.id()).collect::<Vec<_>>());
            let named = manager.left_out().len() - whole.left_out().len();
            prop_assert_eq!(kept.len() + named, whole.records().len());
            prop_assert_eq!(manager.message_count(), whole.message_count());
            prop_assert!(manager.changes(LastMessage::Include).is_empty());
            let texts: Vec<Content> = manager.meta_messages().iter().flat_map(|message| said(message.message())).cloned().collect();
            let table = kept.into_iter().map(|record| (record.position(), record)).collect();
            world = World { manager, said: texts, table, calls: world.calls, ..World::new() };
            assert_valid(&window(&world.manager))?;
            assert_restores(&world.manager)?;
            for op in ops.iter().filter(is_kept) {
                let before = world.clone();
                let done = world.apply(op);
                assert_valid(&window(&world.manager))?;
                if let Done::Refused(_) | Done::NotForked = done {
                    prop_assert_eq!(before.manager.to_string(), world.manager.to_string());
                }
                let kept: Vec<Content> = world.messages().flat_map(said).cloned().collect();
                if done == Done::Forked {
                    // The world does not expect that an edited first message gets a fake before it.
                    world.said = kept;
                } else {
                    prop_assert_eq!(&kept, &world.said);
                }
            }
            assert_restores(&world.manager)?;
            let pending = world.manager.changes(LastMessage::Include);
            world.manager.acknowledge(&pending);
            prop_assert!(world.manager.changes(LastMessage::Include).is_empty());
        }
    }
}
