//! Random histories of several conversations: memory, every log and a naive model give one answer to every query.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use verbale::conversation::{Conversation, Found, HistoryQuery, QueryOrder};
use verbale::log::CallId;
use verbale::message::{Outcome, Part, ResultContent};
use verbale::{
    Content, Heard, HeardSource, Message, MessageId, MessageWrapper, PlainMessage, Role, Timing, ToolCall, Value,
};

use super::asked::{Asked, Backend, START_MS, id};

/// What happens in one of the conversations.
#[derive(Debug, Clone)]
pub enum Op {
    Say(Role, Vec<String>),
    Call,
    /// The result of some call, often one that has its result.
    Answer(Index, String),
    /// The caller breaks in.
    Hear(Index, usize),
    /// Some turns stay.
    Summarise(usize),
    /// The time of a message is corrected.
    Move(Index, i64),
    /// The clock goes on, stands or steps back.
    Tick(i64),
}

/// A query in numbers: what it is in the end, depends on what was said.
#[derive(Debug, Clone)]
pub struct Asking {
    conversation: Option<usize>,
    roles: BTreeSet<Role>,
    range_ms: (Option<i64>, Option<i64>),
    text: Option<String>,
    id: Option<Index>,
    at_most: (Option<usize>, bool),
}

pub const NAMES: [&str; 4] = ["a", "b", "default", "nobody"];

fn text() -> impl Strategy<Value = String> {
    "[abAB.]{1,3}( [aAé]{1,2})?"
}

fn role() -> impl Strategy<Value = Role> {
    prop::sample::select(vec![Role::User, Role::User, Role::Assistant, Role::Assistant, Role::System])
}

pub fn op() -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    prop_oneof![
        12 => (role(), prop::collection::vec(text(), 1..3)).prop_map(|(role, texts)| Op::Say(role, texts)),
        2 => Just(Op::Call),
        3 => (index(), text()).prop_map(|(call, text)| Op::Answer(call, text)),
        2 => (index(), 0usize..6).prop_map(|(message, bytes)| Op::Hear(message, bytes)),
        2 => (0usize..2).prop_map(Op::Summarise),
        1 => (index(), 0i64..30).prop_map(|(message, ms)| Op::Move(message, ms)),
        6 => (-3i64..5).prop_map(Op::Tick),
    ]
}

pub fn asking() -> impl Strategy<Value = Asking> {
    let maybe = |chance| prop::bool::weighted(chance);
    let roles = prop::sample::subsequence(vec![Role::User, Role::Assistant, Role::Summary, Role::System], 0..3);
    let moment = || prop::option::weighted(0.3, 0i64..40);
    (
        prop::option::weighted(0.3, 0..NAMES.len()),
        roles.prop_map(BTreeSet::from_iter),
        (moment(), moment()),
        prop::option::weighted(0.3, "[abAB.É]{1,2}"),
        (maybe(0.1), any::<Index>()).prop_map(|(is_set, index)| is_set.then_some(index)),
        (prop::option::weighted(0.6, 0usize..8), any::<bool>()),
    )
        .prop_map(|(conversation, roles, range_ms, text, id, at_most)| {
            let range_ms = match range_ms {
                (Some(since), Some(until)) if since > until => (Some(until), Some(since)),
                other => other,
            };
            Asking { conversation, roles, range_ms, text, id, at_most }
        })
}

pub fn histories() -> impl Strategy<Value = Vec<(usize, Op)>> {
    prop::collection::vec((0..NAMES.len() - 1, op()), 1..60)
}

pub fn apply(asked: &Asked, conversation: &Conversation, op: &Op) {
    match op {
        Op::Tick(ms) => asked.clock.advance(*ms),
        op => conversation
            .change(|manager| {
                let messages = manager.meta_messages();
                let some = |index: &Index| (!messages.is_empty()).then(|| messages[index.index(messages.len())].id());
                let made = || messages.iter().flat_map(|wrapper| wrapper.contents()).filter_map(Content::as_tool_call);
                // What is refused leaves no trace.
                match op {
                    Op::Say(role, texts) => drop(manager.add_message(*role, texts.clone())),
                    Op::Call => {
                        let call =
                            ToolCall::new(format!("call_{}", manager.message_count()), "lookup", Value::Null).unwrap();
                        drop(manager.add_assistant(vec![Content::from("b"), call.into()]));
                    }
                    Op::Answer(call, text) => {
                        let made: Vec<ToolCall> = made().cloned().collect();
                        if !made.is_empty() {
                            let json = Value::list([text.as_str()]).unwrap();
                            drop(manager.add_user(made[call.index(made.len())].success([ResultContent::from(json)])));
                        }
                    }
                    Op::Hear(message, bytes) => {
                        if let Some(id) = some(message) {
                            let heard = Heard::bytes(*bytes, HeardSource::Estimate);
                            drop(manager.entry(&id).unwrap().set_heard(heard));
                        }
                    }
                    Op::Summarise(turns) => {
                        if let Some(summarizing) = manager.summarizing_keeping(*turns) {
                            manager.add_summary("ab.", &summarizing).unwrap();
                        }
                    }
                    Op::Move(message, ms) => {
                        if let Some(id) = some(message) {
                            manager.entry(&id).unwrap().set_timing(Timing::Creation, START_MS + ms).unwrap();
                        }
                    }
                    Op::Tick(_) => {}
                }
            })
            .unwrap(),
    }
}

pub fn query(asking: &Asking, said: &[(CallId, Message)]) -> HistoryQuery {
    let mut query = HistoryQuery::default();
    query.conversation = asking.conversation.map(|name| id(NAMES[name]));
    query.roles = asking.roles.clone();
    query.since_ms = asking.range_ms.0.map(|ms| START_MS + ms);
    query.until_ms = asking.range_ms.1.map(|ms| START_MS + ms);
    query.text = asking.text.as_deref().map(Into::into);
    let ids: Vec<_> = said.iter().flat_map(|(_, message)| message.parts()).map(Part::id).collect();
    let some = |index: &Index| (!ids.is_empty()).then(|| ids[index.index(ids.len())]);
    query.id = asking.id.as_ref().and_then(some);
    let (at_most, is_newest_first) = asking.at_most;
    query.limit = at_most;
    if is_newest_first { query.newest_first() } else { query }
}

/// What was found, by what the order goes by.
pub type Place = (i64, MessageId, CallId, Vec<MessageId>);

pub fn places(found: &[Found]) -> Vec<Place> {
    found
        .iter()
        .map(|found| (found.at_ms, found.message.id(), found.conversation.clone(), found.parts.clone()))
        .collect()
}

/// Filter, sort, take.
pub fn answer(query: &HistoryQuery, said: &[(CallId, Message)]) -> Vec<Place> {
    let matches = |message: &Message, part: Part<'_>| {
        query.since_ms.is_none_or(|since| since <= part.created_ms())
            && query.until_ms.is_none_or(|until| part.created_ms() < until)
            && query.id.is_none_or(|id| message.id() == id || part.id() == id)
            && query.text.as_ref().is_none_or(|text| says(part, text))
    };
    let is_newest_first = query.order == QueryOrder::NewestFirst;
    let place = |(conversation, message): &(CallId, Message)| {
        let parts: Vec<_> = message.parts().filter(|part| matches(message, *part)).collect();
        let times = parts.iter().map(|part| part.created_ms());
        let at_ms = if is_newest_first { times.max() } else { times.min() }?;
        Some((at_ms, message.id(), conversation.clone(), parts.into_iter().map(Part::id).collect()))
    };
    let mut found: Vec<Place> = said
        .iter()
        .filter(|(_, message)| !message.is_fake())
        .filter(|(conversation, _)| query.conversation.as_ref().is_none_or(|asked| asked == conversation))
        .filter(|(_, message)| query.roles.is_empty() || query.roles.contains(&message.role()))
        .filter_map(place)
        .collect();
    found.sort();
    if is_newest_first {
        found.reverse();
    }
    found.truncate(query.limit.unwrap_or(usize::MAX));
    found
}

fn says(part: Part<'_>, text: &str) -> bool {
    let mut said: Vec<String> = Vec::new();
    for content in part.contents() {
        match content {
            Content::Text(text) => said.push(text.to_string()),
            Content::ToolResult(result) => {
                let Outcome::Success(contents) = result.outcome() else { panic!("none fails here") };
                let [ResultContent::Json(Value::List(list))] = contents.as_slice() else { panic!("a list each") };
                said.extend(list.iter().map(|item| item.as_str().unwrap().to_owned()));
            }
            _ => {}
        }
    }
    said.iter().any(|said| said.to_lowercase().contains(&text.to_lowercase()))
}

fn said(conversations: &[Conversation]) -> Vec<(CallId, Message)> {
    let messages = |conversation: &Conversation| {
        let list: Vec<PlainMessage> = conversation.read(|manager| manager.meta_messages().to_vec());
        list.into_iter().map(|wrapper| (conversation.id().clone(), wrapper.message().clone())).collect::<Vec<_>>()
    };
    conversations.iter().flat_map(messages).collect()
}

fn check(backend: Backend, cases: u32) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let queries = prop::collection::vec((any::<Index>(), asking()), 1..12);
    proptest!(config, |(history in histories(), queries in queries)| {
        runtime.block_on(async {
            let asked = backend.open().await;
            for name in &NAMES[..3] {
                asked.conversations.get_or_create(&id(name));
            }
            // Queries come between the changes, and behind all of them.
            let asks_at = |step: usize, at: &Index| at.index(history.len() + 1) == step;
            for step in 0..=history.len() {
                for (_, asking) in queries.iter().filter(|(at, _)| asks_at(step, at)) {
                    let said = said(&asked.conversations.list());
                    let query = query(asking, &said);
                    let found = asked.find(&query).await.unwrap();
                    prop_assert_eq!(places(&found), answer(&query, &said), "{:?}", query);
                    let is_whole = |found: &Found| said.contains(&(found.conversation.clone(), found.message.clone()));
                    prop_assert!(found.iter().all(is_whole));
                }
                if let Some((name, op)) = history.get(step) {
                    apply(&asked, &asked.conversations.get(&id(NAMES[*name])).unwrap(), op);
                }
            }
            Ok(())
        })?;
    });
}

#[test]
fn memory_answers_as_the_model_does() {
    check(Backend::Memory, 256);
}

#[test]
fn a_log_in_memory_answers_as_the_model_does() {
    check(Backend::MemoryLog, 128);
}

#[test]
fn files_answer_as_the_model_does() {
    check(Backend::Files, 24);
}

#[test]
fn dynamodb_answers_as_the_model_does() {
    check(Backend::DynamoDb, 12);
}
