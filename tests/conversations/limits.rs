//! Limits: the oldest messages leave memory, tool calls only with their results, and the log keeps them.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use verbale::clock::{ManualClock, SequentialIds};
use verbale::conversation::{Conversation, ConversationErrorKind, Conversations};
use verbale::log::{CallId, CallLog, LogError, MemoryLog};
use verbale::{Content, Message, MessageWrapper, MessagesManager, PlainMessage, Role, Timing, ToolCall, Value};

use super::backend::{Fixture, START_MS, ScatteredIds, everything, id, texts, write};
use super::log::Watched;
use super::random::{NAMES, answer, apply, histories, places, query_specs};

fn turn(conversation: &Conversation, number: usize) {
    conversation
        .change(|manager| {
            manager.add_user(format!("question {number}")).unwrap();
            manager.add_assistant(format!("answer {number}")).map(|_| ()).unwrap();
        })
        .unwrap();
}

fn in_memory(conversation: &Conversation) -> Vec<String> {
    let first = |wrapper: &PlainMessage| wrapper.contents().texts().next().map_or("", |text| text.as_str()).to_owned();
    conversation.read(|manager| manager.meta_messages().iter().map(first).collect())
}

#[test]
fn oldest_messages_are_lost_without_a_log() {
    let clock = ManualClock::new(START_MS);
    let conversations = Conversations::default()
        .with_clock(Arc::new(clock.clone()), Arc::new(SequentialIds::default()))
        .with_history_limit(4);
    let conversation = conversations.get_or_create(&id("a"));
    for number in 0..5 {
        // The limit applies to changes through any handle.
        turn(&conversation.clone(), number);
        clock.advance(1_000);
    }
    assert_eq!(in_memory(&conversation), ["question 3", "answer 3", "question 4", "answer 4"]);
    let positions: Vec<u32> =
        conversation.read(|manager| manager.meta_messages().iter().map(|w| w.message().position().seq()).collect());
    assert_eq!(positions, [6, 7, 8, 9]);
    let metadata = conversation.metadata();
    assert_eq!((metadata.created_ms, metadata.last_message_ms), (Some(START_MS), Some(START_MS + 4_000)));
    assert_eq!((metadata.messages, metadata.roles), (10, [Role::User, Role::Assistant].into()));
    let found = conversations.query(&everything().with_text("QUESTION")).unwrap();
    assert_eq!(texts(&found), ["a: question 3", "a: question 4"]);
}

#[test]
fn default_limit_is_a_thousand_messages() {
    let conversations = Conversations::default();
    let conversation = conversations.default_conversation();
    for number in 0..500 {
        turn(&conversation, number);
    }
    assert_eq!(in_memory(&conversation).len(), 1_000);
    turn(&conversation, 500);
    assert_eq!((in_memory(&conversation).len(), in_memory(&conversation)[0].as_str()), (1_000, "question 1"));
}

#[test]
fn limit_can_be_set_for_one_conversation() {
    let conversations = Conversations::default().with_history_limit(6);
    let (one, other) = (conversations.get_or_create(&id("a")), conversations.get_or_create(&id("b")));
    for number in 0..4 {
        turn(&one, number);
        turn(&other, number);
    }
    assert_eq!((in_memory(&one).len(), in_memory(&other).len()), (6, 6));
    let found = || texts(&conversations.query(&everything().with_conversation(id("a"))).unwrap());
    assert_eq!(found().len(), 6);
    // The limit takes effect at once.
    conversations.limit_history(&id("a"), 2).unwrap();
    assert_eq!((in_memory(&one).len(), in_memory(&other).len()), (2, 6));
    assert_eq!(found(), ["a: question 3", "a: answer 3"]);
    conversations.limit_history(&id("a"), 4).unwrap();
    turn(&one, 4);
    turn(&one, 5);
    assert_eq!((in_memory(&one).len(), one.metadata().messages), (4, 12));
    conversations.limit_history(&id("b"), 0).unwrap();
    assert!(!in_memory(&other).is_empty());

    let unknown = conversations.limit_history(&id("c"), 2).unwrap_err();
    assert_eq!(unknown.kind(), ConversationErrorKind::NotFound);
    assert_eq!(unknown.to_string(), "the registry has no conversation c; create it, or insert a restored one");
}

#[test]
fn limit_applies_to_inserted_conversations() {
    let conversation = Conversation::new(id("a"));
    for number in 0..4 {
        turn(&conversation, number);
    }
    assert_eq!(in_memory(&conversation).len(), 8);
    Conversations::default().with_history_limit(2).insert(&conversation).unwrap();
    assert_eq!((in_memory(&conversation).len(), conversation.metadata().messages), (2, 8));
}

#[test]
fn tool_call_leaves_memory_with_its_result() {
    let conversations = Conversations::default().with_history_limit(3);
    let conversation = conversations.get_or_create(&id("a"));
    let call = ToolCall::new("call_1", "lookup", Value::Null).unwrap();
    let add = |role: Role, content: Content| {
        conversation
            .change(|manager| manager.add(verbale::Draft::new(role, vec![content])).map(|_| ()).unwrap())
            .unwrap();
        let list: Vec<PlainMessage> = conversation.read(|manager| manager.meta_messages().to_vec());
        assert_paired(list.iter().map(PlainMessage::message));
        list.len()
    };
    assert_eq!(add(Role::User, "look".into()), 1);
    assert_eq!(add(Role::Assistant, call.clone().into()), 2);
    assert_eq!(add(Role::User, "please".into()), 3);
    // The call is open, so no message from it on leaves.
    assert_eq!(add(Role::Assistant, "one moment".into()), 4);
    assert_eq!(add(Role::User, "well?".into()), 5);
    assert_eq!(add(Role::User, call.success(["found"]).into()), 5);
    assert_eq!(add(Role::Assistant, "there it is".into()), 6);
    assert_eq!(add(Role::User, "thanks".into()), 7);
    assert_eq!(add(Role::Assistant, "you are welcome".into()), 8);
    // Three messages remain after the result.
    assert_eq!(add(Role::User, "bye".into()), 3);
    assert_eq!(conversation.metadata().messages, 9);
}

fn assert_paired<'a>(messages: impl Iterator<Item = &'a Message>) {
    let contents: Vec<&Content> = messages.flat_map(|message| message.contents().iter()).collect();
    let calls: BTreeSet<_> = contents.iter().filter_map(|c| c.as_tool_call()).map(ToolCall::id).collect();
    let results = contents.iter().filter_map(|c| c.as_result());
    assert!(results.into_iter().all(|result| calls.contains(result.tool_call_id())));
}

#[tokio::test]
async fn only_logged_messages_leave_with_a_log() {
    let log = Arc::new(Watched::default());
    let conversations = Conversations::default().with_history_limit(2).with_log(log.clone());
    let conversation = conversations.get_or_create(&id("a"));
    let quiet = conversations.get_or_create(&id("quiet"));
    turn(&quiet, 9);
    for number in 0..3 {
        turn(&conversation, number);
    }
    assert_eq!(in_memory(&conversation).len(), 6);
    // The change that acknowledges them prunes them.
    write(&*log, &conversation).await;
    assert_eq!(in_memory(&conversation), ["question 2", "answer 2"]);
    turn(&conversation, 3);
    assert_eq!(in_memory(&conversation), ["question 3", "answer 3"]);
    assert_eq!(in_memory(&quiet).len(), 2);
}

#[tokio::test]
async fn pruned_messages_are_found_in_the_log() {
    let log = Arc::new(Watched::default());
    let clock = ManualClock::new(START_MS);
    let conversations = Conversations::default()
        .with_clock(Arc::new(clock.clone()), Arc::new(ScatteredIds::default()))
        .with_history_limit(2)
        .with_log(log.clone());
    for number in 0..3 {
        for name in ["a", "b"] {
            turn(&conversations.get_or_create(&id(name)), number);
            clock.advance(1);
        }
    }
    let a = conversations.get(&id("a")).unwrap();
    write(&*log, &a).await;

    let users = everything().with_role(Role::User).with_limit(4);
    assert_eq!(
        texts(&conversations.query(&users).unwrap()),
        ["b: question 0", "b: question 1", "a: question 2", "b: question 2"]
    );
    let all = ["a: question 0", "b: question 0", "a: question 1", "b: question 1", "a: question 2", "b: question 2"];
    let newest: Vec<_> = all.iter().rev().take(4).copied().collect();
    for (query, expected) in [
        (users.clone(), &all[..4]),
        (everything().with_role(Role::User).newest_first().with_limit(4), &newest[..]),
        (everything().with_role(Role::User).with_until_ms(START_MS + 1), &all[..1]),
    ] {
        let answer = conversations.query_with_log(&query).await.unwrap();
        assert_eq!(
            (texts(&answer.found), answer.problems),
            (expected.iter().map(|text| text.to_string()).collect(), vec![])
        );
    }
    // Only calls with pruned messages that may match are read.
    assert_eq!(log.counts(), (3, 0));
    for query in [everything().with_role(Role::Summary), everything().with_conversation(id("b"))] {
        conversations.query_with_log(&query).await.unwrap();
    }
    assert_eq!(log.counts(), (3, 0));
    assert!(conversations.query_with_log(&everything().with_text("")).await.is_err());
}

#[tokio::test]
async fn log_that_fails_is_an_error() {
    let log = Arc::new(Watched::failing_at(id("a")));
    let conversations = Conversations::default().with_history_limit(2).with_log(log.clone());
    let conversation = conversations.get_or_create(&id("a"));
    turn(&conversation, 0);
    turn(&conversation, 1);
    assert_eq!(conversations.query_with_log(&everything()).await.unwrap().found.len(), 4);
    write(&*log, &conversation).await;
    let error = conversations.query_with_log(&everything()).await.unwrap_err();
    assert!(
        error.log_error().is_some_and(LogError::is_retryable) && error.to_string().starts_with("cannot read call a;"),
        "{error}"
    );
    assert_eq!(conversations.query(&everything()).unwrap().len(), 2);
}

#[test]
fn metadata_count_messages_that_are_pruned_at_once() {
    let conversation = Conversations::default().with_history_limit(1).get_or_create(&id("a"));
    conversation
        .change(|manager| {
            manager.add_system("be kind").unwrap();
            manager.add_assistant("hello").unwrap();
            manager.add_user("hi").map(drop).unwrap();
        })
        .unwrap();
    assert_eq!(in_memory(&conversation), ["hi"]);
    let metadata = conversation.metadata();
    assert_eq!((metadata.messages, metadata.roles), (3, [Role::System, Role::Assistant, Role::User].into()));
}

#[test]
fn metadata_count_messages_that_the_service_prunes() {
    let clock = ManualClock::new(START_MS);
    let mut manager =
        MessagesManager::<PlainMessage>::new().with_clock(Arc::new(clock.clone()), Arc::new(SequentialIds::default()));
    manager.add_system("be kind").unwrap();
    clock.advance(1);
    manager.add_assistant("hello").unwrap();
    let conversation = Conversation::from_manager(id("a"), manager);
    conversation
        .change(|manager| {
            manager.add_user("hi").unwrap();
            manager.prune(1);
        })
        .unwrap();
    assert_eq!(in_memory(&conversation), ["hi"]);
    let metadata = conversation.metadata();
    assert_eq!(
        (metadata.created_ms, metadata.last_message_ms, metadata.messages),
        (Some(START_MS), Some(START_MS + 1), 3)
    );
    assert_eq!(metadata.roles, [Role::System, Role::Assistant, Role::User].into());
}

#[test]
fn fork_has_its_own_metadata() {
    let source = Conversation::new(id("a"));
    turn(&source, 0);
    turn(&source, 1);
    let at = source.read(|manager| manager.meta_messages()[2].id());
    let fork = Conversation::from_manager(id("b"), source.change(|manager| manager.fork(&at, "a").unwrap()).unwrap());
    fork.change(|manager| manager.add_system("be kind").map(|_| ()).unwrap()).unwrap();
    turn(&source, 2);
    assert_eq!((source.metadata().messages, fork.metadata().messages), (6, 4));
    assert_eq!(fork.metadata().roles, [Role::User, Role::Assistant, Role::System].into());

    // Shared messages have the same ids and are found in both conversations.
    let conversations = Conversations::default();
    conversations.insert(&fork).unwrap();
    conversations.insert(&source).unwrap();
    let found = conversations.query(&everything().with_id(at)).unwrap();
    assert_eq!(texts(&found), ["a: question 1", "b: question 1"]);
}

#[test]
fn metadata_start_again_when_a_conversation_is_replaced() {
    let make = |turns: usize| {
        let conversation = Conversation::new(id("a"));
        (0..turns).for_each(|number| turn(&conversation, number));
        conversation
    };
    let conversation = make(1);
    conversation.change(|manager| manager.add_system("be kind").map(drop).unwrap()).unwrap();
    // The summary of the new one covers all positions of the old one.
    let mut other = make(3).read(Clone::clone);
    let summarizing = other.summarizing().unwrap();
    other.add_summary("Three questions.", &summarizing).unwrap();
    conversation.change(|manager| *manager = other).unwrap();
    let metadata = conversation.metadata();
    assert_eq!((metadata.messages, metadata.roles), (7, [Role::User, Role::Assistant, Role::Summary].into()));
}

#[tokio::test]
async fn messages_pruned_before_the_insert_are_found_in_the_log() {
    let log = Arc::new(Watched::default());
    let conversation = Conversation::new(id("a"));
    conversation.change(|manager| manager.add_system("be kind").map(drop).unwrap()).unwrap();
    turn(&conversation, 0);
    turn(&conversation, 1);
    write(&*log, &conversation).await;
    let mut manager = conversation.read(Clone::clone);
    assert_eq!(manager.prune_logged(2), 3);

    let conversations = Conversations::default().with_log(log.clone());
    conversations.insert(&Conversation::from_manager(id("a"), manager)).unwrap();
    let answer = conversations.query_with_log(&everything().with_role(Role::System)).await.unwrap();
    assert_eq!(texts(&answer.found), ["a: be kind"]);
    let metadata = conversations.get(&id("a")).unwrap().metadata();
    assert_eq!((metadata.messages, metadata.created_ms), (5, None));
}

#[test]
fn log_of_one_registry_protects_messages_in_another() {
    let with_log = Conversations::default().with_history_limit(2).with_log(Arc::new(MemoryLog::default()));
    let conversation = with_log.get_or_create(&id("a"));
    (0..3).for_each(|number| turn(&conversation, number));
    Conversations::default().with_history_limit(2).insert(&conversation).unwrap();
    assert_eq!(in_memory(&conversation).len(), 6);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Memory and log together have every message, and the metadata count all.
    #[test]
    fn memory_and_log_together_have_every_message(
        history in histories(), written in prop::collection::vec(any::<bool>(), 60),
        spec in query_specs(), limit in 1usize..8,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let log = Arc::new(MemoryLog::default());
            let fixture = Fixture::limited(limit, log.clone());
            for ((name, op), is_written) in history.iter().zip(&written) {
                let conversation = fixture.conversations.get_or_create(&id(NAMES[*name]));
                apply(&fixture, &conversation, op);
                if *is_written {
                    write(&*log, &conversation).await;
                }
            }
            let mut pruned = 0;
            let mut everything: Vec<(CallId, Message)> = Vec::new();
            let mut held = Vec::new();
            for conversation in fixture.conversations.list() {
                write(&*log, &conversation).await;
                let all: Vec<Message> =
                    log.read_call(conversation.id()).await.unwrap().records.into_iter().map(Message::from).collect();
                let list: Vec<Message> =
                    conversation.read(|manager| manager.meta_messages().iter().map(|w| w.message().clone()).collect());
                assert_eq!(&all[all.len() - list.len()..], list);
                assert_paired(list.iter());
                assert_metadata(&conversation, &all);
                pruned += all.len() - list.len();
                let of_it = |message: Message| (conversation.id().clone(), message);
                everything.extend(all.into_iter().map(of_it));
                held.extend(list.into_iter().map(of_it));
            }
            assert_eq!(pruned, everything.len() - held.len());
            let query = spec.resolve(&everything);
            let found = fixture.conversations.query_with_log(&query.build()).await.unwrap();
            assert_eq!(places(&found.found), answer(&query, &everything));
            assert_eq!(places(&fixture.conversations.query(&query.build()).unwrap()), answer(&query, &held));
        });
    }
}

pub fn assert_metadata(conversation: &Conversation, all: &[Message]) {
    let metadata = conversation.metadata();
    let said = || all.iter().filter(|message| !message.is_fake());
    assert_eq!(metadata.messages, said().count());
    assert_eq!(metadata.roles, said().map(Message::role).collect());
    let spoken = || all.iter().filter(|message| message.role() != Role::Summary);
    let at = |message: Option<&Message>| message.map(|message| message.metadata().timing(Timing::Creation).unwrap());
    assert_eq!(metadata.created_ms, at(spoken().next()));
    let last = spoken().next_back().and_then(|message| message.parts().next_back());
    assert_eq!(metadata.last_message_ms, last.map(|part| part.created_ms()));
    let added: usize = spoken().filter(|message| !message.is_fake()).map(|message| message.parts().len()).sum();
    assert_eq!(metadata.update_count, added);
}
