//! Limits: the oldest messages leave memory, never half of a tool call and its result, and stay in the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use verbale::clock::{ManualClock, SequentialIds};
use verbale::conversation::{Conversation, Conversations, QueryError, RegistryError};
use verbale::log::{CallId, CallLog, MemoryLog};
use verbale::{Content, Message, MessageWrapper, MessagesManager, PlainMessage, Prune, Role, Timing, ToolCall, Value};

use super::asked::{Asked, START_MS, ScatteredIds, everything, id, texts, write};
use super::log::Watched;
use super::random::{NAMES, answer, apply, asking, histories, places, query};

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
fn without_a_log_the_oldest_are_gone() {
    let clock = ManualClock::new(START_MS);
    let conversations = Conversations::new()
        .with_clock(Arc::new(clock.clone()), Arc::new(SequentialIds::default()))
        .with_history_limit(4);
    let conversation = conversations.get_or_create(&id("a"));
    for number in 0..5 {
        // Whoever changes it through whichever handle.
        turn(&conversation.clone(), number);
        clock.advance(1_000);
    }
    assert_eq!(in_memory(&conversation), ["question 3", "answer 3", "question 4", "answer 4"]);
    let positions: Vec<u32> =
        conversation.read(|manager| manager.meta_messages().iter().map(|w| w.message().position().seq()).collect());
    assert_eq!(positions, [6, 7, 8, 9]);
    let known = conversations.metadata(&id("a")).unwrap();
    assert_eq!((known.created_ms, known.last_message_ms), (Some(START_MS), Some(START_MS + 4_000)));
    assert_eq!((known.messages, known.roles), (10, [Role::User, Role::Assistant].into()));
    let found = conversations.query(&everything().with_text("QUESTION")).unwrap();
    assert_eq!(texts(&found), ["a: question 3", "a: question 4"]);
}

#[test]
fn a_thousand_messages_stay_where_no_other_limit_is_set() {
    let conversations = Conversations::new();
    let conversation = conversations.default_conversation();
    for number in 0..500 {
        turn(&conversation, number);
    }
    assert_eq!(in_memory(&conversation).len(), 1_000);
    turn(&conversation, 500);
    assert_eq!((in_memory(&conversation).len(), in_memory(&conversation)[0].as_str()), (1_000, "question 1"));
}

#[test]
fn each_conversation_may_have_a_limit_of_its_own() {
    let conversations = Conversations::new().with_history_limit(6);
    let (one, other) = (conversations.get_or_create(&id("a")), conversations.get_or_create(&id("b")));
    for number in 0..4 {
        turn(&one, number);
        turn(&other, number);
    }
    assert_eq!((in_memory(&one).len(), in_memory(&other).len()), (6, 6));
    let found = || texts(&conversations.query(&everything().with_conversation(id("a"))).unwrap());
    assert_eq!(found().len(), 6);
    // At once.
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
    assert_eq!(unknown, RegistryError::Unknown { id: id("c") });
    assert_eq!(unknown.to_string(), "there is no conversation c here: create it first, or insert the restored one");
}

#[test]
fn a_conversation_from_elsewhere_is_limited_as_well() {
    let conversation = Conversation::new(id("a"));
    for number in 0..4 {
        turn(&conversation, number);
    }
    assert_eq!(in_memory(&conversation).len(), 8);
    Conversations::new().with_history_limit(2).insert(&conversation).unwrap();
    assert_eq!((in_memory(&conversation).len(), conversation.metadata().messages), (2, 8));
}

#[test]
fn a_tool_call_leaves_with_its_result() {
    let conversations = Conversations::new().with_history_limit(3);
    let conversation = conversations.get_or_create(&id("a"));
    let call = ToolCall::new("call_1", "lookup", Value::Null).unwrap();
    let add = |role: Role, content: Content| {
        conversation.change(|manager| manager.add_message(role, vec![content]).map(|_| ()).unwrap()).unwrap();
        let list: Vec<PlainMessage> = conversation.read(|manager| manager.meta_messages().to_vec());
        assert_paired(list.iter().map(PlainMessage::message));
        list.len()
    };
    assert_eq!(add(Role::User, "look".into()), 1);
    assert_eq!(add(Role::Assistant, call.clone().into()), 2);
    assert_eq!(add(Role::User, "please".into()), 3);
    // It is open: nothing from it on leaves, however long this goes on.
    assert_eq!(add(Role::Assistant, "one moment".into()), 4);
    assert_eq!(add(Role::User, "well?".into()), 5);
    assert_eq!(add(Role::User, call.success(["found"]).into()), 5);
    assert_eq!(add(Role::Assistant, "there it is".into()), 6);
    assert_eq!(add(Role::User, "thanks".into()), 7);
    assert_eq!(add(Role::Assistant, "you are welcome".into()), 8);
    // Three are left behind the result.
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
async fn with_a_log_only_what_it_has_leaves() {
    let log = Arc::new(Watched::default());
    let conversations = Conversations::new().with_history_limit(2).with_log(log.clone());
    let conversation = conversations.get_or_create(&id("a"));
    let quiet = conversations.get_or_create(&id("quiet"));
    turn(&quiet, 9);
    for number in 0..3 {
        turn(&conversation, number);
    }
    assert_eq!(in_memory(&conversation).len(), 6);
    // The change that takes note of it lets them go.
    write(&*log, &conversation).await;
    assert_eq!(in_memory(&conversation), ["question 2", "answer 2"]);
    turn(&conversation, 3);
    assert_eq!(in_memory(&conversation), ["question 3", "answer 3"]);
    assert_eq!(in_memory(&quiet).len(), 2);
}

#[tokio::test]
async fn what_has_left_is_found_in_the_log() {
    let log = Arc::new(Watched::default());
    let clock = ManualClock::new(START_MS);
    let conversations = Conversations::new()
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

    let asked = everything().with_role(Role::User).with_limit(4);
    assert_eq!(
        texts(&conversations.query(&asked).unwrap()),
        ["b: question 0", "b: question 1", "a: question 2", "b: question 2"]
    );
    let all = ["a: question 0", "b: question 0", "a: question 1", "b: question 1", "a: question 2", "b: question 2"];
    let newest: Vec<_> = all.iter().rev().take(4).copied().collect();
    for (query, expected) in [
        (asked.clone(), &all[..4]),
        (everything().with_role(Role::User).newest_first().with_limit(4), &newest[..]),
        (everything().with_role(Role::User).with_until_ms(START_MS + 1), &all[..1]),
    ] {
        let answer = conversations.query_with_log(&query).await.unwrap();
        assert_eq!(
            (texts(&answer.found), answer.problems),
            (expected.iter().map(|text| text.to_string()).collect(), vec![])
        );
    }
    // Only the call is read of which something has left, and only where it may hold what is asked for.
    assert_eq!(log.counts(), (3, 0));
    for query in [everything().with_role(Role::Summary), everything().with_conversation(id("b"))] {
        conversations.query_with_log(&query).await.unwrap();
    }
    assert_eq!(log.counts(), (3, 0));
    assert!(conversations.query_with_log(&everything().with_text("")).await.is_err());
}

#[tokio::test]
async fn a_log_that_fails_is_an_error() {
    let log = Arc::new(Watched::failing_at(id("a")));
    let conversations = Conversations::new().with_history_limit(2).with_log(log.clone());
    let conversation = conversations.get_or_create(&id("a"));
    turn(&conversation, 0);
    turn(&conversation, 1);
    assert_eq!(conversations.query_with_log(&everything()).await.unwrap().found.len(), 4);
    write(&*log, &conversation).await;
    let error = conversations.query_with_log(&everything()).await.unwrap_err();
    assert!(matches!(error, QueryError::Read { call_id, .. } if call_id == id("a")));
    assert_eq!(conversations.query(&everything()).unwrap().len(), 2);
}

#[test]
fn what_leaves_with_the_change_that_brought_it_is_known() {
    let conversation = Conversations::new().with_history_limit(1).get_or_create(&id("a"));
    conversation
        .change(|manager| {
            manager.add_system("be kind").unwrap();
            manager.add_assistant("hello").unwrap();
            manager.add_user("hi").map(drop).unwrap();
        })
        .unwrap();
    assert_eq!(in_memory(&conversation), ["hi"]);
    let known = conversation.metadata();
    assert_eq!((known.messages, known.roles), (3, [Role::System, Role::Assistant, Role::User].into()));
}

#[test]
fn what_was_pruned_by_hand_is_known_as_well() {
    let clock = ManualClock::new(START_MS);
    let mut manager =
        MessagesManager::<PlainMessage>::with_clock(Arc::new(clock.clone()), Arc::new(SequentialIds::default()));
    manager.add_system("be kind").unwrap();
    clock.advance(1);
    manager.add_assistant("hello").unwrap();
    let conversation = Conversation::of(id("a"), manager);
    conversation
        .change(|manager| {
            manager.add_user("hi").unwrap();
            manager.prune(1, Prune::Anything);
        })
        .unwrap();
    assert_eq!(in_memory(&conversation), ["hi"]);
    let known = conversation.metadata();
    assert_eq!((known.created_ms, known.last_message_ms, known.messages), (Some(START_MS), Some(START_MS + 1), 3));
    assert_eq!(known.roles, [Role::System, Role::Assistant, Role::User].into());
}

#[test]
fn a_fork_has_metadata_of_its_own() {
    let source = Conversation::new(id("a"));
    turn(&source, 0);
    turn(&source, 1);
    let at = source.read(|manager| manager.meta_messages()[2].id());
    let fork = Conversation::of(id("b"), source.change(|manager| manager.fork(&at, "a").unwrap()).unwrap());
    fork.change(|manager| manager.add_system("be kind").map(|_| ()).unwrap()).unwrap();
    turn(&source, 2);
    assert_eq!((source.metadata().messages, fork.metadata().messages), (6, 4));
    assert_eq!(fork.metadata().roles, [Role::User, Role::Assistant, Role::System].into());

    // Both have what they share: the same ids, told apart by the conversation.
    let conversations = Conversations::new();
    conversations.insert(&fork).unwrap();
    conversations.insert(&source).unwrap();
    let found = conversations.query(&everything().with_id(at)).unwrap();
    assert_eq!(texts(&found), ["a: question 1", "b: question 1"]);
}

#[test]
fn a_conversation_that_is_put_in_the_place_of_another_is_known_anew() {
    let make = |turns: usize| {
        let conversation = Conversation::new(id("a"));
        (0..turns).for_each(|number| turn(&conversation, number));
        conversation
    };
    let conversation = make(1);
    conversation.change(|manager| manager.add_system("be kind").map(drop).unwrap()).unwrap();
    // All that was known of the old one is covered in the new one.
    let mut other = make(3).read(Clone::clone);
    let summarizing = other.summarizing().unwrap();
    other.add_summary("Three questions.", &summarizing).unwrap();
    conversation.change(|manager| *manager = other).unwrap();
    let known = conversation.metadata();
    assert_eq!((known.messages, known.roles), (7, [Role::User, Role::Assistant, Role::Summary].into()));
}

#[tokio::test]
async fn what_had_left_before_the_conversation_was_made_is_looked_for_in_the_log() {
    let log = Arc::new(Watched::default());
    let conversation = Conversation::new(id("a"));
    conversation.change(|manager| manager.add_system("be kind").map(drop).unwrap()).unwrap();
    turn(&conversation, 0);
    turn(&conversation, 1);
    write(&*log, &conversation).await;
    let mut manager = conversation.read(Clone::clone);
    assert_eq!(manager.prune(2, Prune::Logged), 3);

    let conversations = Conversations::new().with_log(log.clone());
    conversations.insert(&Conversation::of(id("a"), manager)).unwrap();
    let answer = conversations.query_with_log(&everything().with_role(Role::System)).await.unwrap();
    assert_eq!(texts(&answer.found), ["a: be kind"]);
    let known = conversations.metadata(&id("a")).unwrap();
    assert_eq!((known.messages, known.created_ms), (5, None));
}

#[test]
fn what_one_registry_has_a_log_for_stays_in_the_other_too() {
    let with_log = Conversations::new().with_history_limit(2).with_log(Arc::new(MemoryLog::new()));
    let conversation = with_log.get_or_create(&id("a"));
    (0..3).for_each(|number| turn(&conversation, number));
    Conversations::new().with_history_limit(2).insert(&conversation).unwrap();
    assert_eq!(in_memory(&conversation).len(), 6);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever leaves memory when, memory and log together hold everything, and the metadata tell of everything.
    #[test]
    fn memory_and_log_together_hold_everything(
        history in histories(), written in prop::collection::vec(any::<bool>(), 60),
        asking in asking(), limit in 1usize..8,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let log = Arc::new(MemoryLog::new());
            let asked = Asked::limited(limit, log.clone());
            for ((name, op), is_written) in history.iter().zip(&written) {
                let conversation = asked.conversations.get_or_create(&id(NAMES[*name]));
                apply(&asked, &conversation, op);
                if *is_written {
                    write(&*log, &conversation).await;
                }
            }
            let mut pruned = 0;
            let mut everything: Vec<(CallId, Message)> = Vec::new();
            let mut held = Vec::new();
            for conversation in asked.conversations.list() {
                write(&*log, &conversation).await;
                let all: Vec<Message> =
                    log.read_call(conversation.id()).await.unwrap().records.into_iter().map(Message::from).collect();
                let list: Vec<Message> =
                    conversation.read(|manager| manager.meta_messages().iter().map(|w| w.message().clone()).collect());
                assert_eq!(&all[all.len() - list.len()..], list);
                assert_paired(list.iter());
                assert_known(&conversation, &all);
                pruned += all.len() - list.len();
                let of_it = |message: Message| (conversation.id().clone(), message);
                everything.extend(all.into_iter().map(of_it));
                held.extend(list.into_iter().map(of_it));
            }
            assert_eq!(pruned, everything.len() - held.len());
            let query = query(&asking, &everything);
            let found = asked.conversations.query_with_log(&query).await.unwrap();
            assert_eq!(places(&found.found), answer(&query, &everything));
            assert_eq!(places(&asked.conversations.query(&query).unwrap()), answer(&query, &held));
        });
    }
}

pub fn assert_known(conversation: &Conversation, all: &[Message]) {
    let known = conversation.metadata();
    let said = || all.iter().filter(|message| !message.is_fake());
    assert_eq!(known.messages, said().count());
    assert_eq!(known.roles, said().map(Message::role).collect());
    let spoken = || all.iter().filter(|message| message.role() != Role::Summary);
    let at = |message: Option<&Message>| message.map(|message| message.metadata().timing(Timing::Creation).unwrap());
    assert_eq!(known.created_ms, at(spoken().next()));
    let last = spoken().next_back().and_then(|message| message.parts().next_back());
    assert_eq!(known.last_message_ms, last.map(|part| part.created_ms()));
    let added: usize = spoken().filter(|message| !message.is_fake()).map(|message| message.parts().len()).sum();
    assert_eq!(known.update_count, added);
}
