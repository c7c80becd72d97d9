//! WQ: queries over 1,000 conversations of 100 turns. The baseline is a scan over a `Vec` of (time, id, role, text) with
//! the same results. The calls overlap: one begins every 20 seconds, and a turn takes 6 seconds.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "not part of the library")]

mod workload;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use criterion::{Criterion, criterion_group, criterion_main};
use regex::{Regex, RegexBuilder};
use verbale::clock::{IdSource, ManualClock};
use verbale::conversation::{Conversations, HistoryQuery};
use verbale::log::CallId;
use verbale::{MessageId, Role, Timing};
use workload::Words;

const CALLS: u64 = 1_000;
const TURNS: u64 = 100;
const START_MS: i64 = 1_744_815_823_058;
const BETWEEN_CALLS_MS: i64 = 20_000;
const TURN_MS: i64 = 6_000;
/// A word that occurs in only one call.
const RARE: &str = "Reykjavík";

/// Ids like those of `SystemIds`: a time and a random number.
#[derive(Debug, Default)]
struct TimedIds(AtomicU64);

impl IdSource for TimedIds {
    fn next_id(&self, now_ms: i64) -> u128 {
        let number = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        u128::from(now_ms.unsigned_abs()) << 80 | u128::from(number)
    }
}

struct Said {
    at_ms: i64,
    id: u128,
    call: usize,
    role: Role,
    text: String,
}

fn conversations() -> Conversations {
    let words = Words::new();
    let clock = ManualClock::new(0);
    let conversations = Conversations::default().with_clock(Arc::new(clock.clone()), Arc::new(TimedIds::default()));
    for call in 0..CALLS {
        let conversation = conversations.get_or_create(&name(call as usize));
        conversation
            .change(|manager| {
                for turn in 0..TURNS {
                    clock.set(START_MS + call as i64 * BETWEEN_CALLS_MS + turn as i64 * TURN_MS);
                    manager.add_user(words.text(call, 4 * turn, 12)).unwrap();
                    clock.advance(TURN_MS / 2);
                    let rare = if (call, turn) == (CALLS / 2, TURNS / 2) { RARE } else { "" };
                    manager.add_assistant(format!("{}{rare}", words.text(call, 4 * turn + 2, 25))).unwrap();
                }
            })
            .unwrap();
    }
    conversations
}

fn name(call: usize) -> CallId {
    CallId::new(format!("call-{call:04}")).unwrap()
}

/// Returns the same messages as a plain list, in order.
fn plain(conversations: &Conversations) -> Vec<Said> {
    let mut said = Vec::new();
    for (call, conversation) in conversations.list().iter().enumerate() {
        conversation.read(|manager| {
            said.extend(manager.meta_messages().iter().map(|message| Said {
                at_ms: message.metadata().timing(Timing::Creation).unwrap(),
                id: message.id().into(),
                call,
                role: message.role(),
                text: message.contents()[0].as_text().unwrap().to_string(),
            }));
        });
    }
    said.sort_by_key(|said| (said.at_ms, said.id));
    said
}

/// Filters, sorts and takes, as a service with such a list would. It copies the results, because the list keeps growing.
fn scan(said: &[Said], recent: Option<usize>, is_asked_for: impl Fn(&Said) -> bool) -> Vec<Copied> {
    let mut found: Vec<&Said> = said.iter().filter(|said| is_asked_for(said)).collect();
    found.sort_by_key(|said| (said.at_ms, said.id));
    let first = recent.map_or(0, |recent| found.len().saturating_sub(recent));
    found[first..].iter().map(|said| (said.at_ms, said.id, said.role, said.text.clone())).collect()
}

type Copied = (i64, u128, Role, String);

fn finder(text: &str) -> Regex {
    RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().unwrap()
}

fn queries(c: &mut Criterion) {
    let conversations = conversations();
    let said = plain(&conversations);
    assert_eq!(said.len(), 2 * (CALLS * TURNS) as usize);
    let middle_ms = START_MS + (CALLS / 2) as i64 * BETWEEN_CALLS_MS;
    let (since_ms, until_ms) = (middle_ms, middle_ms + 60_000);
    let some_id = said[said.len() / 2].id;
    let one = CALLS as usize / 3;
    let all = HistoryQuery::default;

    type Scan<'a> = Box<dyn Fn() -> Vec<Copied> + 'a>;
    let cases: Vec<(&str, HistoryQuery, Scan<'_>)> = vec![
        ("conversation", all().with_conversation(name(one)), Box::new(|| scan(&said, None, |said| said.call == one))),
        (
            "range_of_a_minute",
            all().with_since_ms(since_ms).with_until_ms(until_ms),
            Box::new(|| scan(&said, None, |said| (since_ms..until_ms).contains(&said.at_ms))),
        ),
        ("role", all().with_role(Role::User), Box::new(|| scan(&said, None, |said| said.role == Role::User))),
        (
            "role_never_seen",
            all().with_role(Role::Summary),
            Box::new(|| scan(&said, None, |said| said.role == Role::Summary)),
        ),
        (
            "text_rare",
            all().with_text(RARE.to_uppercase()),
            Box::new(|| {
                let finder = finder(&RARE.to_uppercase());
                scan(&said, None, |said| finder.is_match(&said.text))
            }),
        ),
        (
            "text_frequent",
            all().with_text("Invoice"),
            Box::new(|| {
                let finder = finder("Invoice");
                scan(&said, None, |said| finder.is_match(&said.text))
            }),
        ),
        (
            "text_frequent_recent_10",
            all().with_text("Invoice").newest_first().with_limit(10),
            Box::new(|| {
                let finder = finder("Invoice");
                scan(&said, Some(10), |said| finder.is_match(&said.text))
            }),
        ),
        ("recent_10", all().newest_first().with_limit(10), Box::new(|| scan(&said, Some(10), |_| true))),
        ("id", all().with_id(MessageId::from(some_id)), Box::new(|| scan(&said, None, |said| said.id == some_id))),
    ];
    for (what, query, scan) in cases {
        let (found, expected) = (conversations.query(&query).unwrap(), scan());
        let ids = found.iter().map(|found| u128::from(found.message.id()));
        assert!(ids.eq(expected.iter().map(|said| said.1)), "the results of {what} differ");

        let mut group = c.benchmark_group(format!("query_{what}_{}_found", expected.len()));
        group.bench_function("floor", |b| b.iter(&scan));
        group.bench_function("verbale", |b| b.iter(|| conversations.query(&query).unwrap()));
        group.finish();
    }
}

criterion_group!(benches, queries);
criterion_main!(benches);
