//! What the policy decides, done by the manager: a turn is the same for both, and a cut is not followed by another.

use proptest::prelude::*;
use verbale::memory::Extractive;
use verbale::policy::{CharacterEstimator, Decision, Policy};
use verbale::{Content, Invocation, MessageWrapper, MessagesManager, PlainMessage, Value};

#[derive(Debug, Clone)]
enum Step {
    User(usize),
    Assistant(usize),
    Call,
    /// The oldest open call, or the newest; alone, or with words.
    Answer {
        oldest: bool,
        with_words: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1usize..300).prop_map(Step::User),
        4 => (1usize..300).prop_map(Step::Assistant),
        1 => Just(Step::Call),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(oldest, with_words)| Step::Answer { oldest, with_words }),
    ]
}

fn decide(policy: &Policy, manager: &MessagesManager<PlainMessage>) -> Decision {
    policy.decide(manager.uncovered().map(MessageWrapper::message), &CharacterEstimator)
}

proptest! {
    #[test]
    fn the_manager_cuts_where_the_policy_decides(
        steps in proptest::collection::vec(step(), 1..120), low in 2usize..10, gap in 0usize..20, keep in 1usize..4,
    ) {
        let policy = Policy::default().with_messages(low..=low + gap).with_tokens(200..=900).with_keep_turns(keep);
        let mut manager = MessagesManager::<PlainMessage>::new();
        let mut open: Vec<Invocation> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::User(length) => drop(manager.add_user("x".repeat(length)).unwrap()),
                Step::Assistant(length) => drop(manager.add_assistant("y".repeat(length)).unwrap()),
                Step::Call => {
                    let call = Invocation::new(format!("call-{number}"), "search", Value::Null).unwrap();
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

            let Decision::Summarize { keep_turns } = decide(&policy, &manager) else { continue };
            prop_assert!(keep_turns >= keep);
            let before = manager.uncovered().len();
            let summarizing = manager.summarizing_keeping(keep_turns).expect("there is something to cover");
            let covered = summarizing.messages().count();
            manager.add_summary(Extractive::default().summary(&summarizing), &summarizing).unwrap();
            prop_assert!(covered > 0 && manager.uncovered().len() < before);
            prop_assert_eq!(decide(&policy, &manager), Decision::Wait);
        }
    }
}
