//! Random histories of several conversations: memory, every log and a naive model return the same results.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use verbale::conversation::{Conversation, Found, HistoryQuery};
use verbale::log::CallId;
use verbale::message::{Part, ResultContent};
use verbale::{
    Content, Heard, HeardSource, Message, MessageId, MessageWrapper, PlainMessage, Role, Timing, ToolCall, Value,
};

use super::backend::{Backend, Fixture, START_MS, id};

/// An operation on one of the conversations.
#[derive(Debug, Clone)]
pub enum Op {
    Say(Role, Vec<String>),
    Call,
    /// Adds the result of some call, which may have one already.
    Answer(Index, String),
    /// Sets the heard text.
    Hear(Index, usize),
    /// Adds a summary that keeps this number of turns.
    Summarize(usize),
    /// Corrects the time of a message.
    Move(Index, i64),
    /// Moves the clock, possibly back.
    Tick(i64),
}

/// The specification of a query, which depends on the messages.
#[derive(Debug, Clone)]
pub struct QuerySpec {
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
        2 => (0usize..2).prop_map(Op::Summarize),
        1 => (index(), 0i64..30).prop_map(|(message, ms)| Op::Move(message, ms)),
        6 => (-3i64..5).prop_map(Op::Tick),
    ]
}

pub fn query_specs() -> impl Strategy<Value = QuerySpec> {
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
            QuerySpec { conversation, roles, range_ms, text, id, at_most }
        })
}

pub fn histories() -> impl Strategy<Value = Vec<(usize, Op)>> {
    prop::collection::vec((0..NAMES.len() - 1, op()), 1..60)
}

pub fn apply(fixture: &Fixture, conversation: &Conversation, op: &Op) {
    match op {
        Op::Tick(ms) => fixture.clock.advance(*ms),
        op => conversation
            .change(|manager| {
                let messages = manager.meta_messages();
                let some = |index: &Index| (!messages.is_empty()).then(|| messages[index.index(messages.len())].id());
                let made = || messages.iter().flat_map(|wrapper| wrapper.contents()).filter_map(Content::as_tool_call);
                // A refused change leaves no trace.
                match op {
                    Op::Say(role, texts) => drop(manager.add(verbale::Draft::new(*role, texts.clone()))),
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
                            let heard = Heard::new(*bytes, HeardSource::Estimate);
                            drop(manager.entry(&id).unwrap().set_heard(heard));
                        }
                    }
                    Op::Summarize(turns) => {
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

/// A query with readable conditions.
#[derive(Debug)]
pub struct Query {
    conversation: Option<CallId>,
    roles: BTreeSet<Role>,
    since_ms: Option<i64>,
    until_ms: Option<i64>,
    text: Option<String>,
    id: Option<MessageId>,
    limit: Option<usize>,
    is_newest_first: bool,
}

impl QuerySpec {
    pub fn resolve(&self, said: &[(CallId, Message)]) -> Query {
        let ids: Vec<_> = said.iter().flat_map(|(_, message)| message.parts()).map(Part::id).collect();
        let some = |index: &Index| (!ids.is_empty()).then(|| ids[index.index(ids.len())]);
        Query {
            conversation: self.conversation.map(|name| id(NAMES[name])),
            roles: self.roles.clone(),
            since_ms: self.range_ms.0.map(|ms| START_MS + ms),
            until_ms: self.range_ms.1.map(|ms| START_MS + ms),
            text: self.text.clone(),
            id: self.id.as_ref().and_then(some),
            limit: self.at_most.0,
            is_newest_first: self.at_most.1,
        }
    }
}

impl Query {
    pub fn build(&self) -> HistoryQuery {
        let with = |query: HistoryQuery, role: &Role| query.with_role(*role);
        let mut query = self.roles.iter().fold(HistoryQuery::default(), with);
        if let Some(conversation) = &self.conversation {
            query = query.with_conversation(conversation.clone());
        }
        if let Some(since_ms) = self.since_ms {
            query = query.with_since_ms(since_ms);
        }
        if let Some(until_ms) = self.until_ms {
            query = query.with_until_ms(until_ms);
        }
        if let Some(text) = &self.text {
            query = query.with_text(text.as_str());
        }
        if let Some(id) = self.id {
            query = query.with_id(id);
        }
        if let Some(limit) = self.limit {
            query = query.with_limit(limit);
        }
        if self.is_newest_first { query.newest_first() } else { query }
    }
}

/// The sort key of a result, and its parts.
pub type Place = (i64, MessageId, CallId, Vec<MessageId>);

pub fn places(found: &[Found]) -> Vec<Place> {
    found
        .iter()
        .map(|found| (found.at_ms, found.message.id(), found.conversation.clone(), found.parts.clone()))
        .collect()
}

/// The naive model: filter, sort, take.
pub fn answer(query: &Query, said: &[(CallId, Message)]) -> Vec<Place> {
    let matches = |message: &Message, part: Part<'_>| {
        query.since_ms.is_none_or(|since| since <= part.created_ms())
            && query.until_ms.is_none_or(|until| part.created_ms() < until)
            && query.id.is_none_or(|id| message.id() == id || part.id() == id)
            && query.text.as_ref().is_none_or(|text| contains(part, text))
    };
    let is_newest_first = query.is_newest_first;
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

fn contains(part: Part<'_>, text: &str) -> bool {
    let mut texts: Vec<String> = Vec::new();
    for content in part.contents() {
        match content {
            Content::Text(text) => texts.push(text.to_string()),
            Content::ToolResult(result) => match result.outcome() {
                Ok(contents) => {
                    let [ResultContent::Json(Value::List(list))] = contents.as_slice() else {
                        panic!("unexpected result")
                    };
                    texts.extend(list.iter().map(|item| item.as_str().unwrap().to_owned()));
                }
                // A fork ends the calls that it inherited without a result.
                Err(error) => texts.push(error.message().to_owned()),
            },
            _ => {}
        }
    }
    texts.iter().any(|candidate| candidate.to_lowercase().contains(&text.to_lowercase()))
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
    let queries = prop::collection::vec((any::<Index>(), query_specs()), 1..12);
    proptest!(config, |(history in histories(), queries in queries)| {
        runtime.block_on(async {
            let fixture = backend.open().await;
            for name in &NAMES[..3] {
                fixture.conversations.get_or_create(&id(name));
            }
            // Queries run between the changes, and after all of them.
            let is_due = |step: usize, at: &Index| at.index(history.len() + 1) == step;
            for step in 0..=history.len() {
                for (_, spec) in queries.iter().filter(|(at, _)| is_due(step, at)) {
                    let said = said(&fixture.conversations.list());
                    let query = spec.resolve(&said);
                    let found = fixture.find(&query.build()).await.unwrap();
                    prop_assert_eq!(places(&found), answer(&query, &said), "{:?}", query);
                    let is_complete = |found: &Found| said.contains(&(found.conversation.clone(), found.message.clone()));
                    prop_assert!(found.iter().all(is_complete));
                }
                if let Some((name, op)) = history.get(step) {
                    apply(&fixture, &fixture.conversations.get(&id(NAMES[*name])).unwrap(), op);
                }
            }
            Ok(())
        })?;
    });
}

#[test]
fn memory_agrees_with_the_model() {
    check(Backend::Memory, 256);
}

#[test]
fn memory_log_agrees_with_the_model() {
    check(Backend::MemoryLog, 128);
}

#[test]
fn files_agree_with_the_model() {
    check(Backend::Files, 24);
}

#[test]
fn dynamodb_agrees_with_the_model() {
    check(Backend::DynamoDb, 12);
}
