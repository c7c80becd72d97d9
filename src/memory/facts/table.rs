//! [`FactTable`]: the facts of a call in the order in which they were found, and the choice of those in the prompt.

use std::collections::HashMap;

use super::WISH;
use super::language::WORDS;
use super::{Fact, FactFinder, FactSource};
use crate::message::Message;

/// The maximum number of facts that are kept. The oldest go first.
const MOST: usize = 4_000;
/// The number of messages that a finder gets with a message.
const EARLIER: usize = 3;

/// The facts of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactTable {
    /// With the `seq` of their message.
    found: Vec<(u32, Fact)>,
    /// The `seq` from which messages were not searched.
    next: u32,
}

/// The latest value of a slot, or one value of a slot with several.
struct Entry<'a> {
    fact: &'a Fact,
    was: Option<&'a str>,
    first: usize,
    last: usize,
    times: usize,
    is_by_caller: bool,
    is_replaced: bool,
}

impl FactTable {
    /// Returns the `seq` of the first message to search again, if those before `seq` are final.
    pub fn searches_from(&self, seq: u32) -> u32 {
        seq.min(self.next)
    }

    /// Notes that the messages from `seq` on were edited.
    pub fn search_again(&mut self, seq: u32) {
        self.next = self.next.min(seq);
    }

    /// Searches the messages from `seq` on again, and all later ones. Facts of messages that left memory stay.
    pub fn update<'a>(&mut self, messages: impl IntoIterator<Item = &'a Message>, from: u32, finder: &dyn FactFinder) {
        let from = from.min(self.next);
        let kept = self.found.partition_point(|(seq, _)| *seq < from);
        self.found.truncate(kept);
        let mut earlier: Vec<&Message> = Vec::new();
        for message in messages {
            let seq = message.position().seq();
            if seq >= from {
                let facts = finder.find(message, &earlier);
                self.found.extend(facts.into_iter().map(|fact| (seq, fact)));
                self.next = self.next.max(seq + 1);
            }
            if earlier.len() == EARLIER {
                earlier.remove(0);
            }
            earlier.push(message);
        }
        let excess = self.found.len().saturating_sub(MOST);
        self.found.drain(..excess);
    }

    /// Returns the values that no correction replaced, oldest first.
    pub fn facts(&self) -> Vec<Fact> {
        let entries = self.entries(u32::MAX);
        let current = entries.into_iter().filter(|entry| !entry.is_replaced);
        current
            .map(|entry| {
                entry.was.map_or_else(|| entry.fact.clone(), |was| entry.fact.clone().replacing(was.to_owned()))
            })
            .collect()
    }

    /// Writes the most important facts of the messages before `seq`, at most `room` bytes of them: the latest and most
    /// repeated ones, the caller's first. `is_shown` returns whether the prompt has a value anyway.
    pub fn text(&self, before: u32, room: usize, is_shown: impl Fn(&str) -> bool) -> Option<String> {
        let entries = self.entries(before);
        let count = entries.len().max(1);
        let mut ranked: Vec<(usize, usize)> = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            if entry.is_replaced || (!entry.is_by_caller && is_shown(entry.fact.value())) {
                continue;
            }
            let of_caller = if entry.fact.slot() == WISH {
                2
            } else if entry.is_by_caller {
                8
            } else {
                0
            };
            let newness = 8 * entry.last / self.found.len().max(1);
            ranked.push((of_caller + newness + entry.times.min(4), index));
        }
        ranked.sort_unstable_by_key(|(rank, index)| (std::cmp::Reverse(*rank), count - index));
        let mut left = room.saturating_sub(HEADS);
        // With the slot, or without it.
        let mut chosen: Vec<(usize, bool)> = Vec::new();
        for (_, index) in ranked {
            let Some(entry) = entries.get(index) else { continue };
            let cost = entry.fact.value().len() + entry.was.map_or(0, |was| was.len() + 18) + 2;
            let slot = if entry.is_by_caller { entry.fact.slot().len() + 1 } else { 0 };
            if cost + slot <= left {
                left -= cost + slot;
                chosen.push((index, slot > 0));
            }
        }
        // The slots of the assistant's facts come after the values of all.
        for (index, has_slot) in &mut chosen {
            let slot = entries.get(*index).map_or(0, |entry| entry.fact.slot().len() + 1);
            if !*has_slot && slot <= left {
                left -= slot;
                *has_slot = true;
            }
        }
        chosen.sort_unstable();
        let chosen = chosen.into_iter().filter_map(|(index, has_slot)| Some((entries.get(index)?, has_slot)));
        let chosen: Vec<(&Entry<'_>, bool)> = chosen.collect();
        let of = |head: &str, is_it: &dyn Fn(&Entry<'_>) -> bool| {
            let entries: Vec<_> = chosen.iter().copied().filter(|(entry, _)| is_it(entry)).collect();
            (!entries.is_empty()).then(|| format!("{head}: {}", list(&entries)))
        };
        let is_wish = |entry: &Entry<'_>| entry.fact.slot() == WISH;
        let lines = [
            of("The caller said", &|entry| entry.is_by_caller && !is_wish(entry)),
            of("The caller's wishes", &is_wish),
            of("The assistant said", &|entry| !entry.is_by_caller && !is_wish(entry)),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Joins equal values and marks those that a correction replaced.
    fn entries(&self, before: u32) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry<'_>> = Vec::new();
        let mut by_value: HashMap<String, usize> = HashMap::new();
        for (at, (_, fact)) in self.found.iter().enumerate().take_while(|(_, (seq, _))| *seq < before) {
            let key = fact.value().to_lowercase();
            let is_by_caller = fact.source() == FactSource::Caller;
            let was = fact.replaces().and_then(|was| replaced(&mut entries, fact, was));
            if let Some(entry) = by_value.get(&key).and_then(|index| entries.get_mut(*index)) {
                // The caller may return to an earlier value.
                entry.is_replaced &= fact.replaces().is_none();
                (entry.last, entry.times) = (at, entry.times + 1);
                entry.was = was.or(entry.was);
                entry.is_by_caller |= is_by_caller;
                if entry.fact.slot().is_empty()
                    || (is_by_caller && !fact.slot().is_empty() && entry.fact.source() != FactSource::Caller)
                {
                    entry.fact = fact;
                }
                continue;
            }
            by_value.insert(key, entries.len());
            entries.push(Entry { fact, was, first: at, last: at, times: 1, is_by_caller, is_replaced: false });
        }
        entries.sort_by_key(|entry| entry.first);
        entries
    }
}

/// The length of the words before the facts.
const HEADS: usize = 60;

/// Marks the value that a correction replaces, and returns it: the one it names, or the caller's last value of the slot
/// and the same form.
fn replaced<'a>(entries: &mut [Entry<'a>], fact: &Fact, was: &str) -> Option<&'a str> {
    let is_it = |entry: &&mut Entry<'a>| {
        if !was.is_empty() {
            return entry.fact.value() == was;
        }
        entry.is_by_caller
            && !entry.is_replaced
            && entry.fact.slot() != WISH
            && !entry.fact.value().eq_ignore_ascii_case(fact.value())
            && form(entry.fact.value()) == form(fact.value())
            && (entry.fact.slot() == fact.slot() || fact.slot().is_empty() || entry.fact.slot().is_empty())
    };
    let entry = entries.iter_mut().rev().find(is_it)?;
    entry.is_replaced = true;
    // A code that was spelled on is no correction.
    Some(entry.fact.value()).filter(|_| was.is_empty())
}

/// Returns the form of a value: which kinds of characters it has, whether it is a date, and the noun after a number.
fn form(value: &str) -> (bool, bool, bool, bool, Option<String>) {
    let has = |is_it: fn(char) -> bool| value.contains(is_it);
    let lower = value.to_lowercase();
    let is_date = lower.split(' ').any(|word| WORDS.months.contains(word) || WORDS.days.contains(word));
    let starts_with_number = lower.starts_with(|c: char| c.is_numeric());
    let noun =
        lower.rsplit(' ').next().filter(|word| starts_with_number && !is_date && word.chars().all(char::is_alphabetic));
    let noun = noun.map(|noun| noun.trim_end_matches('s').to_owned());
    (has(|c| c.is_numeric()), has(char::is_alphabetic), has(|c| c == '@' || c == '_'), is_date, noun)
}

/// Writes `slot=value, value; value (corrected, was other)`.
fn list(entries: &[(&Entry<'_>, bool)]) -> String {
    let mut text = String::new();
    let mut slot = None;
    for (entry, has_slot) in entries {
        let fact = entry.fact;
        let named = if fact.slot() == WISH || !has_slot { "" } else { fact.slot() };
        match slot {
            None => {}
            Some(last) if last == named && !named.is_empty() => text.push_str(", "),
            Some(_) => text.push_str("; "),
        }
        if slot != Some(named) && !named.is_empty() {
            text.extend([named, "="]);
        }
        text.push_str(fact.value());
        if let Some(was) = entry.was {
            text.extend([" (corrected, was ", was, ")"]);
        }
        slot = Some(named);
    }
    text
}
