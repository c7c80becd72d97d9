//! Which conversations there are, and what is known of each.

use std::collections::BTreeSet;
use std::sync::Arc;

use verbale::clock::{ManualClock, SequentialIds};
use verbale::conversation::{Conversation, Conversations, RegistryError, Snapshot};
use verbale::{MessagesManager, PlainMessage, RestoreError, Role, Timing};

use super::asked::{START_MS, everything, id};

fn conversations() -> (Conversations, ManualClock) {
    let clock = ManualClock::new(START_MS);
    (Conversations::new().with_clock(Arc::new(clock.clone()), Arc::new(SequentialIds::default())), clock)
}

fn say(conversation: &Conversation, role: Role, text: &str) {
    conversation.change(|manager| manager.add_message(role, text).map(|_| ()).unwrap()).unwrap();
}

fn length(conversation: &Conversation) -> usize {
    conversation.read(|manager| manager.meta_messages().len())
}

#[test]
fn an_id_is_of_one_conversation() {
    let (conversations, _) = conversations();
    let made = conversations.create(id("a")).unwrap();
    say(&made, Role::User, "hi");
    let exists = RegistryError::Exists { id: id("a") };
    assert_eq!(conversations.create(id("a")).unwrap_err(), exists);
    assert_eq!(conversations.insert(&Conversation::new(id("a"))).unwrap_err(), exists);
    assert_eq!(exists.to_string(), "there is a conversation a already: get it, or give the new one an id of its own");
    for same in [conversations.get(&id("a")).unwrap(), conversations.get_or_create(&id("a"))] {
        assert_eq!(length(&same), 1);
    }
    assert!(conversations.get(&id("b")).is_none());
    assert_eq!(length(&conversations.get_or_create(&id("b"))), 0);
    assert!(conversations.get(&id("b")).is_some());
}

#[test]
fn the_default_one_is_one_of_them() {
    let (conversations, _) = conversations();
    say(&conversations.default_conversation(), Role::User, "hi");
    assert_eq!(length(&conversations.get(&id("default")).unwrap()), 1);
    assert_eq!(length(&conversations.default_conversation()), 1);
}

#[test]
fn they_are_listed_in_order_and_removed_for_good() {
    let (conversations, _) = conversations();
    for name in ["b", "a", "ab", "A"] {
        say(&conversations.get_or_create(&id(name)), Role::User, "hi");
    }
    let listed = || conversations.list().iter().map(|conversation| conversation.id().to_string()).collect::<Vec<_>>();
    assert_eq!(listed(), ["A", "a", "ab", "b"]);
    let removed = conversations.remove(&id("ab")).unwrap();
    assert!(conversations.remove(&id("ab")).is_none());
    assert_eq!(listed(), ["A", "a", "b"]);
    assert_eq!(conversations.query(&everything()).unwrap().len(), 3);
    // Who has it goes on with it.
    say(&removed, Role::Assistant, "hello");
    assert_eq!(length(&removed), 2);
    assert_eq!(length(&conversations.get_or_create(&id("ab"))), 0);
    let shown = format!("{conversations:?}");
    assert!(shown.contains('4') && !shown.contains("hi"), "{shown}");
}

#[test]
fn a_conversation_from_elsewhere_is_one_of_them() {
    let (conversations, _) = conversations();
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("before").unwrap();
    let restored = Conversation::of(id("a"), MessagesManager::restore(manager.records()).unwrap());
    conversations.insert(&restored).unwrap();
    say(&restored, Role::Assistant, "behind");
    assert_eq!(conversations.query(&everything().with_conversation(id("a"))).unwrap().len(), 2);
    assert_eq!(conversations.metadata(&id("a")).unwrap().messages, 2);
}

#[test]
fn what_is_summarised_in_the_change_that_brought_it_is_known() {
    let (conversations, _) = conversations();
    let conversation = conversations.get_or_create(&id("a"));
    say(&conversation, Role::User, "hi");
    conversation
        .change(|manager| {
            manager.add_system("be kind").unwrap();
            manager.add_assistant("hello").unwrap();
            let summarizing = manager.summarizing().unwrap();
            manager.add_summary("They met.", &summarizing).map(drop).unwrap();
        })
        .unwrap();
    let known = conversation.metadata();
    let roles = [Role::User, Role::Assistant, Role::System, Role::Summary];
    assert_eq!((known.messages, known.roles), (4, roles.into()));
}

#[test]
fn metadata_tell_of_every_change() {
    let (conversations, clock) = conversations();
    assert_eq!(conversations.metadata(&id("a")), None);
    let conversation = conversations.get_or_create(&id("a"));
    let known = || {
        let known = conversations.metadata(&id("a")).unwrap();
        assert_eq!(known.conversation, id("a"));
        (known.created_ms, known.last_message_ms, known.messages, known.roles)
    };
    let updates = || {
        let known = conversations.metadata(&id("a")).unwrap();
        (known.last_updated_ms, known.update_count)
    };
    assert_eq!((known(), updates()), ((None, None, 0, BTreeSet::new()), (None, 0)));

    // A fake user message goes in front: nobody said it.
    say(&conversation, Role::Assistant, "hello");
    assert_eq!(known(), (Some(START_MS), Some(START_MS), 1, [Role::Assistant].into()));
    clock.advance(5);
    say(&conversation, Role::User, "hi");
    clock.advance(5);
    say(&conversation, Role::User, "there");
    assert_eq!(known(), (Some(START_MS), Some(START_MS + 10), 2, [Role::User, Role::Assistant].into()));
    assert_eq!(updates(), (Some(START_MS + 10), 3)); // merged, and yet three were added

    // A summary goes to the middle of the list.
    let spoken: BTreeSet<Role> = [Role::User, Role::Assistant, Role::Summary].into();
    clock.advance(5);
    conversation
        .change(|manager| {
            let summarizing = manager.summarizing().unwrap();
            manager.add_summary("They met.", &summarizing).map(|_| ()).unwrap();
        })
        .unwrap();
    assert_eq!(known(), (Some(START_MS), Some(START_MS + 10), 3, spoken.clone()));
    assert_eq!(updates(), (Some(START_MS + 15), 3));

    // A time is set, and several messages come at once.
    conversation
        .change(|manager| {
            let first = verbale::MessageWrapper::id(&manager.meta_messages()[0]);
            manager.entry(&first).unwrap().set_timing(Timing::Creation, START_MS - 7).unwrap();
            manager.add_system("be kind").unwrap();
            manager.add_assistant("how can I help?").map(|_| ()).unwrap();
        })
        .unwrap();
    let all: BTreeSet<Role> = spoken.into_iter().chain([Role::System]).collect();
    assert_eq!(known(), (Some(START_MS - 7), Some(START_MS + 15), 5, all));
    assert_eq!(updates(), (Some(START_MS + 15), 5));

    // Another conversation takes the place of this one.
    let mut other = MessagesManager::<PlainMessage>::with_clock(
        Arc::new(ManualClock::new(3)),
        Arc::new(SequentialIds::starting_at(1_000)),
    );
    for _ in 0..20 {
        other.add_system("other").unwrap();
    }
    conversation.change(|manager| *manager = other).unwrap();
    assert_eq!(known(), (Some(3), Some(3), 20, [Role::System].into()));
    assert_eq!(updates(), (Some(3), 20));
}

#[test]
fn snapshot_restores_the_conversation() {
    let (conversations, clock) = conversations();
    for (name, text) in [("b", "hi"), ("a", "hello"), ("b", "there"), ("empty", " ")] {
        clock.advance(1);
        let conversation = conversations.get_or_create(&id(name));
        conversation.change(|manager| manager.add_user(text).map(|_| ()).ok()).unwrap();
    }
    let exported = conversations.export();
    let snapshots: Vec<Snapshot> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(snapshots, conversations.snapshot());
    let names: Vec<_> = snapshots.iter().map(|snapshot| snapshot.metadata.conversation.as_str()).collect();
    assert_eq!(names, ["a", "b", "empty"]);
    assert_eq!((snapshots[1].records.len(), snapshots[1].metadata.update_count), (1, 2));
    for snapshot in snapshots {
        let restored = snapshot.clone().restore().unwrap();
        assert_eq!(restored.snapshot(), snapshot);
    }
}

#[test]
fn snapshot_of_what_has_left_memory_is_restored_from_the_log_only() {
    let (conversations, _) = conversations();
    let conversations = conversations.with_history_limit(1);
    let conversation = conversations.get_or_create(&id("a"));
    for number in 0..4 {
        say(&conversation, Role::User, &number.to_string());
        say(&conversation, Role::Assistant, "so");
    }
    let snapshot = conversation.snapshot();
    assert!(snapshot.records.len() < snapshot.metadata.messages);
    assert!(matches!(snapshot.restore(), Err(RestoreError::Missing { seq: 0 })));
}
