//! Pruning, rule by rule and over random histories.

use proptest::prelude::*;
use verbale::log::CallEnd;
use verbale::{LastMessage, MessageId, MessageWrapper, Record};

use super::history::{Done, Manager, World, history};
use super::{id, list, shown, summaries, summarize, tool_call, window};

fn call(turns: usize) -> Manager {
    let mut manager = Manager::new();
    for turn in 0..turns {
        manager.add_user(format!("u{turn}")).unwrap();
        manager.add_assistant(format!("a{turn}")).unwrap();
    }
    manager
}

fn log_everything(manager: &mut Manager) -> Vec<Record> {
    manager.acknowledge(&manager.changes(LastMessage::Include));
    manager.records()
}

#[test]
fn pruning_removes_oldest_and_keeps_the_rest_unchanged() {
    let mut manager = call(4);
    let log = log_everything(&mut manager);
    assert_eq!(manager.prune_logged(8), 0);
    assert_eq!(manager.prune_logged(5), 2, "the first of five would be an assistant message");
    assert_eq!(manager.prune_logged(4), 2);
    assert_eq!((manager.pruned(), manager.message_count()), (4, 8));
    assert_eq!(list(&manager), ["user: u2", "assistant: a2", "user: u3", "assistant: a3"]);
    assert_eq!(window(&manager).iter().map(shown).collect::<Vec<_>>(), list(&manager));
    assert_eq!((manager.records(), manager.messages().count()), (log[4..].to_vec(), 4));
    assert!(manager.entry(&log[0].id()).is_none());

    let mut entry = manager.add_user("u4").unwrap();
    entry.set_data("k", true).unwrap();
    assert_eq!(entry.message().position().seq(), 8);
    assert_eq!(manager.changes(LastMessage::Include).len(), 1);
    assert!(format!("{manager}").contains("\n4   *   [user] {'u2'}"), "{manager}");

    // Its log restores the whole conversation.
    let mut records = log;
    records.extend(manager.changes(LastMessage::Include));
    let restored = Manager::restore(records).unwrap();
    assert_eq!(restored.meta_messages()[4..], *manager.meta_messages());
    assert!(restored != manager);
}

#[test]
fn unlogged_messages_are_not_pruned() {
    let mut manager = call(4);
    assert_eq!(manager.prune_logged(0), 0);
    let some = Record::from(manager.meta_messages()[0].message().clone());
    let others = manager.records();
    manager.acknowledge([&some].into_iter().chain(&others[1..4]));
    let changed = id(&manager, 2);
    manager.entry(&changed).unwrap().set_data("k", true).unwrap();
    assert_eq!(manager.prune_logged(0), 2, "the log does not know the change");
    assert_eq!(manager.prune(2), 4);
    let late = manager.records();
    manager.acknowledge([&late[0], &some]);
    assert_eq!(manager.changes(LastMessage::Include).len(), 1);

    // A lost message does not keep logged messages in memory.
    manager.add_user("u4").unwrap();
    manager.add_assistant("a4").unwrap();
    log_everything(&mut manager);
    assert_eq!(manager.prune_logged(0), 2, "the last turn stays");
}

#[test]
fn pruning_keeps_call_pairs_and_the_last_message() {
    let mut manager = call(1);
    let slow = tool_call("slow");
    manager.add_user("u1").unwrap();
    manager.add_assistant(slow.clone()).unwrap();
    manager.add_user("still there?").unwrap();
    manager.add_assistant("one moment").unwrap();
    manager.add_user("fine").unwrap();
    assert_eq!(manager.prune(0), 2, "an open call keeps later messages");
    manager.add_user(slow.success(["yes"])).unwrap();
    assert_eq!(manager.prune(2), 0, "a call is pruned together with its result");
    manager.add_assistant("done").unwrap();
    manager.add_user("thanks").unwrap();
    assert_eq!(manager.prune(0), 6);
    assert_eq!(list(&manager), ["user: thanks"]);
    let again = manager.add_assistant(slow.clone()).unwrap_err();
    assert!(again.to_string().starts_with(&format!("tool call `{}` ", slow.id())), "{again}");
}

#[test]
fn pruning_does_not_empty_the_window() {
    let mut manager = call(2);
    log_everything(&mut manager);
    assert_eq!(manager.prune(0), 2);
    assert_eq!(list(&manager), ["user: u1", "assistant: a1"]);
    assert_eq!(manager.prune(0), 0);
    assert_eq!(manager.messages().count(), 2);
    summarize(&mut manager, "S");
    assert_eq!(manager.prune_covered(), 2, "the log has what the summary covers");
    assert_eq!(list(&manager), ["summary: S"]);
    assert!(manager.to_string().contains("[released] 4 messages that left memory"));
    manager.add_assistant("are you there?").unwrap();
    manager.add_user("yes").unwrap();
    assert_eq!(list(&manager), ["summary: S", "user: ...", "assistant: are you there?", "user: yes"]);
}

#[test]
fn only_covered_and_logged_messages_are_pruned_as_covered() {
    let mut manager = call(3);
    log_everything(&mut manager);
    assert_eq!(manager.prune_covered(), 0, "no summary covers them");
    let taken = manager.summarizing_keeping(1).unwrap();
    manager.add_summary("S", &taken).unwrap();
    let before = window(&manager);
    assert_eq!((manager.prune_covered(), manager.prune_covered()), (4, 0));
    assert_eq!(list(&manager), ["summary: S", "user: u2", "assistant: a2"]);
    assert_eq!(window(&manager), before);

    summarize(&mut manager, "all");
    assert_eq!(manager.prune_covered(), 0, "the log does not have the first summary");
    log_everything(&mut manager);
    assert_eq!(manager.prune_covered(), 3);
    assert_eq!(list(&manager), ["summary: all"]);
}

#[test]
fn pruning_keeps_last_summary_and_later_messages() {
    let mut manager = call(2);
    summarize(&mut manager, "first");
    for turn in 2..4 {
        manager.add_user(format!("u{turn}")).unwrap();
        manager.add_assistant(format!("a{turn}")).unwrap();
    }
    summarize(&mut manager, "second");
    manager.add_user("u4").unwrap();
    assert_eq!(manager.prune(8), 2);
    assert_eq!(manager.prune(6), 2);
    assert_eq!(list(&manager)[..2], ["summary: first", "user: u2"]);
    assert_eq!(manager.prune(0), 5);
    assert_eq!(list(&manager), ["summary: second", "user: u4"]);
    assert_eq!(manager.last_summary().map(|wrapper| wrapper.id()), Some(id(&manager, 0)));
    assert_eq!((summaries(&manager), manager.message_count()), (2, 9));
    let call_end = CallEnd::of(&manager, 0, "hangup").unwrap();
    assert_eq!((call_end.messages, call_end.summaries), (9, 2), "the log has all of them");
}

#[test]
fn late_summary_covers_messages_left_after_pruning() {
    let mut manager = call(4);
    let (taken, older) = (manager.summarizing().unwrap(), manager.summarizing_keeping(3).unwrap());
    let read: Vec<MessageId> = taken.messages().map(|message| message.id()).collect();
    let before = manager.records();
    assert_eq!(manager.prune(4), 4);
    assert!(manager.add_summary("S", &older).unwrap_err().is_stale());
    let summary = manager.add_summary("S", &taken).unwrap().id();
    assert_eq!(manager.summary_ids(&summary), read[4..], "only these are in memory");
    let whole = before.into_iter().chain(manager.records());
    assert_eq!(Manager::restore(whole).unwrap().summary_ids(&summary), read);
    assert_eq!(list(&manager)[3..], ["assistant: a3", "summary: S"]);
    assert!(manager.add_summary("S", &taken).unwrap_err().is_stale());
}

#[test]
fn second_summary_of_a_range_is_stale_after_pruning() {
    let mut manager = call(4);
    let (long, short) = (manager.summarizing().unwrap(), manager.summarizing_keeping(2).unwrap());
    manager.add_summary("short", &short).unwrap();
    assert_eq!(manager.prune(0), 4);
    assert!(manager.add_summary("long", &long).unwrap_err().is_stale());
}

#[test]
fn fork_of_pruned_source_has_the_remaining_messages() {
    let mut manager = call(4);
    let gone = id(&manager, 3);
    let log = log_everything(&mut manager);
    manager.prune_logged(4);
    assert!(manager.fork(&gone, "CA1").unwrap_err().is_not_in_memory());
    let first = id(&manager, 0);
    assert!(manager.edit(&first, "other", "CA1").unwrap_err().is_not_in_memory());

    let at = id(&manager, 2);
    let mut fork = manager.fork(&at, "CA1").unwrap();
    fork.add_assistant("other").unwrap();
    assert_eq!((fork.pruned(), fork.message_count()), (4, 8));
    assert_eq!(list(&fork), ["user: u2", "assistant: a2", "user: u3", "assistant: other"]);
    // The fork's log lacks the pruned messages; the source's log has them.
    let whole = log[..fork.pruned()].iter().cloned().chain(fork.records());
    let whole = Manager::restore(whole).unwrap();
    assert_eq!(whole.meta_messages()[4..], *fork.meta_messages());
    assert!(Manager::restore(fork.records()).is_err());
}

#[test]
fn fork_that_needs_pruned_messages_is_refused() {
    let mut manager = call(4);
    summarize(&mut manager, "S");
    manager.add_user("u4").unwrap();
    manager.prune(6);
    assert_eq!(list(&manager)[..2], ["user: u2", "assistant: a2"]);
    // Without the summary, the window would begin with pruned messages.
    let covered = id(&manager, 1);
    assert!(manager.fork(&covered, "CA1").unwrap_err().is_not_in_memory());
    let last = id(&manager, 3);
    assert_eq!(list(&manager.fork(&last, "CA1").unwrap())[4..], ["summary: S"]);
}

#[test]
fn fork_keeps_messages_pruned_from_its_source() {
    let mut source = call(4);
    let at = id(&source, 5);
    let mut fork = source.fork(&at, "CA1").unwrap();
    assert_eq!(source.prune(2), 6);
    assert_eq!((source.meta_messages().len(), fork.meta_messages().len()), (2, 6));
    assert_eq!(fork.prune(2), 4);
    assert_eq!(list(&fork), ["user: u2", "assistant: a2"]);
    fork.add_user("u3'").unwrap();
    assert_eq!(list(&source), ["user: u3", "assistant: a3"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn pruned_messages_are_a_prefix_that_a_summary_could_cover(ops in history()) {
        let mut world = World::new();
        for op in &ops {
            let before = world.clone();
            let done = world.apply(op);
            let mut released = world.manager.clone();
            released.prune_covered();
            prop_assert_eq!(window(&released), window(&world.manager));
            let Done::Pruned(count) = done else { continue };
            let was = before.manager.meta_messages();
            let is = &world.manager.meta_messages().to_vec();
            prop_assert_eq!(&was[count..], is);
            prop_assert_eq!(world.manager.pruned(), before.manager.pruned() + count);
            prop_assert!(window(&before.manager).ends_with(&window(&world.manager)));
            prop_assert_eq!(before.manager.last_summary(), world.manager.last_summary());
            prop_assert_eq!(before.manager.open_tool_calls(), world.manager.open_tool_calls());
            prop_assert_eq!(before.manager.message_count(), world.manager.message_count());
            prop_assert_eq!(before.manager.lineage(), world.manager.lineage());

            let super::history::Op::Prune { keep, only_logged } = op else { unreachable!() };
            for gone in &was[..count] {
                prop_assert!(world.manager.entry(&gone.id()).is_none());
                let acknowledged = before.acknowledged.get(&gone.id()) == Some(&gone.message().revision());
                prop_assert!(acknowledged || !only_logged);
            }
            prop_assert!(count == 0 || is.len() >= *keep);
            let again = if *only_logged { world.manager.prune_logged(*keep) } else { world.manager.prune(*keep) };
            prop_assert_eq!(again, 0, "one call prunes as much as possible");

            // No result without its call, and no call without its result if there is one.
            let calls: Vec<_> = is.iter().flat_map(|m| m.contents().iter()).filter_map(|c| c.as_tool_call()).map(|c| c.id().clone()).collect();
            let results: Vec<_> = is.iter().flat_map(|m| m.contents().iter()).filter_map(|c| c.as_result()).map(|r| r.tool_call_id().clone()).collect();
            prop_assert!(results.iter().all(|id| calls.contains(id)));
            let open = world.manager.open_tool_calls();
            prop_assert!(calls.iter().all(|id| results.contains(id) != open.contains(&id)));

            // The changes of the remaining messages stay the same.
            let left = |records: &[Record]| records.iter().filter(|r| is.iter().any(|m| m.id() == r.id())).cloned().collect::<Vec<_>>();
            for last in [LastMessage::Include, LastMessage::Exclude] {
                let (was, is) = (before.manager.changes(last), world.manager.changes(last));
                prop_assert_eq!(left(&was), is);
                let (was, is) = (before.manager.new_changes(last), world.manager.new_changes(last));
                prop_assert_eq!(left(&was), is);
            }
        }
    }
}
