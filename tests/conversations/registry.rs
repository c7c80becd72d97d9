//! The registry of conversations, their metadata, and snapshots.

use std::collections::BTreeSet;
use std::sync::Arc;

use verbale::clock::{ManualClock, SequentialIds};
use verbale::conversation::{Conversation, ConversationErrorKind, Conversations, Snapshot};
use verbale::log::{CallEnd, LoggedCall};
use verbale::{MessagesManager, PlainMessage, Role, Timing};

use super::backend::{START_MS, everything, id};

fn conversations() -> (Conversations, ManualClock) {
    let clock = ManualClock::new(START_MS);
    (Conversations::default().with_clock(Arc::new(clock.clone()), Arc::new(SequentialIds::default())), clock)
}

fn say(conversation: &Conversation, role: Role, text: &str) {
    conversation.change(|manager| manager.add(verbale::Draft::new(role, text)).map(|_| ()).unwrap()).unwrap();
}

fn length(conversation: &Conversation) -> usize {
    conversation.read(|manager| manager.meta_messages().len())
}

#[test]
fn id_belongs_to_one_conversation() {
    let (conversations, _) = conversations();
    say(&conversations.get_or_create(&id("a")), Role::User, "hi");
    let exists = conversations.insert(&Conversation::new(id("a"))).unwrap_err();
    assert_eq!(exists.kind(), ConversationErrorKind::InUse);
    assert_eq!(exists.to_string(), "the registry already has a conversation a; get it, or choose another id");
    for same in [conversations.get(&id("a")).unwrap(), conversations.get_or_create(&id("a"))] {
        assert_eq!(length(&same), 1);
    }
    assert!(conversations.get(&id("b")).is_none());
    assert_eq!(length(&conversations.get_or_create(&id("b"))), 0);
    assert!(conversations.get(&id("b")).is_some());
}

#[test]
fn default_conversation_is_in_the_registry() {
    let (conversations, _) = conversations();
    say(&conversations.default_conversation(), Role::User, "hi");
    assert_eq!(length(&conversations.get(&id("default")).unwrap()), 1);
    assert_eq!(length(&conversations.default_conversation()), 1);
}

#[test]
fn conversations_are_listed_by_id_and_can_be_removed() {
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
    // Its handle stays valid.
    say(&removed, Role::Assistant, "hello");
    assert_eq!(length(&removed), 2);
    assert_eq!(length(&conversations.get_or_create(&id("ab"))), 0);
    let shown = format!("{conversations:?}");
    assert!(shown.contains('4') && !shown.contains("hi"), "{shown}");
}

#[test]
fn inserted_conversation_is_found() {
    let (conversations, _) = conversations();
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("before").unwrap();
    let restored = Conversation::from_manager(id("a"), MessagesManager::restore(manager.records()).unwrap());
    conversations.insert(&restored).unwrap();
    say(&restored, Role::Assistant, "after");
    assert_eq!(conversations.query(&everything().with_conversation(id("a"))).unwrap().len(), 2);
    assert_eq!(restored.metadata().messages, 2);
}

#[test]
fn snapshot_of_a_conversation_without_a_message_restores_it() {
    let mut manager = MessagesManager::<PlainMessage>::new();
    for text in ["a", "c", "e"] {
        manager.add_user(text).unwrap();
        manager.add_assistant("b").unwrap();
    }
    let kept = manager.records().into_iter().filter(|record| ![2, 5].contains(&record.position().seq()));
    let mut logged = LoggedCall::new(None, kept.collect());
    logged.ended = Some(CallEnd::of(&manager, 0, "hangup").unwrap());
    let conversation = Conversation::from_manager(id("a"), logged.restore());
    assert_eq!(conversation.metadata().messages, 6);
    let json = serde_json::to_string(&conversation.snapshot()).unwrap();
    assert!(json.ends_with(r#""leftOut":[2,5]}"#), "{json}");
    let restored = serde_json::from_str::<Snapshot>(&json).unwrap().restore().unwrap();
    assert_eq!(restored.read(|it| it.left_out().len()), 2);
    assert_eq!(restored.snapshot(), conversation.snapshot());
    say(&restored, Role::User, "g");
    assert_eq!(restored.read(|it| it.message_count()), 7);
    // Another missing message is an error.
    let mut other: serde_json::Value = serde_json::from_str(&json).unwrap();
    other["records"].as_array_mut().unwrap().remove(1);
    let error = serde_json::from_value::<Snapshot>(other).unwrap().restore().unwrap_err();
    assert!(error.to_string().starts_with("message 1 is missing"), "{error}");
}

#[test]
fn messages_that_are_added_and_summarized_in_one_change_count() {
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
    let metadata = conversation.metadata();
    let roles = [Role::User, Role::Assistant, Role::System, Role::Summary];
    assert_eq!((metadata.messages, metadata.roles), (4, roles.into()));
}

#[test]
fn metadata_follow_every_change() {
    let (conversations, clock) = conversations();
    let conversation = conversations.get_or_create(&id("a"));
    let metadata = || {
        let metadata = conversation.metadata();
        assert_eq!(metadata.conversation, id("a"));
        (metadata.created_ms, metadata.last_message_ms, metadata.messages, metadata.roles)
    };
    let updates = || {
        let metadata = conversation.metadata();
        (metadata.last_updated_ms, metadata.update_count)
    };
    assert_eq!((metadata(), updates()), ((None, None, 0, BTreeSet::new()), (None, 0)));

    // The fake user message before it does not count.
    say(&conversation, Role::Assistant, "hello");
    assert_eq!(metadata(), (Some(START_MS), Some(START_MS), 1, [Role::Assistant].into()));
    clock.advance(5);
    say(&conversation, Role::User, "hi");
    clock.advance(5);
    say(&conversation, Role::User, "there");
    assert_eq!(metadata(), (Some(START_MS), Some(START_MS + 10), 2, [Role::User, Role::Assistant].into()));
    assert_eq!(updates(), (Some(START_MS + 10), 3)); // merged into two messages, but three were added

    // A summary is added in the middle of the list.
    let spoken: BTreeSet<Role> = [Role::User, Role::Assistant, Role::Summary].into();
    clock.advance(5);
    conversation
        .change(|manager| {
            let summarizing = manager.summarizing().unwrap();
            manager.add_summary("They met.", &summarizing).map(|_| ()).unwrap();
        })
        .unwrap();
    assert_eq!(metadata(), (Some(START_MS), Some(START_MS + 10), 3, spoken.clone()));
    assert_eq!(updates(), (Some(START_MS + 15), 3));

    // One change corrects a time and adds several messages.
    conversation
        .change(|manager| {
            let first = manager.meta_messages()[0].id();
            manager.entry(&first).unwrap().set_timing(Timing::Creation, START_MS - 7).unwrap();
            manager.add_system("be kind").unwrap();
            manager.add_assistant("how can I help?").map(|_| ()).unwrap();
        })
        .unwrap();
    let all: BTreeSet<Role> = spoken.into_iter().chain([Role::System]).collect();
    assert_eq!(metadata(), (Some(START_MS - 7), Some(START_MS + 15), 5, all));
    assert_eq!(updates(), (Some(START_MS + 15), 5));

    // Another conversation replaces this one.
    let mut other = MessagesManager::<PlainMessage>::new()
        .with_clock(Arc::new(ManualClock::new(3)), Arc::new(SequentialIds::from(1_000)));
    for _ in 0..20 {
        other.add_system("other").unwrap();
    }
    conversation.change(|manager| *manager = other).unwrap();
    assert_eq!(metadata(), (Some(3), Some(3), 20, [Role::System].into()));
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
    let taken: Vec<Snapshot> = conversations.list().iter().map(Conversation::snapshot).collect();
    assert_eq!(snapshots, taken);
    let restored: Vec<_> = snapshots.iter().map(|snapshot| snapshot.clone().restore().unwrap()).collect();
    let names: Vec<_> = restored.iter().map(|conversation| conversation.id().as_str()).collect();
    assert_eq!(names, ["a", "b", "empty"]);
    assert_eq!((length(&restored[1]), restored[1].metadata().update_count), (1, 2));
    for (conversation, snapshot) in restored.iter().zip(snapshots) {
        assert_eq!(conversation.snapshot(), snapshot);
    }
}

#[test]
fn snapshot_without_pruned_messages_is_not_restored() {
    let (conversations, _) = conversations();
    let conversations = conversations.with_history_limit(1);
    let conversation = conversations.get_or_create(&id("a"));
    for number in 0..4 {
        say(&conversation, Role::User, &number.to_string());
        say(&conversation, Role::Assistant, "so");
    }
    let snapshot = conversation.snapshot();
    assert!(length(&conversation) < conversation.metadata().messages);
    assert!(snapshot.restore().unwrap_err().to_string().starts_with("message 0 is missing"));
}
