//! Follows random histories, each derived from a seed, and reports those that fail.
//!
//! `VERBALE_SEED` is the first seed and `VERBALE_SEEDS` the number of seeds. Set only the first to repeat one history.
//! Other tests include this file with `#[path]`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::timeout;

/// The longest history in virtual time. A longer one waits forever.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// The number of lines printed of a failing seed's journal, from its end.
const LINES: usize = 150;

/// A history that was followed to its end.
pub trait History {
    /// Returns how often each event occurred.
    fn tally(&self) -> BTreeMap<String, u64>;

    /// Returns the last lines of the journal.
    fn journal(&self, lines: usize) -> String;
}

/// Runs one history to its end. Returns why it failed, if it did.
pub fn live(runtime: &Runtime, history: impl Future<Output = ()>) -> Option<String> {
    let history = async { assert!(timeout(LONGEST, history).await.is_ok(), "the history does not end") };
    let panic = catch_unwind(AssertUnwindSafe(|| runtime.block_on(history))).err()?;
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    Some(text.unwrap_or("?").to_owned())
}

/// Returns the seeds that the variables choose, or the first `seeds`.
pub fn chosen(seeds: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (first, count) = (number("VERBALE_SEED"), number("VERBALE_SEEDS"));
    let count = count.unwrap_or(if first.is_some() { 1 } else { seeds });
    let first = first.unwrap_or(0);
    first..first + count
}

/// Follows the histories of all seeds, in parallel, and panics if one fails. `follow` returns why a history failed, and
/// `test` is the test in `cargo test --test …`.
///
/// Returns how often each event occurred, if at least the first `seeds` histories were followed: there each event must
/// occur. Elsewhere a rare one may occur nowhere.
pub fn follow_all<H: History>(
    test: &str,
    seeds: u64,
    follow: impl Fn(u64) -> (H, Option<String>) + Sync,
) -> Option<BTreeMap<String, u64>> {
    let Range { start: first, end } = chosen(seeds);
    let count = end - first;
    let next = AtomicU64::new(first);
    let (tally, failed) = (Mutex::new(BTreeMap::<String, u64>::new()), Mutex::new(BTreeMap::new()));
    let follow_some = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return;
        }
        let (history, failure) = follow(seed);
        for (event, times) in history.tally() {
            *tally.lock().unwrap().entry(event).or_default() += times;
        }
        if let Some(why) = failure {
            let lines = if count == 1 { usize::MAX } else { LINES };
            failed.lock().unwrap().insert(seed, (history.journal(lines), why));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(follow_some);
        }
    });
    let (tally, failed) = (tally.into_inner().unwrap(), failed.into_inner().unwrap());
    if let Some((seed, (story, why))) = failed.iter().next() {
        let reasons: Vec<_> = failed.iter().take(40).map(|(seed, (_, why))| format!("{seed}: {why}")).collect();
        let repeat = format!("VERBALE_SEED={seed} cargo test --test {test} -- --nocapture");
        panic!(
            "{story}\n{why}\n\n{} of {count} seeds fail:\n{}\nrepeat the first one with\n  {repeat}",
            failed.len(),
            reasons.join("\n")
        );
    }
    println!("{count} seeds: {tally:#?}");
    (first == 0 && count >= seeds).then_some(tally)
}

/// Asserts that equal seeds give equal histories, each with more than `least` lines.
pub fn assert_repeatable<H: History>(seeds: u64, least: usize, follow: impl Fn(u64) -> (H, Option<String>)) {
    for seed in 0..seeds {
        let story = |seed| follow(seed).0.journal(usize::MAX);
        let (first, second) = (story(seed), story(seed));
        let differs = first.lines().zip(second.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "seed {seed}");
        assert!(first.len() == second.len() && first.lines().count() > least, "seed {seed}");
    }
}
