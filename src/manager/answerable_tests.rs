//! The cases of `is_answerable`.

use super::tests::{Manager, call, restored_from_json, summarise};
use crate::message::{Attribute, Heard, HeardSource, Timing};

fn answered() -> Manager {
    let mut manager = Manager::new();
    manager.add_user("a").unwrap();
    manager.add_assistant("b c").unwrap();
    manager
}

fn fixed(manager: &mut Manager, text: &str) {
    manager.add_assistant(text).unwrap().add_attribute(Attribute::Hardcoded);
}

#[track_caller]
fn assert_answerable(manager: &Manager, expected: bool) {
    assert_eq!(manager.is_answerable(), expected, "{manager}");
    assert_eq!(restored_from_json(manager).is_answerable(), expected);
}

#[test]
fn words_and_results_are_answerable() {
    let mut manager = Manager::new();
    assert_answerable(&manager, false);
    manager.add_system("Be brief.").unwrap();
    assert_answerable(&manager, false);
    manager.add_user("a").unwrap();
    assert_answerable(&manager, true);
    manager.add_system("Be long.").unwrap();
    assert_answerable(&manager, true);
    manager.add_assistant(call("c1")).unwrap();
    assert_answerable(&manager, true);
    manager.add_assistant("one moment").unwrap();
    assert_answerable(&manager, false);
    manager.add_user(call("c1").success(["1"])).unwrap();
    assert_answerable(&manager, true);
}

#[test]
fn fixed_sentence_is_no_answer() {
    let mut manager = Manager::new();
    fixed(&mut manager, "Hello!");
    assert_answerable(&manager, false);
    manager.add_user("a").unwrap();
    fixed(&mut manager, "Sorry?");
    assert_answerable(&manager, true);
    assert_eq!(manager.summarizing().map(|summarizing| summarizing.messages().count()), Some(1), "the greeting alone");
    // The answer merges into the fixed sentence.
    manager.add_assistant("b").unwrap().set_timing(Timing::LlmEnd, 1).unwrap();
    assert_answerable(&manager, false);
}

#[test]
fn interrupted_answer_is_answerable() {
    let mut manager = answered();
    assert_answerable(&manager, false);
    let id = manager.records()[1].id();
    for (bytes, expected) in [(0, true), (1, true), (3, false)] {
        manager.entry(&id).unwrap().set_heard(Heard::bytes(bytes, HeardSource::Estimate)).unwrap();
        assert_answerable(&manager, expected);
    }
    manager.entry(&id).unwrap().add_attribute(Attribute::LlmInterrupted);
    assert_answerable(&manager, true);
}

#[test]
fn summarised_messages_are_answered() {
    let mut manager = answered();
    summarise(&mut manager);
    assert_answerable(&manager, false);
    fixed(&mut manager, "Are you still there?");
    assert_answerable(&manager, false);
    manager.add_user("yes").unwrap();
    assert_answerable(&manager, true);
}
