//! What goes from memory: rule by rule, and over random histories.

use proptest::prelude::*;
use verbale::log::CallEnd;
use verbale::message::Position;
use verbale::{ForkError, LastMessage, ManagerError, MessageId, MessageWrapper, Prune, Record};

use super::history::{Done, Manager, World, history};
use super::{id, list, shown, summarise, tool_call, window};

fn call(turns: usize) -> Manager {
    let mut manager = Manager::new();
    for turn in 0..turns {
        manager.add_user(format!("u{turn}")).unwrap();
        manager.add_assistant(format!("a{turn}")).unwrap();
    }
    manager
}

fn log_everything(manager: &mut Manager) -> Vec<Record> {
    manager.acknowledge(manager.changes(LastMessage::Include).receipt());
    manager.records()
}

#[test]
fn the_oldest_go_and_the_others_stay_what_they_are() {
    let mut manager = call(4);
    let log = log_everything(&mut manager);
    assert_eq!(manager.prune(8, Prune::Logged), 0);
    assert_eq!(manager.prune(5, Prune::Logged), 2, "the first of five would be an assistant message");
    assert_eq!(manager.prune(4, Prune::Logged), 2);
    assert_eq!((manager.pruned(), manager.message_count()), (4, 8));
    assert_eq!(list(&manager), ["user: u2", "assistant: a2", "user: u3", "assistant: a3"]);
    assert_eq!(window(&manager).iter().map(shown).collect::<Vec<_>>(), list(&manager));
    assert_eq!((manager.records(), manager.uncovered().len()), (log[4..].to_vec(), 4));
    assert!(manager.entry(&log[0].id()).is_none());

    let mut entry = manager.add_user("u4").unwrap();
    entry.set_data("k", true).unwrap();
    assert_eq!(entry.message().position(), Position::message(8));
    assert_eq!(manager.changes(LastMessage::Include).records().len(), 1);
    assert!(format!("{manager}").contains("\n4   *   [user] {'u2'}"), "{manager}");

    // From its log it is whole again.
    let mut records = log;
    records.extend(manager.changes(LastMessage::Include).records().to_vec());
    let restored = Manager::restore(records).unwrap();
    assert_eq!(restored.meta_messages()[4..], *manager.meta_messages());
    assert!(restored != manager);
}

#[test]
fn what_the_log_does_not_have_stays() {
    let mut manager = call(4);
    assert_eq!(manager.prune(0, Prune::Logged), 0);
    let some = Record::from(manager.meta_messages()[0].message().clone());
    manager.acknowledge(
        [&some, &manager.records()[1], &manager.records()[2], &manager.records()[3]].into_iter().collect(),
    );
    let changed = id(&manager, 2);
    manager.entry(&changed).unwrap().set_data("k", true).unwrap();
    assert_eq!(manager.prune(0, Prune::Logged), 2, "the log does not know the change");
    assert_eq!(manager.prune(2, Prune::Anything), 4);
    let late = [&manager.records()[0], &some].into_iter().collect();
    manager.acknowledge(late);
    assert_eq!(manager.changes(LastMessage::Include).records().len(), 1);

    // What was lost holds back nothing that the log has.
    log_everything(&mut manager);
    assert_eq!(manager.prune(0, Prune::Logged), 2);
}

#[test]
fn a_call_goes_with_its_result_and_the_caller_s_last_message_stays() {
    let mut manager = call(1);
    let slow = tool_call("slow");
    manager.add_user("u1").unwrap();
    manager.add_assistant(slow.clone()).unwrap();
    manager.add_user("still there?").unwrap();
    manager.add_assistant("one moment").unwrap();
    manager.add_user("fine").unwrap();
    assert_eq!(manager.prune(0, Prune::Anything), 2, "an open call holds back what is behind it");
    manager.add_user(slow.success(["yes"])).unwrap();
    assert_eq!(manager.prune(2, Prune::Anything), 0, "the call goes with its result or not at all");
    manager.add_assistant("done").unwrap();
    manager.add_user("thanks").unwrap();
    assert_eq!(manager.prune(0, Prune::Anything), 6);
    assert_eq!(list(&manager), ["user: thanks"]);
    let again = manager.add_assistant(slow.clone()).unwrap_err();
    assert_eq!(again, ManagerError::RepeatedToolCall { id: slow.id().clone() });
}

#[test]
fn where_all_is_gone_the_conversation_goes_on() {
    let mut manager = call(2);
    assert_eq!(manager.prune(0, Prune::Anything), 4);
    assert_eq!((list(&manager).len(), manager.messages().count(), manager.to_raw().unwrap().len()), (0, 0, 0));
    manager.add_assistant("are you there?").unwrap();
    manager.add_user("yes").unwrap();
    assert_eq!(list(&manager), ["user: ...", "assistant: are you there?", "user: yes"]);
    summarise(&mut manager, "S");
    assert_eq!(manager.last_summary().unwrap().message().position().seq(), 5);
}

#[test]
fn the_last_summary_stays_and_what_it_does_not_cover() {
    let mut manager = call(2);
    summarise(&mut manager, "first");
    for turn in 2..4 {
        manager.add_user(format!("u{turn}")).unwrap();
        manager.add_assistant(format!("a{turn}")).unwrap();
    }
    summarise(&mut manager, "second");
    manager.add_user("u4").unwrap();
    assert_eq!(manager.prune(8, Prune::Anything), 2);
    assert_eq!(manager.prune(6, Prune::Anything), 2);
    assert_eq!(list(&manager)[..2], ["summary: first", "user: u2"]);
    assert_eq!(manager.prune(0, Prune::Anything), 5);
    assert_eq!(list(&manager), ["summary: second", "user: u4"]);
    assert_eq!(manager.last_summary().map(MessageWrapper::id), Some(id(&manager, 0)));
    assert_eq!((manager.summary_count(), manager.message_count()), (2, 9));
    let call_end = CallEnd::of(&manager, 0, "hangup").unwrap();
    assert_eq!((call_end.messages, call_end.summaries), (9, 2), "the log has all of them");
}

#[test]
fn a_summary_that_comes_late_covers_what_it_has_read_and_is_left() {
    let mut manager = call(4);
    let (taken, older) = (manager.summarizing().unwrap(), manager.summarizing_keeping(3).unwrap());
    let read: Vec<MessageId> = taken.messages().map(|message| message.id()).collect();
    let before = manager.records();
    assert_eq!(manager.prune(4, Prune::Anything), 4);
    assert_eq!(manager.add_summary("S", &older).unwrap_err(), ManagerError::StaleSummary);
    let summary = manager.add_summary("S", &taken).unwrap().id();
    assert_eq!(manager.summary_ids(&summary), read[4..], "in memory are these");
    let whole = before.into_iter().chain(manager.records());
    assert_eq!(Manager::restore(whole).unwrap().summary_ids(&summary), read);
    assert_eq!(list(&manager)[3..], ["assistant: a3", "summary: S"]);
    assert_eq!(manager.add_summary("S", &taken).unwrap_err(), ManagerError::StaleSummary);
}

#[test]
fn two_summaries_of_one_range_do_not_both_apply_whatever_is_pruned() {
    let mut manager = call(4);
    let (long, short) = (manager.summarizing().unwrap(), manager.summarizing_keeping(2).unwrap());
    manager.add_summary("short", &short).unwrap();
    assert_eq!(manager.prune(0, Prune::Anything), 4);
    assert_eq!(manager.add_summary("long", &long).unwrap_err(), ManagerError::StaleSummary);
}

#[test]
fn a_fork_has_what_its_source_still_has() {
    let mut manager = call(4);
    let gone = id(&manager, 3);
    let log = log_everything(&mut manager);
    manager.prune(4, Prune::Logged);
    assert_eq!(manager.fork(&gone, "CA1").err(), Some(ForkError::Unknown { id: gone }));
    let first = id(&manager, 0);
    assert_eq!(manager.edit(&first, "other", "CA1").err(), Some(ForkError::Pruned { id: first }));

    let at = id(&manager, 2);
    let mut fork = manager.fork(&at, "CA1").unwrap();
    fork.add_assistant("other").unwrap();
    assert_eq!((fork.pruned(), fork.message_count()), (4, 8));
    assert_eq!(list(&fork), ["user: u2", "assistant: a2", "user: u3", "assistant: other"]);
    // Its log has no more; the source's has the rest.
    let whole = log[..fork.pruned()].iter().cloned().chain(fork.records());
    let whole = Manager::restore(whole).unwrap();
    assert_eq!(whole.meta_messages()[4..], *fork.meta_messages());
    assert!(Manager::restore(fork.records()).is_err());
}

#[test]
fn a_fork_whose_window_would_miss_what_is_gone_is_refused() {
    let mut manager = call(4);
    summarise(&mut manager, "S");
    manager.add_user("u4").unwrap();
    manager.prune(6, Prune::Anything);
    assert_eq!(list(&manager)[..2], ["user: u2", "assistant: a2"]);
    // Without the summary, the window would begin with what is gone.
    let covered = id(&manager, 1);
    assert_eq!(manager.fork(&covered, "CA1").err(), Some(ForkError::Pruned { id: covered }));
    let last = id(&manager, 3);
    assert_eq!(list(&manager.fork(&last, "CA1").unwrap())[4..], ["summary: S"]);
}

#[test]
fn what_a_fork_holds_is_not_lost_when_its_source_lets_go_of_it() {
    let mut source = call(4);
    let at = id(&source, 5);
    let mut fork = source.fork(&at, "CA1").unwrap();
    assert_eq!(source.prune(2, Prune::Anything), 6);
    assert_eq!((source.meta_messages().len(), fork.meta_messages().len()), (2, 6));
    assert_eq!(fork.prune(2, Prune::Anything), 4);
    assert_eq!(list(&fork), ["user: u2", "assistant: a2"]);
    fork.add_user("u3'").unwrap();
    assert_eq!(list(&source), ["user: u3", "assistant: a3"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn what_goes_is_a_beginning_that_a_summary_could_cover(ops in history()) {
        let mut world = World::new();
        for op in &ops {
            let before = world.clone();
            let Done::Pruned(count) = world.apply(op) else { continue };
            let was = before.manager.meta_messages();
            let is = &world.manager.meta_messages().to_vec();
            prop_assert_eq!(&was[count..], is);
            prop_assert_eq!(world.manager.pruned(), before.manager.pruned() + count);
            prop_assert!(window(&before.manager).ends_with(&window(&world.manager)));
            prop_assert_eq!(before.manager.last_summary(), world.manager.last_summary());
            prop_assert_eq!(before.manager.open_tool_calls(), world.manager.open_tool_calls());
            prop_assert_eq!(before.manager.message_count(), world.manager.message_count());
            prop_assert_eq!(before.manager.lineage(), world.manager.lineage());

            let super::history::Op::Prune { keep, which } = op else { unreachable!() };
            for gone in &was[..count] {
                prop_assert!(world.manager.entry(&gone.id()).is_none());
                let acknowledged = before.acknowledged.get(&gone.id()) == Some(&gone.message().revision());
                prop_assert!(acknowledged || *which == Prune::Anything);
            }
            prop_assert!(count == 0 || is.len() >= *keep);
            prop_assert_eq!(world.manager.prune(*keep, *which), 0, "it goes as far as it can at once");

            // No result without its call, nor the other way round where there is one.
            let calls: Vec<_> = is.iter().flat_map(|m| m.contents().iter()).filter_map(|c| c.as_tool_call()).map(|c| c.id().clone()).collect();
            let results: Vec<_> = is.iter().flat_map(|m| m.contents().iter()).filter_map(|c| c.as_result()).map(|r| r.tool_call_id().clone()).collect();
            prop_assert!(results.iter().all(|id| calls.contains(id)));
            let open = world.manager.open_tool_calls();
            prop_assert!(calls.iter().all(|id| results.contains(id) != open.contains(&id)));

            // Of what the log does not know, what is left is told as before.
            let left = |records: &[Record]| records.iter().filter(|r| is.iter().any(|m| m.id() == r.id())).cloned().collect::<Vec<_>>();
            for tail in [LastMessage::Include, LastMessage::Exclude] {
                let (was, is) = (before.manager.changes(tail), world.manager.changes(tail));
                prop_assert_eq!(left(was.records()), is.records());
                let (was, is) = (before.manager.new_changes(tail), world.manager.new_changes(tail));
                prop_assert_eq!(left(was.records()), is.records());
            }
        }
    }
}
