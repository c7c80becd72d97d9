//! [`Folded`]: the latest values of the facts of a call, in little memory.

mod forms;

use std::num::NonZeroU16;

use super::choice::holds;
use super::{Fact, FactSource, LIMIT, WISH};
use forms::{drops_year, is_code, is_dictated, is_piece};
pub(super) use forms::{form, is_numeric};

/// How many values the caller can say between a value and its correction, if neither has a slot.
const RECENT: usize = 3;

/// The rank of a number, code or e-mail address that the caller dictated: an old one outlives a new wish.
const DICTATED: u32 = 14;

/// How many more words than its correction a value can have. The end of a longer one may be meant: "58 at the end".
const MORE_WORDS: usize = 3;

/// Clauses with wishes, refusals and constraints, which are long and frequent, take at most this part of the room.
const CLAUSES: usize = 3;

/// The facts up to some message, folded: each value once, with the value that it corrects.
///
/// The words take at most a given number of bytes. The values with the lowest rank are removed first, so that the same
/// facts fold to the same values, however the folding is split into steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folded {
    /// The slot, value and corrected value of each entry, one after the other.
    words: String,
    /// In the order in which the values were first found.
    entries: Vec<Entry>,
    /// The number of facts that were found.
    count: u32,
}

/// Small, because a call has about a hundred.
#[derive(Debug, Clone)]
struct Entry {
    /// The number of the fact that was found last.
    last: u32,
    /// The lengths in the words, in bytes.
    slot: u16,
    value: u16,
    was: Option<NonZeroU16>,
    times: u8,
    source: FactSource,
    is_by_caller: bool,
    is_replaced: bool,
    /// Whether the caller dictated it, and would have to again.
    is_dictated: bool,
}

/// A value of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub slot: &'a str,
    pub value: &'a str,
    /// The value that this one corrects.
    pub was: Option<&'a str>,
    pub is_by_caller: bool,
    /// Whether a correction replaced it.
    pub is_replaced: bool,
    /// A higher rank matters more: the latest and most repeated values, ids and the caller's first.
    pub rank: u32,
    /// The number of the fact that was found last.
    pub last: u32,
    source: FactSource,
}

impl Known<'_> {
    /// Returns whether it is a clause with a wish, a refusal or a constraint.
    pub fn is_wish(&self) -> bool {
        is_wish(self.slot)
    }

    /// Returns what a later value of the caller replaces without announcing a correction: the slot, or the noun of a
    /// number.
    pub fn subject(&self) -> Option<String> {
        let noun = form(self.value).4;
        let slot = Some(self.slot).filter(|slot| !slot.is_empty()).map(str::to_owned);
        noun.or(slot).filter(|_| self.is_by_caller && !self.is_wish())
    }

    pub fn to_fact(self) -> Fact {
        let fact = Fact::new(self.slot, self.value, self.source);
        self.was.map(|was| fact.clone().replacing(was)).unwrap_or(fact)
    }
}

impl Folded {
    /// Iterates over the values, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Known<'_>> {
        let mut words = self.words.as_str();
        self.entries.iter().map(move |entry| {
            let (own, rest) = words.split_at_checked(entry.length()).unwrap_or_default();
            words = rest;
            self.known(entry, own)
        })
    }

    /// Adds facts in the order in which they were found. Keeps at most `most` bytes of words, a third of them clauses.
    /// Ignores a fact that is longer.
    pub fn extend<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>, most: usize) {
        let longest = most.min(usize::from(u16::MAX));
        for fact in facts.into_iter().filter(|fact| fact.slot().len() + fact.value().len() <= longest) {
            self.add(fact);
            while self.words.len() > most && self.evict(|_| true) {}
            while self.clauses() > most / CLAUSES && self.evict(|known| known.is_wish()) {}
        }
        self.words.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    /// Adds a fact to the entry of the same value, or in a new one.
    fn add(&mut self, fact: &Fact) {
        let was = fact.replaces().and_then(|was| self.returned(fact).or_else(|| self.replaced(fact, was)));
        let is_by_caller = fact.source() == FactSource::Caller;
        let dictates = |slot: &str, value: &str| is_by_caller && !is_wish(slot) && is_dictated(value);
        self.count += 1;
        let last = self.count;
        let Some(index) = self.iter().position(|known| is_equal(known.value, fact.value())) else {
            let entry = Entry {
                last,
                slot: length(fact.slot()),
                value: length(fact.value()),
                was: was.as_deref().map(length).and_then(NonZeroU16::new),
                times: 1,
                source: fact.source(),
                is_by_caller,
                is_replaced: false,
                is_dictated: dictates(fact.slot(), fact.value()),
            };
            self.words.extend([fact.slot(), fact.value(), was.as_deref().unwrap_or_default()]);
            self.entries.push(entry);
            return;
        };
        let (Some(entry), Some(known)) = (self.entries.get(index).cloned(), self.iter().nth(index)) else { return };
        let is_named =
            known.slot.is_empty() || (is_by_caller && !fact.slot().is_empty() && entry.source != FactSource::Caller);
        let (slot, value) = if is_named { (fact.slot(), fact.value()) } else { (known.slot, known.value) };
        let was = was.as_deref().or(known.was);
        let words = [slot, value, was.unwrap_or_default()].concat();
        let new = Entry {
            slot: length(slot),
            value: length(value),
            was: was.map(length).and_then(NonZeroU16::new),
            last,
            times: entry.times.saturating_add(1),
            source: if is_named { fact.source() } else { entry.source },
            is_by_caller: entry.is_by_caller || is_by_caller,
            // The caller may return to an earlier value.
            is_replaced: entry.is_replaced && fact.replaces().is_none(),
            is_dictated: entry.is_dictated || dictates(known.slot, known.value),
        };
        self.set_words(index, &words);
        if let Some(entry) = self.entries.get_mut(index) {
            *entry = new;
        }
    }

    /// If a correction returns to a value that was corrected, marks the value that had replaced it, and returns that.
    fn returned(&mut self, fact: &Fact) -> Option<String> {
        let has_replaced =
            |known: &Known<'_>| !known.is_replaced && known.was.is_some_and(|was| is_equal(was, fact.value()));
        let (index, value) = self
            .iter()
            .enumerate()
            .filter(|(_, known)| has_replaced(known))
            .map(|(index, known)| (index, known.value.to_owned()))
            .last()?;
        self.entries.get_mut(index)?.is_replaced = true;
        Some(value)
    }

    /// Marks the value that a correction replaces, and returns it: the value that the correction names, or the caller's
    /// last value of the same slot and form.
    fn replaced(&mut self, fact: &Fact, was: &str) -> Option<String> {
        // Without a slot, only what the caller said just before can be meant.
        let is_recent = |known: &Known<'_>| {
            let newer = |other: &Known<'_>| other.is_by_caller && !other.is_wish() && other.last > known.last;
            self.iter().filter(newer).count() <= RECENT
        };
        let is_it = |known: &Known<'_>| {
            if is_equal(known.value, was) {
                return true;
            }
            let is_piece = is_piece(fact.value(), known.value);
            let is_like = match was {
                "" => is_piece || (form(known.value) == form(fact.value()) && !drops_year(known.value, fact.value())),
                // "Not the eighth" corrects "the eighth of May" as well.
                was => holds(&known.value.to_lowercase(), &was.to_lowercase()),
            };
            let is_open = known.is_by_caller && !known.is_replaced && !known.is_wish();
            let is_short = is_piece || words(known.value) <= words(fact.value()) + MORE_WORDS;
            let has_slot = known.slot == fact.slot() && !known.slot.is_empty();
            let may_have_slot = !was.is_empty()
                || known.slot == fact.slot()
                || ((fact.slot().is_empty() || known.slot.is_empty()) && is_numeric(known.value));
            is_open
                && is_like
                && is_short
                && !known.value.eq_ignore_ascii_case(fact.value())
                && (has_slot || (may_have_slot && is_recent(known)))
        };
        let mut found: Vec<(usize, String)> = self
            .iter()
            .enumerate()
            .filter(|(_, known)| is_it(known))
            .map(|(index, known)| (index, known.value.to_owned()))
            .collect();
        // A correction that names no value corrects the one that was mentioned last, by the assistant too.
        if was.is_empty() {
            let last = |(index, _): &(usize, String)| self.entries.get(*index).map(|entry| entry.last);
            found = found.into_iter().max_by_key(last).into_iter().collect();
        }
        for (index, _) in &found {
            self.entries.get_mut(*index)?.is_replaced = true;
        }
        // A code that the caller continues to spell is not a correction.
        let is_continued = !was.is_empty() && fact.value().starts_with(was);
        let longest = found.into_iter().map(|(_, value)| value).max_by_key(String::len);
        longest.filter(|_| !is_continued)
    }

    /// Returns the length of the clauses with wishes, refusals and constraints, in bytes.
    fn clauses(&self) -> usize {
        self.entries.iter().zip(self.iter()).filter(|(_, known)| known.is_wish()).map(|(entry, _)| entry.length()).sum()
    }

    /// Removes a value that can go: a replaced one, or that of the lowest rank, the oldest first. Returns whether one could.
    fn evict(&mut self, can_go: impl Fn(&Known<'_>) -> bool) -> bool {
        let rank = |known: &Known<'_>| if known.is_replaced { 0 } else { known.rank + 1 };
        let among = self.iter().enumerate().filter(|(_, known)| can_go(known));
        let Some((index, _)) = among.min_by_key(|(_, known)| rank(known)) else { return false };
        self.set_words(index, "");
        self.entries.remove(index);
        true
    }

    /// Replaces the words of an entry.
    fn set_words(&mut self, index: usize, words: &str) {
        let start: usize = self.entries.iter().take(index).map(Entry::length).sum();
        let end = start + self.entries.get(index).map_or(0, Entry::length);
        self.words.replace_range(start..end, words);
    }

    fn known<'a>(&self, entry: &Entry, words: &'a str) -> Known<'a> {
        let (slot, rest) = words.split_at_checked(entry.slot.into()).unwrap_or_default();
        let (value, was) = rest.split_at_checked(entry.value.into()).unwrap_or_default();
        let of_kind = match slot {
            WISH => 0,
            LIMIT => 8,
            _ if entry.is_dictated => DICTATED,
            // The caller's next words may refer to an id that the assistant said.
            _ if entry.is_by_caller || is_code(value) => 8,
            _ => 0,
        };
        // An old value of the caller outlives a new wish.
        let newest = if slot == WISH { 4 } else { 8 };
        let newness = u64::from(entry.last) * newest / u64::from(self.count.max(1));
        Known {
            slot,
            value,
            was: entry.was.map(|_| was),
            is_by_caller: entry.is_by_caller,
            is_replaced: entry.is_replaced,
            rank: of_kind + newness as u32 + u32::from(entry.times.min(4)),
            last: entry.last,
            source: entry.source,
        }
    }
}

impl Entry {
    /// The length of its words in bytes.
    fn length(&self) -> usize {
        usize::from(self.slot) + usize::from(self.value) + self.was.map_or(0, |was| usize::from(was.get()))
    }
}

/// Returns whether a slot is of a clause with a wish, a refusal or a constraint.
fn is_wish(slot: &str) -> bool {
    slot == WISH || slot == LIMIT
}

/// Returns the length of a text in bytes. [`Folded::extend`] takes no longer ones.
fn length(text: &str) -> u16 {
    u16::try_from(text.len()).unwrap_or(u16::MAX)
}

/// Returns whether two values are equal, ignoring case.
fn is_equal(one: &str, other: &str) -> bool {
    one == other || one.chars().flat_map(char::to_lowercase).eq(other.chars().flat_map(char::to_lowercase))
}

fn words(value: &str) -> usize {
    value.split(' ').count()
}
