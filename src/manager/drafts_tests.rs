//! Drafts: merging by decision, and adding all or none.

use super::*;
use crate::message::{Decision, Draft, PlainMessage, Role, ToolCall, ToolError, Value};

type Manager = MessagesManager<PlainMessage>;

fn in_step(role: Role, text: &str, step: u32) -> Draft {
    Draft::new(role, text).with_decision(Decision { step: Some(step), ..Decision::default() })
}

#[test]
fn messages_with_different_decisions_merge_only_in_the_window() {
    let mut manager = Manager::new();
    for (text, step) in [("a", 1), ("b", 1), ("c", 2)] {
        manager.add(in_step(Role::User, text, step)).unwrap();
    }
    manager.add_user("d").unwrap();
    let steps = |message: &PlainMessage| message.metadata().decision().and_then(|decision| decision.step);
    let list: Vec<_> = manager.meta_messages().iter().map(|m| (m.contents().len(), steps(m))).collect();
    assert_eq!(list, [(2, Some(1)), (1, Some(2)), (1, None)]);
    assert_eq!(manager.messages().map(|message| message.contents().len()).collect::<Vec<_>>(), [4]);
    assert!(Manager::restore(manager.records()).unwrap() == manager);
}

#[test]
fn drafts_are_added_all_or_none() {
    let call = ToolCall::new("call_1", "lookup", Value::Null).unwrap();
    let result = call.failure(ToolError::new("no"));
    let good = [
        Draft::new(Role::User, "a"),
        Draft::new(Role::Assistant, call.clone()),
        Draft::new(Role::User, result.clone()),
        Draft::new(Role::Assistant, "b"),
    ];
    let mut manager = Manager::new();
    manager.add_all(good.clone()).unwrap();
    assert_eq!(manager.messages().count(), 4);

    let content = "contents of your own; add a summary with `add_summary`";
    let summary_role = Refusal::WrongRole { role: Role::Summary, content };
    for (at, bad, wanted) in [
        (4, Draft::new(Role::User, " "), Refusal::Blank),
        (4, Draft::new(Role::Summary, "a"), summary_role),
        (4, Draft::new(Role::User, result), Refusal::SecondResult { id: call.id().clone() }),
        (2, Draft::new(Role::Assistant, call.clone()), Refusal::repeated_call(call.id())),
    ] {
        let mut manager = Manager::new();
        manager.add_user("before").unwrap();
        let before = manager.clone();
        let mut drafts = good.to_vec();
        drafts.insert(at, bad);
        assert_eq!(manager.add_all(drafts), Err((at, wanted.into())));
        assert!(manager == before && manager.changes(LastMessage::Include) == before.changes(LastMessage::Include));
        manager.add_all(good.clone()).unwrap();
    }
}

#[test]
fn adding_drafts_with_tool_calls_is_linear() {
    // Copying a table for each batch or draft would take minutes.
    let mut manager = Manager::new();
    let call = |number: usize| ToolCall::new(format!("call_{number}"), "lookup", Value::Null).unwrap();
    let turn =
        |call: ToolCall| [Draft::new(Role::Assistant, call.clone()), Draft::new(Role::User, call.success(["found"]))];
    manager.add_all((0..20_000).flat_map(|number| turn(call(number)))).unwrap();
    for number in 20_000..40_000 {
        manager.add_all(turn(call(number))).unwrap();
    }
    assert_eq!((manager.message_count(), manager.open_tool_calls().len()), (80_001, 0));
}
