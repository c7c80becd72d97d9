//! Cuts, policy and extractive summaries together: a chosen cut applies, and the rest of the window needs no second
//! cut.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::ExtractiveSummarizer;
use crate::manager::{MessagesManager, Summarizing};
use crate::message::{Content, Heard, HeardSource, Message, MessageWrapper, PlainMessage, Role, ToolCall, Value};
use crate::policy::{Policy, Tokens};

type Manager = MessagesManager<PlainMessage>;

#[derive(Debug, Clone)]
enum Step {
    User(usize),
    Assistant(usize),
    /// Reports how much of the last answer was heard.
    Hear(usize),
    System,
    Call,
    /// Answers the oldest or the newest open call, alone or with words.
    Answer {
        oldest: bool,
        with_words: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1usize..300).prop_map(Step::User),
        4 => (1usize..300).prop_map(Step::Assistant),
        2 => prop_oneof![Just(0), 1usize..9].prop_map(Step::Hear),
        1 => Just(Step::System),
        1 => Just(Step::Call),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(oldest, with_words)| Step::Answer { oldest, with_words }),
    ]
}

/// Plays the steps and calls `each` after every one.
fn play(steps: Vec<Step>, mut each: impl FnMut(&mut Manager) -> TestCaseResult) -> TestCaseResult {
    let mut manager = Manager::new();
    let mut open: Vec<ToolCall> = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::User(length) => drop(manager.add_user("x".repeat(length)).unwrap()),
            Step::Assistant(length) => drop(manager.add_assistant("y".repeat(length)).unwrap()),
            Step::Hear(bytes) => {
                let last = manager.meta_messages().last().filter(|last| last.role() == Role::Assistant);
                if let Some(id) = last.map(|wrapper| wrapper.id()) {
                    manager.entry(&id).unwrap().set_heard(Heard::new(bytes, HeardSource::Estimate)).unwrap();
                }
            }
            Step::System => drop(manager.add_system("Be brief.").unwrap()),
            Step::Call => {
                let call = ToolCall::new(format!("call-{number}"), "search", Value::Null).unwrap();
                manager.add_assistant(Content::from(call.clone())).unwrap();
                open.push(call);
            }
            Step::Answer { oldest, with_words } if !open.is_empty() => {
                let call = open.remove(if oldest { 0 } else { open.len() - 1 });
                let mut contents = vec![Content::from(call.success(["found"]))];
                contents.extend(with_words.then(|| "and?".into()));
                manager.add_user(contents).unwrap();
            }
            Step::Answer { .. } => {}
        }
        each(&mut manager)?;
    }
    Ok(())
}

fn window(manager: &Manager) -> Vec<Message> {
    manager.messages().map(|message| message.message().clone()).collect()
}

/// Counts the turns of a window: its messages in which the caller says something.
fn turns(window: &[Message]) -> usize {
    let says = |content: &Content| content.as_text().is_some_and(|text| text.as_str() != "...");
    window.iter().filter(|m| m.role() == Role::User && !m.is_fake() && m.contents().iter().any(says)).count()
}

fn ids<'a, T>(messages: &'a [Message], id: impl Fn(&'a Content) -> Option<T>) -> Vec<T> {
    messages.iter().flat_map(|message| message.contents().iter()).filter_map(id).collect()
}

fn assert_pairs_are_whole(window: &[Message]) -> TestCaseResult {
    let calls = ids(window, |content| content.as_tool_call().map(|call| call.id()));
    let results = ids(window, |content| content.as_result().map(|result| result.tool_call_id()));
    prop_assert!(calls.iter().all(|id| results.contains(id)) && results.iter().all(|id| calls.contains(id)));
    Ok(())
}

fn choose(policy: &Policy, manager: &Manager) -> Option<Summarizing> {
    manager.summarizing_by(|window, cuts| policy.choose(window, cuts, Tokens::estimate))
}

#[test]
fn unheard_answers_do_not_split_turns() {
    let mut manager = Manager::new();
    let say = |manager: &mut Manager, number: usize, is_heard: bool| {
        manager.add_user(format!("u{number}")).unwrap();
        let heard = (!is_heard).then(|| Heard::new(0, HeardSource::WordTiming));
        manager.add_assistant(format!("a{number}")).unwrap().set_heard(heard).unwrap();
    };
    (0..4).for_each(|number| say(&mut manager, number, true));
    (4..7).for_each(|number| say(&mut manager, number, false));
    say(&mut manager, 7, true);
    let cuts: Vec<_> = manager.cuts().iter().map(|cut| (cut.messages, cut.turns)).collect();
    assert_eq!(cuts, [(2, 4), (4, 3), (6, 2), (8, 1), (10, 0)]);
    let starts: Vec<_> = manager.turn_starts().iter().map(|cut| (cut.messages, cut.turns)).collect();
    assert_eq!(starts, cuts[..4]);
    let summarizing = manager.summarizing_keeping(3).unwrap();
    manager.add_summary("S", &summarizing).unwrap();
    let window = window(&manager);
    assert_eq!((turns(&window), window.len()), (3, 6));
    assert_eq!(window[4].contents(), &["u4", "u5", "u6", "u7"].into());
}

#[test]
fn summarizing_by_passes_window_and_cuts() {
    let mut manager = Manager::new();
    for text in ["a", "b"] {
        manager.add_user(text).unwrap();
        manager.add_assistant(text).unwrap();
    }
    let summarizing = manager.summarizing_by(|window, cuts| {
        let sizes: Vec<_> = cuts.iter().map(|cut| (cut.messages, cut.turns)).collect();
        assert_eq!((window.len(), sizes), (4, vec![(2, 1), (4, 0)]));
        Some(0)
    });
    assert_eq!(summarizing.unwrap().messages().count(), 2);
    assert_eq!(manager.summarizing_by(|_, cuts| Some(cuts.len())), None);
    assert_eq!(manager.summarizing_by(|_, _| None), None);
}

proptest! {
    #[test]
    fn cut_keeps_turns_tool_pairs_and_unanswered_messages(
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        play(steps, |manager| {
            let before = window(manager);
            let cuts = manager.cuts();
            prop_assert!(cuts.is_sorted_by(|a, b| a.messages < b.messages && a.turns >= b.turns));
            for (index, cut) in cuts.iter().enumerate() {
                let mut manager = manager.clone();
                let summarizing = manager.summarizing_by(|_, _| Some(index)).unwrap();
                prop_assert!(summarizing.messages().next().is_some());
                let covered: Vec<Message> = summarizing.messages().cloned().collect();
                assert_pairs_are_whole(&covered)?;
                let last = manager.meta_messages().iter().rfind(|message| message.role().is_spoken()).unwrap();
                let is_covered = covered.iter().any(|message| message.id() == last.id());
                prop_assert!(!is_covered || last.role() == Role::Assistant);
                manager.add_summary("S", &summarizing).unwrap();
                prop_assert_eq!(&window(&manager), &before[cut.messages..]);
                prop_assert_eq!(turns(&window(&manager)), cut.turns);
            }
            for start in manager.turn_starts() {
                let rest = &before[start.messages..];
                prop_assert!(start.messages > 0 && rest[0].role() == Role::User);
                prop_assert_eq!(turns(rest), start.turns);
                prop_assert_eq!(turns(&rest[1..]) + 1, start.turns);
                assert_pairs_are_whole(rest)?;
                if let Some(cut) = cuts.iter().find(|cut| cut.messages == start.messages) {
                    prop_assert_eq!(cut.turns, start.turns);
                }
            }
            for keep in 0..6 {
                let last = manager.summarizing_by(|_, cuts| cuts.iter().rposition(|cut| cut.turns >= keep));
                prop_assert_eq!(manager.summarizing_keeping(keep), last);
            }
            Ok(())
        })?;
    }

    #[test]
    fn chosen_cut_applies_and_needs_no_second_cut(
        steps in proptest::collection::vec(step(), 1..120), low in 2usize..10, gap in 0usize..20, keep in 1usize..4,
    ) {
        let policy = Policy::default().with_messages(low..=low + gap).with_tokens(200..=900).with_keep_turns(keep);
        play(steps, |manager| {
            let Some(summarizing) = choose(&policy, manager) else { return Ok(()) };
            manager.add_summary(ExtractiveSummarizer::default().summary(&summarizing), &summarizing).unwrap();
            prop_assert!(turns(&window(manager)) >= keep);
            prop_assert_eq!(choose(&policy, manager), None);
            Ok(())
        })?;
    }
}
