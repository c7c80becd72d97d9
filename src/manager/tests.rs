//! The rules of the manager, one by one. `tests/invariants` checks them over random histories.

use super::*;
use crate::message::{Attribute, Content, Heard, HeardSource, PlainMessage, Role, Timing, ToolCall, ToolError, Value};

pub(super) type Manager = MessagesManager<PlainMessage>;

pub(super) fn window(manager: &Manager) -> Vec<String> {
    manager.messages().map(|message| shown(message.message())).collect()
}

pub(super) fn list(manager: &Manager) -> Vec<String> {
    manager.meta_messages().iter().map(|message| shown(message.message())).collect()
}

/// Formats a message as `user: a + call call_1`.
pub(super) fn shown(message: &Message) -> String {
    let contents: Vec<String> = message
        .contents()
        .iter()
        .map(|content| match content {
            Content::Text(text) => text.as_str().to_owned(),
            Content::ToolCall(tool_call) => format!("call {}", tool_call.id()),
            Content::ToolResult(result) => format!("result {}", result.tool_call_id()),
            other => format!("{other:?}"),
        })
        .collect();
    format!("{}: {}", message.role(), contents.join(" + "))
}

pub(super) fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "lookup", Value::Null).unwrap()
}

pub(super) fn summarize(manager: &mut Manager) {
    let summarizing = manager.summarizing().unwrap();
    manager.add_summary("S", &summarizing).unwrap();
}

/// Restores the manager from its JSON.
pub(super) fn restored_from_json(manager: &Manager) -> Manager {
    let json = serde_json::to_string(manager).unwrap();
    assert_eq!(json, serde_json::to_string(&manager.records()).unwrap());
    serde_json::from_str(&json).unwrap()
}

#[test]
fn manager_is_send_and_sync() {
    fn is_send_and_sync<T: Send + Sync + 'static>() {}
    is_send_and_sync::<Manager>();
    is_send_and_sync::<crate::Summarizing>();
}

#[test]
fn second_user_message_is_merged() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_user("b").unwrap();
    manager.add_user(["c", "d"]).unwrap();
    assert_eq!(list(&manager), ["user: a + b + c + d"]);
    let attributes: Vec<_> = manager.meta_messages()[0].metadata().attributes().collect();
    assert_eq!(attributes, [Attribute::Merged, Attribute::Merged]);
}

#[test]
fn merging_keeps_messages_small_enough_for_the_log() {
    let mut manager = Manager::new();
    let long = "a ".repeat(50_000);
    for _ in 0..6 {
        manager.add_user(long.as_str()).unwrap();
    }
    for number in 0..2_500 {
        manager.add_assistant(format!("{number}")).unwrap();
    }
    let sizes: Vec<usize> = manager.meta_messages().iter().map(|message| message.contents().len()).collect();
    assert_eq!(sizes, [2, 2, 2, 1_000, 1_000, 500]);
    // The window merges them.
    let window: Vec<usize> = manager.messages().map(|message| message.contents().len()).collect();
    assert_eq!(window, [6, 2_500]);
    assert!(Manager::restore(manager.records()).unwrap() == manager);
    assert_eq!(manager.summarizing().unwrap().messages().count(), 6);
}

#[test]
fn assistant_message_after_summary_gets_a_fake_opener() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant("b").unwrap();
    summarize(&mut manager);
    assert_eq!(window(&manager), Vec::<String>::new());
    manager.add_assistant("c").unwrap();
    assert_eq!(list(&manager), ["user: a", "assistant: b", "summary: S", "user: ...", "assistant: c"]);
    assert_eq!(window(&manager), ["user: ...", "assistant: c"]);
}

#[test]
fn summary_inserted_before_logged_messages_is_logged_once() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant("b").unwrap();
    let summarizing = manager.summarizing().unwrap();
    manager.add_user("c").unwrap();
    manager.acknowledge(&manager.changes(LastMessage::Include));
    manager.add_summary("S", &summarizing).unwrap();
    let changes = manager.changes(LastMessage::Include);
    assert_eq!(changes.iter().map(|record| shown(record)).collect::<Vec<_>>(), ["summary: S"]);
    manager.acknowledge(&changes);
    assert!(manager.changes(LastMessage::Include).is_empty());
}

#[test]
fn metadata_set_after_logging_is_logged() {
    let mut manager = Manager::new();
    let id = manager.add_user("a").unwrap().id();
    manager.acknowledge(&manager.changes(LastMessage::Include));
    manager.entry(&id).unwrap().set_data("stopped", true).unwrap();
    let changes = manager.changes(LastMessage::Include);
    assert_eq!(changes[0].revision(), 2);
    assert_eq!(changes[0].metadata().aux().get("stopped"), Some(&Value::Bool(true)));
}

#[test]
fn blank_message_is_refused_without_trace() {
    let mut manager = Manager::new();
    for blank in ["", " ", "\n\t", "\u{200b}\u{feff}"] {
        assert_eq!(manager.add_user(blank).unwrap_err().0, Refusal::Blank, "{blank:?}");
        assert_eq!(manager.add_assistant([blank, blank]).unwrap_err().0, Refusal::Blank);
    }
    assert_eq!(manager.add_user(Vec::<&str>::new()).unwrap_err().0, Refusal::Blank);
    assert!(manager.meta_messages().is_empty() && manager.changes(LastMessage::Include).is_empty());
    manager.add_user([" ", "a", ""]).unwrap();
    assert_eq!(list(&manager), ["user: a"]);
}

#[test]
fn changes_exclude_a_last_message_that_may_grow() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    assert!(manager.changes(LastMessage::Exclude).is_empty());
    manager.add_assistant("b").unwrap();
    assert_eq!(manager.changes(LastMessage::Exclude).len(), 1);
    summarize(&mut manager);
    // Nothing merges into a message that a summary covers.
    assert_eq!(manager.changes(LastMessage::Exclude).len(), 3);
}

#[test]
fn later_change_stays_pending_after_acknowledge() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    let changes = manager.changes(LastMessage::Include);
    manager.add_user("b").unwrap();
    manager.acknowledge(&changes);
    assert_eq!(manager.changes(LastMessage::Include)[0].revision(), 2);
    // An older receipt does not lower the acknowledged revision.
    manager.acknowledge(&manager.changes(LastMessage::Include));
    manager.acknowledge(&changes);
    assert!(manager.changes(LastMessage::Include).is_empty());
}

#[test]
fn receipt_of_another_conversation_is_ignored() {
    let (mut ours, mut theirs) = (Manager::new(), Manager::new());
    ours.add_user("a").unwrap();
    theirs.add_user("a").unwrap();
    ours.acknowledge(&theirs.changes(LastMessage::Include));
    assert_eq!(ours.changes(LastMessage::Include).len(), 1);
}

#[test]
fn setting_the_same_value_changes_nothing() {
    let mut manager = Manager::new();
    let mut entry = manager.add_assistant("a b").unwrap();
    assert_eq!(entry.set_data("k", 1), Ok(None));
    assert_eq!(entry.set_data("k", 1), Ok(Some(Value::from(1))));
    assert_eq!(entry.set_timing(Timing::PlayStart, 5), Ok(None));
    assert_eq!(entry.set_timing(Timing::PlayStart, 5), Ok(Some(5)));
    assert!(entry.add_attribute(Attribute::Hardcoded));
    assert!(!entry.add_attribute(Attribute::Hardcoded));
    assert!(!entry.add_attribute(Attribute::Fake) && !entry.add_attribute(Attribute::Merged));
    entry.set_heard(Heard::new(1, HeardSource::Estimate)).unwrap();
    entry.set_heard(Heard::new(1, HeardSource::Estimate)).unwrap();
    assert_eq!(entry.message().revision(), 5);
}

#[test]
fn window_shows_heard_part_and_log_keeps_whole_text() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    let id = manager.add_assistant("I am fine, and you?").unwrap().id();
    manager.entry(&id).unwrap().set_heard(Heard::new(4, HeardSource::PlaybackTime)).unwrap();
    manager.add_user("stop").unwrap();
    assert_eq!(window(&manager), ["user: a", "assistant: I am", "user: stop"]);
    assert_eq!(list(&manager), ["user: a", "assistant: I am fine, and you?", "user: stop"]);
    // A later report replaces the earlier one.
    manager.entry(&id).unwrap().set_heard(None).unwrap();
    assert_eq!(window(&manager), list(&manager));
    let user = manager.meta_messages()[0].id();
    let refused = manager.entry(&user).unwrap().set_heard(Heard::new(0, HeardSource::Estimate));
    let content = "a heard part; only an assistant message can";
    assert_eq!(refused, Err(Refusal::WrongRole { role: Role::User, content }.into()));
}

#[test]
fn user_messages_around_unheard_answer_become_one() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant("b").unwrap().set_heard(Heard::new(0, HeardSource::WordTiming)).unwrap();
    manager.add_user("c").unwrap();
    assert_eq!(window(&manager), ["user: a + c"]);
    let merged = manager.messages().next().unwrap();
    assert!(merged.metadata().has(Attribute::Merged));
    // The first question is unanswered, so nothing can be summarized.
    assert_eq!(manager.summarizing(), None);
}

#[test]
fn nothing_merges_into_a_partly_heard_message() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant("b c").unwrap().set_heard(Heard::new(1, HeardSource::WordTiming)).unwrap();
    manager.add_assistant("d").unwrap();
    assert_eq!(list(&manager), ["user: a", "assistant: b c", "assistant: d"]);
    assert_eq!(window(&manager), ["user: a", "assistant: b + d"]);
}

#[test]
fn unneeded_fake_is_not_shown() {
    let mut manager = Manager::new();
    let id = manager.add_assistant("Hello!").unwrap().id();
    assert_eq!(window(&manager), ["user: ...", "assistant: Hello!"]);
    manager.entry(&id).unwrap().set_heard(Heard::new(0, HeardSource::WordTiming)).unwrap();
    assert_eq!(window(&manager), Vec::<String>::new());
    manager.add_user("Hi").unwrap();
    assert_eq!(window(&manager), ["user: Hi"]);
}

#[test]
fn system_message_is_logged_but_never_in_the_window() {
    let mut manager = Manager::new();
    manager.add_system("You answer the phone of a bank.").unwrap();
    manager.add_user("a").unwrap();
    manager.add_system("Be brief.").unwrap();
    manager.add_user("b").unwrap();
    assert_eq!(list(&manager)[2..], ["system: Be brief.", "user: b"]);
    assert_eq!(window(&manager), ["user: a + b"]);
    manager.add_assistant("c").unwrap();
    assert_eq!(manager.summarizing().unwrap().messages().count(), 3);
}

#[test]
fn summary_role_is_refused() {
    assert_eq!(
        Manager::new().add_message(Role::Summary, "S").unwrap_err().0,
        Refusal::WrongRole { role: Role::Summary, content: "contents of your own; add a summary with `add_summary`" }
    );
}

#[test]
fn tool_call_enters_the_window_with_its_result() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant([Content::from("one moment"), call("c1").into(), call("c2").into()]).unwrap();
    assert_eq!(window(&manager), ["user: a", "assistant: one moment"]);
    manager.add_user(call("c2").success(["2"])).unwrap();
    assert_eq!(window(&manager), ["user: a", "assistant: one moment + call c2", "user: result c2"]);
    manager.add_user("hello?").unwrap();
    let error = ToolError::new("no answer");
    manager.add_user(call("c1").failure(error)).unwrap();
    // Results come first, in any order of arrival.
    assert_eq!(
        window(&manager)[1..],
        ["assistant: one moment + call c1 + call c2", "user: result c2 + result c1 + hello?"]
    );
    assert!(manager.open_tool_calls().is_empty());
}

#[test]
fn open_calls_keep_their_order() {
    let mut manager = Manager::new();
    let ids: Vec<String> = (0..8).map(|number| format!("call_{}", 7 - number)).collect();
    for pair in ids.chunks(2) {
        manager.add_assistant(pair.iter().map(|id| Content::from(call(id))).collect::<Vec<_>>()).unwrap();
        manager.add_user("hm").unwrap();
    }
    let open: Vec<&str> = manager.open_tool_calls().into_iter().map(|id| id.as_str()).collect();
    assert_eq!(open, ids);
}

#[test]
fn late_result_moves_after_its_call() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant(call("c1")).unwrap();
    manager.add_user("are you there?").unwrap();
    manager.add_assistant("one moment").unwrap();
    assert_eq!(window(&manager), ["user: a + are you there?", "assistant: one moment"]);
    manager.add_user(call("c1").success(["1"])).unwrap();
    assert_eq!(
        window(&manager),
        ["user: a", "assistant: call c1", "user: result c1 + are you there?", "assistant: one moment", "user: ..."]
    );
}

#[test]
fn results_without_matching_call_are_refused() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant(call("c1")).unwrap();
    let id = |id: &str| crate::message::ToolCallId::new(id).unwrap();
    let other = ToolCall::new("c1", "other", Value::Null).unwrap();
    let before = manager.records();
    let refusals = [
        (Role::User, Content::from(call("c2").success(["1"])), Refusal::unknown_call(&id("c2"))),
        (Role::User, other.success(["1"]).into(), Refusal::mismatched_result(&id("c1"))),
        (Role::Assistant, call("c1").into(), Refusal::repeated_call(&id("c1"))),
        (
            Role::User,
            call("c3").into(),
            Refusal::WrongRole { role: Role::User, content: "a tool call; only an assistant message can" },
        ),
        (
            Role::System,
            call("c1").success(["1"]).into(),
            Refusal::WrongRole { role: Role::System, content: "a tool result; only a user message can" },
        ),
    ];
    for (role, content, error) in refusals {
        assert_eq!(manager.add_message(role, content).unwrap_err().0, error);
    }
    let twice = [call("c1").success(["1"]), call("c1").success(["2"])];
    assert_eq!(manager.add_user(twice).unwrap_err().0, Refusal::SecondResult { id: id("c1") });
    assert_eq!(manager.add_assistant([call("c4"), call("c4")]).unwrap_err().0, Refusal::repeated_call(&id("c4")));
    assert_eq!(manager.records(), before);
    manager.add_user(call("c1").success(["1"])).unwrap();
    assert_eq!(manager.add_user(call("c1").success(["1"])).unwrap_err().0, Refusal::SecondResult { id: id("c1") });
}

#[test]
fn call_and_result_are_summarized_together() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant("b").unwrap();
    manager.add_user("c").unwrap();
    manager.add_assistant(call("c1")).unwrap();
    let covered = |manager: &Manager| manager.summarizing().map(|s| s.messages().count());
    assert_eq!(covered(&manager), Some(2));
    manager.add_user("hello?").unwrap();
    manager.add_assistant("one moment").unwrap();
    assert_eq!(covered(&manager), Some(2), "messages from an open call on are not summarized");
    manager.add_user(call("c1").success(["1"])).unwrap();
    assert_eq!(covered(&manager), Some(2), "the result is unanswered");
    manager.add_assistant("d").unwrap();
    assert_eq!(covered(&manager), Some(8));
    assert_eq!(
        manager.summarizing_keeping(1).unwrap().messages().count(),
        2,
        "`hello?` opens a turn, yet after the call"
    );
}

#[test]
fn summary_keeps_the_requested_turns() {
    let mut manager = Manager::new();
    for text in ["a", "b", "c"] {
        manager.add_user(text).unwrap();
        manager.add_assistant(text.to_uppercase()).unwrap();
    }
    let covered = |turns| manager.summarizing_keeping(turns).map(|s| s.messages().count());
    assert_eq!((covered(0), covered(1), covered(2), covered(3), covered(9)), (Some(6), Some(4), Some(2), None, None));
}

#[test]
fn summary_covers_only_messages_it_has_read() {
    let mut manager = Manager::new();
    for text in ["a", "c", "e"] {
        manager.add_user(text).unwrap();
        manager.add_assistant("ok").unwrap();
    }
    let summarizing = manager.summarizing().unwrap();
    let second_answer = manager.meta_messages()[3].id();
    manager.entry(&second_answer).unwrap().set_heard(Heard::new(1, HeardSource::Estimate)).unwrap();
    manager.add_summary("S", &summarizing).unwrap();
    assert_eq!(window(&manager), ["user: c", "assistant: o", "user: e", "assistant: ok"]);
    let summary = manager.last_summary().unwrap().id();
    let ids = [0, 1].map(|index| manager.meta_messages()[index].id());
    assert_eq!(manager.summary_ids(&summary), ids);
    assert_eq!(manager.summary_ids(&ids[0]), []);
}

#[test]
fn summary_record_size_is_independent_of_coverage() {
    let record = |turns: usize| {
        let mut manager = Manager::new();
        summarize_after(&mut manager, 1);
        summarize_after(&mut manager, turns);
        let summary = manager.last_summary().unwrap();
        assert_eq!(manager.summary_ids(&summary.id()).len(), 1 + 2 * turns);
        let record = Record::from(summary.message().clone());
        assert_eq!((record.metadata().covers_from(), record.position().seq() as usize), (Some(2), 1 + 2 * turns));
        serde_json::to_string(&record).unwrap().len()
    };
    assert_eq!(record(5_000) - record(2), "10001".len() - "5".len());
}

fn summarize_after(manager: &mut Manager, turns: usize) {
    for _ in 0..turns {
        manager.add_user("a").unwrap();
        manager.add_assistant("b").unwrap();
    }
    summarize(manager);
}

#[test]
fn changed_metadata_keeps_summary_valid() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    let id = manager.add_assistant("b").unwrap().id();
    let summarizing = manager.summarizing().unwrap();
    manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, 1).unwrap();
    assert!(manager.add_summary("S", &summarizing).is_ok());
}

#[test]
fn stale_and_foreign_summaries_are_refused() {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant("b").unwrap();
    let summarizing = manager.summarizing().unwrap();
    assert_eq!(manager.add_summary(" ", &summarizing).unwrap_err().0, Refusal::Blank);
    let mut other = Manager::new();
    other.add_user("a").unwrap();
    other.add_assistant("b").unwrap();
    assert_eq!(other.add_summary("S", &summarizing).unwrap_err().0, Refusal::StaleSummary);
    manager.add_assistant("c").unwrap();
    assert_eq!(manager.add_summary("S", &summarizing).unwrap_err().0, Refusal::StaleSummary);
    let summarizing = manager.summarizing().unwrap();
    manager.add_summary("S", &summarizing).unwrap();
    assert_eq!(manager.add_summary("S", &summarizing).unwrap_err().0, Refusal::StaleSummary);
    assert_eq!(list(&manager), ["user: a", "assistant: b + c", "summary: S"]);
}

#[test]
fn receipt_newer_than_the_message_hides_no_later_change() {
    let mut manager = Manager::new();
    let id = manager.add_user("a").unwrap().id();
    manager.add_assistant("b").unwrap();
    // Another process restores the call, edits the message twice, and logs it.
    let mut other = restored_from_json(&manager);
    other.entry(&id).unwrap().set_data("k", 1).unwrap();
    other.entry(&id).unwrap().set_data("k", 2).unwrap();
    let logged = other.changes(LastMessage::Include);
    manager.mark_submitted(&logged);
    manager.acknowledge(&logged);
    manager.entry(&id).unwrap().set_data("k", 3).unwrap();
    // A receipt for another message rechecks all pending messages.
    let answer = manager.records()[1].clone();
    manager.acknowledge([&answer]);
    for changes in [manager.changes(LastMessage::Include), manager.new_changes(LastMessage::Include)] {
        let pending: Vec<_> = changes.iter().map(|record| (record.id(), record.revision())).collect();
        assert_eq!(pending, [(id, 2)]);
    }
}

#[test]
fn pruned_summaries_leave_nothing_and_later_positions_stay() {
    let mut manager = Manager::new();
    for round in 0..50 {
        manager.add_user(format!("question {round}")).unwrap();
        manager.add_assistant("answer").unwrap();
        let summarizing = manager.summarizing().unwrap();
        let id = manager.add_summary(format!("summary {round}"), &summarizing).unwrap().id();
        assert_eq!(manager.summary_ids(&id).len(), if round == 0 { 2 } else { 3 });
        manager.prune(0);
        manager.add_user("And then?").unwrap();
        let last = manager.add_assistant("Nothing.").unwrap().id();
        let position = manager.get(&last).unwrap().message().position();
        assert_eq!((position.seq(), manager.at(position).map(|message| message.id())), (4 * round + 3, Some(last)));
        let covered = manager.summarizing().unwrap();
        manager.add_summary("more", &covered).unwrap();
        manager.prune(0);
    }
    assert_eq!((manager.summary_count(), manager.meta_messages().len()), (100, 1));
}
