//! Families of conversations that fork each other at random, each compared with a twin of the same history that shares
//! nothing.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;
use verbale::{LastMessage, Message, MessageWrapper, Record};

use super::history::{Manager, Op, World, op};
use super::window;

/// A conversation, and a twin that shares nothing.
struct Member {
    shares: World,
    alone: World,
}

/// Everything that the public interface shows of a conversation.
#[derive(Debug, PartialEq)]
struct Views {
    records: Vec<Record>,
    window: Vec<Message>,
    shown: String,
    summarizing: Option<verbale::Summarizing>,
    changes: Vec<Vec<verbale::Record>>,
    lineage: Vec<verbale::message::ForkedFrom>,
    open: Vec<String>,
}

impl Views {
    fn of(manager: &Manager) -> Self {
        let modes = [LastMessage::Include, LastMessage::Exclude];
        Self {
            records: manager.records(),
            window: window(manager),
            shown: manager.to_string(),
            summarizing: manager.summarizing(),
            changes: modes.into_iter().flat_map(|mode| [manager.changes(mode), manager.new_changes(mode)]).collect(),
            lineage: manager.lineage().into_iter().cloned().collect(),
            open: manager.open_tool_calls().iter().map(ToString::to_string).collect(),
        }
    }
}

impl Member {
    /// Creates a fork, and a twin restored from its records.
    fn born(mut fork: World) -> Self {
        assert_eq!(fork.manager.changes(LastMessage::Include), fork.manager.records(), "nothing of it is logged");
        fork.write_all();
        let json: Vec<String> = fork.table.values().map(|record| serde_json::to_string(record).unwrap()).collect();
        let restored = Manager::restore(json.iter().map(|json| serde_json::from_str(json).unwrap())).unwrap();
        assert!(restored == fork.manager);
        Self { alone: World { manager: restored, ..fork.clone() }, shares: fork }
    }

    /// Checks that both hold the same, apart from the ids of messages added to each.
    fn check(&self) -> TestCaseResult {
        let (shares, alone) = (&self.shares.manager, &self.alone.manager);
        prop_assert_eq!(without_ids(shares), without_ids(alone));
        prop_assert_eq!((shares.pruned(), shares.message_count()), (alone.pruned(), alone.message_count()));
        for mode in [LastMessage::Include, LastMessage::Exclude] {
            let places = |changes: Vec<verbale::Record>| {
                changes.iter().map(|record| (record.position(), record.revision())).collect::<Vec<_>>()
            };
            prop_assert_eq!(places(shares.changes(mode)), places(alone.changes(mode)));
            prop_assert_eq!(places(shares.new_changes(mode)), places(alone.new_changes(mode)));
        }
        Ok(())
    }
}

fn without_ids(manager: &Manager) -> String {
    let message = |message: &Message| {
        let heard = message.heard_contents().into_owned();
        let text = serde_json::to_string(&(message.contents(), &heard)).unwrap();
        format!("{} {text} {:?} {:?}", message.role(), message.position(), message.revision())
    };
    let lines = |messages: Vec<Message>| messages.iter().map(message).collect::<Vec<_>>().join("\n");
    let whole = manager.meta_messages().iter().map(|wrapper| wrapper.message().clone()).collect();
    let summarizing = manager.summarizing().map(|summarizing| summarizing.for_model());
    format!("{}\n--\n{}\n--\n{summarizing:?}", lines(whole), lines(window(manager)))
}

/// Returns the addresses of a message's texts.
fn addresses(message: &Message) -> Vec<*const u8> {
    message.contents().texts().map(|text| text.as_str().as_ptr()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn forks_do_not_see_each_others_changes(
        steps in prop::collection::vec((op(), any::<Index>()), 1..80),
    ) {
        let mut family = vec![Member { shares: World::new(), alone: World::new() }];
        for (op, who) in &steps {
            let who = who.index(family.len());
            let others: Vec<Views> = family.iter().map(|member| Views::of(&member.shares.manager)).collect();
            let member = &mut family[who];
            let mut born = None;
            let is_whole = member.shares.manager.pruned() == 0;
            match op {
                Op::Fork { at } if is_whole => born = member.shares.fork(at),
                Op::Edit { message, texts } if is_whole => born = member.shares.edit(message, texts),
                Op::Fork { .. } | Op::Edit { .. } => {}
                op => {
                    let done = member.shares.apply(op);
                    prop_assert_eq!(done, member.alone.apply(op));
                }
            }
            if let Some(Ok(fork)) = born {
                // All messages except an edited one are the source's, and no text was copied.
                let both = fork.messages().zip(member.shares.messages());
                let shared: Vec<_> = both.take_while(|(ours, theirs)| ours.id() == theirs.id()).collect();
                for (ours, theirs) in &shared {
                    prop_assert_eq!(addresses(ours), addresses(theirs));
                }
                prop_assert_eq!(fork.messages().count() - shared.len(), usize::from(matches!(op, Op::Edit { .. })));
                let point = fork.manager.lineage()[0].after;
                let marked = shared.iter().rfind(|(ours, theirs)| ours.revision() > theirs.revision());
                prop_assert_eq!(point, marked.map(|(ours, _)| ours.id()));
                prop_assert_eq!(&Views::of(&member.shares.manager), &others[who], "a fork changes nothing in its source");
                family.push(Member::born(fork));
            }
            for (index, views) in others.iter().enumerate().filter(|(index, _)| *index != who) {
                prop_assert_eq!(&Views::of(&family[index].shares.manager), views, "another one changed");
            }
            for member in &family {
                member.check()?;
            }
        }
        for member in &family {
            if member.shares.manager.pruned() == 0 {
                let restored = Manager::restore(member.shares.manager.records()).unwrap();
                prop_assert!(restored == member.shares.manager);
                prop_assert_eq!(restored.lineage(), member.shares.manager.lineage());
            }
        }
    }
}
