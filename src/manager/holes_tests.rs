//! A conversation that was restored without some of its records.

use super::restore::Expected;
use super::tests::{Manager, call, list, shown, summarize, window};
use super::*;
use crate::message::{Content, Position, Role, ToolError};

/// Restores a conversation without the messages with these numbers, and without these summaries.
fn without(manager: &Manager, missing: &[u32], summaries: &[u32]) -> Manager {
    let is_there = |record: &Record| match record.position().summary_number() {
        None => !missing.contains(&record.position().seq()),
        Some(number) => !summaries.contains(&number.get()),
    };
    let records = manager.records().into_iter().filter(is_there);
    let (messages, summaries) = (manager.message_count(), manager.summary_count());
    Manager::restore_available(records, Expected { messages, summaries, ..Expected::default() })
}

fn places(manager: &Manager) -> Vec<u32> {
    manager.left_out().iter().map(|left_out| left_out.position.seq()).collect()
}

/// user 0, assistant 1 with a call, result 2, assistant 3, user 4, assistant 5.
fn asked() -> Manager {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant([Content::from("b"), call("c1").into()]).unwrap();
    manager.add_user(call("c1").success(["1"])).unwrap();
    manager.add_assistant("d").unwrap();
    manager.add_user("e").unwrap();
    manager.add_assistant("f").unwrap();
    manager
}

#[test]
fn window_is_valid_around_each_missing_message() {
    let manager = asked();
    let windows: Vec<Vec<String>> = (0..6).map(|missing| window(&without(&manager, &[missing], &[]))).collect();
    assert_eq!(
        windows[0],
        ["user: ...", "assistant: b + call c1", "user: result c1", "assistant: d", "user: e", "assistant: f"]
    );
    assert_eq!(windows[1], ["user: a", "assistant: d", "user: e", "assistant: f"]);
    assert_eq!(windows[2], ["user: a", "assistant: b", "user: ...", "assistant: d", "user: e", "assistant: f"]);
    assert_eq!(windows[3], ["user: a", "assistant: b + call c1", "user: result c1 + e", "assistant: f"]);
    assert_eq!(
        windows[4],
        ["user: a", "assistant: b + call c1", "user: result c1", "assistant: d", "user: ...", "assistant: f"]
    );
    assert_eq!(windows[5], ["user: a", "assistant: b + call c1", "user: result c1", "assistant: d", "user: e"]);
}

#[test]
fn conversation_continues_after_a_missing_last_message() {
    let mut restored = without(&asked(), &[4, 5], &[]);
    assert_eq!(places(&restored), [4, 5]);
    assert_eq!(
        restored.left_out()[0].reason.as_ref(),
        "the end of the call counts it, and the log has no record of it"
    );
    // It is not merged into the message before the missing ones.
    let id = restored.add_assistant("g").unwrap().id();
    let position = restored.get(&id).unwrap().message().position();
    assert_eq!((position.seq(), restored.message_count()), (6, 7));
    assert_eq!(list(&restored).len(), 5);
    assert_eq!(window(&restored)[3..], ["assistant: d", "user: ...", "assistant: g"]);
    let changes = restored.changes(LastMessage::Include);
    assert_eq!(changes.iter().map(|record| record.position().seq()).collect::<Vec<_>>(), [6]);
    restored.acknowledge(&changes);
    assert!(restored.changes(LastMessage::Include).is_empty());
}

#[test]
fn result_that_came_late_and_again_is_shown_once() {
    let records = asked().records();
    let mut live = Manager::restore_available(
        records.iter().filter(|record| record.position().seq() != 2).cloned(),
        Expected::default(),
    );
    let unknown = call("c1").failure(ToolError::new("unknown"));
    live.add_user([Content::from(unknown), "g".into()]).unwrap();
    // The missing result is stored after all.
    let all = live.records().into_iter().chain(records.into_iter().filter(|record| record.position().seq() == 2));
    let restored = Manager::restore_available(all.clone(), Expected::default());
    assert!(restored.left_out().is_empty());
    assert_eq!(
        window(&restored),
        ["user: a", "assistant: b + call c1", "user: result c1", "assistant: d", "user: e", "assistant: f", "user: g"]
    );
    assert!(matches!(Manager::restore(all), Err(ManagerError(Refusal::Misplaced { .. }))));
}

#[test]
fn summary_applies_although_a_message_under_it_is_missing() {
    let mut manager = asked();
    summarize(&mut manager);
    manager.add_user("g").unwrap();
    manager.add_assistant("h").unwrap();
    let expected = window(&manager);
    for missing in 0..6 {
        let mut restored = without(&manager, &[missing], &[]);
        assert_eq!(places(&restored), [missing]);
        assert_eq!(window(&restored), expected);
        let summary = restored.last_summary().unwrap().id();
        assert_eq!(restored.summary_ids(&summary).len(), 5);
        assert_eq!(
            restored.get(&summary).unwrap().message(),
            restored.at(Position::summary(5, 1.try_into().unwrap())).unwrap().message()
        );
        restored.add_user("i").unwrap();
        summarize(&mut restored);
        assert_eq!(window(&restored), ["user: i"]);
        let last = restored.last_summary().unwrap().message().position();
        assert_eq!((last.seq(), last.summary_number().unwrap().get()), (7, 2));
        let id = restored.last_summary().unwrap().id();
        let fork = restored.fork(&id, "CA1").unwrap();
        assert_eq!((window(&fork).len(), fork.message_count(), places(&fork)), (0, 8, vec![missing]));
    }
}

#[test]
fn number_of_a_missing_summary_is_not_used_again() {
    let mut manager = asked();
    summarize(&mut manager);
    let mut restored = without(&manager, &[], &[1]);
    assert_eq!(restored.left_out()[0].role, Some(Role::Summary));
    assert_eq!(window(&restored), window(&asked()));
    summarize(&mut restored);
    assert_eq!(restored.last_summary().unwrap().message().position().summary_number().unwrap().get(), 2);
}

#[test]
fn fork_before_a_missing_message_does_not_have_it() {
    let mut restored = without(&asked(), &[2], &[]);
    let ids: Vec<MessageId> = restored.meta_messages().iter().map(|wrapper| wrapper.id()).collect();
    let before = restored.fork(&ids[1], "CA1").unwrap();
    assert_eq!((before.message_count(), before.left_out().len()), (2, 0));
    let mut after = restored.fork(&ids[2], "CA1").unwrap();
    assert_eq!((after.message_count(), places(&after)), (4, vec![2]));
    after.add_user("new").unwrap();
    assert_eq!(window(&after), ["user: a", "assistant: b", "user: ...", "assistant: d", "user: new"]);
}

#[test]
fn misfits_are_left_out_with_their_position_and_role() {
    let manager = asked();
    let mut again = Manager::new();
    again.add_user("a").unwrap();
    again.add_assistant(call("c1")).unwrap();
    // A second message 1, and a message 6 whose call is not new.
    let json = serde_json::to_string(&again.records()[1]).unwrap().replace("\"seq\":1", "\"seq\":6");
    let others = [again.records()[1].clone(), serde_json::from_str(&json).unwrap()];
    let restored = Manager::restore_available(manager.records().into_iter().chain(others), Expected::default());
    assert_eq!(window(&restored).len(), window(&manager).len());
    let left_out: Vec<_> = restored.left_out().iter().map(|it| (it.position.seq(), it.role)).collect();
    assert_eq!(left_out, [(1, Some(Role::Assistant)), (6, Some(Role::Assistant))]);
    // Position 6 is taken.
    assert_eq!(restored.message_count(), 7);
}

#[test]
fn far_away_record_does_not_make_thousands_of_holes() {
    let json = serde_json::to_string(&asked().records()[4]).unwrap().replace("\"seq\":4", "\"seq\":90000000");
    let far: Record = serde_json::from_str(&json).unwrap();
    let restored = Manager::restore_available(asked().records().into_iter().chain([far]), Expected::default());
    assert_eq!((restored.message_count(), places(&restored)), (6, vec![90_000_000]));
}

#[test]
fn print_names_what_is_missing() {
    let restored = without(&asked(), &[2, 5], &[]);
    let printed = restored.to_string();
    let lines: Vec<&str> = printed.lines().filter(|line| line.contains("[missing]")).collect();
    assert_eq!(
        lines,
        [
            "          [missing] message 2: the log has no record of it",
            "          [missing] message 5: the end of the call counts it, and the log has no record of it",
        ]
    );
    assert!(shown(restored.meta_messages()[2].message()).starts_with("assistant"));
}
