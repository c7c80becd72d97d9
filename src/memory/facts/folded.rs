//! [`Folded`]: the latest values of the facts of a call, in little memory.

use super::language::WORDS;
use super::{Fact, FactSource, LIMIT, WISH};

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

#[derive(Debug, Clone)]
struct Entry {
    /// The offset in the words, and the lengths there, in bytes.
    start: u32,
    slot: u32,
    value: u32,
    was: Option<u32>,
    /// The number of the fact that was found last.
    last: u32,
    times: u8,
    source: FactSource,
    is_by_caller: bool,
    is_replaced: bool,
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
        self.slot == WISH || self.slot == LIMIT
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
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Known<'_>> {
        self.entries.iter().map(|entry| self.known(entry))
    }

    /// Adds facts in the order in which they were found. Keeps at most `most` bytes of words.
    pub fn extend<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>, most: usize) {
        for fact in facts {
            self.add(fact);
            while self.words.len() > most {
                self.evict();
            }
        }
        self.words.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    /// Adds a fact to the entry of the same value, or in a new one.
    fn add(&mut self, fact: &Fact) {
        let was = fact.replaces().and_then(|was| self.replaced(fact, was));
        let is_by_caller = fact.source() == FactSource::Caller;
        self.count += 1;
        let last = self.count;
        let Some(index) = self.iter().position(|known| is_equal(known.value, fact.value())) else {
            let entry = Entry {
                start: length(&self.words),
                slot: length(fact.slot()),
                value: length(fact.value()),
                was: was.as_deref().map(length),
                last,
                times: 1,
                source: fact.source(),
                is_by_caller,
                is_replaced: false,
            };
            self.words.extend([fact.slot(), fact.value(), was.as_deref().unwrap_or_default()]);
            self.entries.push(entry);
            return;
        };
        let Some(entry) = self.entries.get(index).cloned() else { return };
        let known = self.known(&entry);
        let is_named =
            known.slot.is_empty() || (is_by_caller && !fact.slot().is_empty() && entry.source != FactSource::Caller);
        let (slot, value) = if is_named { (fact.slot(), fact.value()) } else { (known.slot, known.value) };
        let was = was.as_deref().or(known.was);
        let words = [slot, value, was.unwrap_or_default()].concat();
        let new = Entry {
            slot: length(slot),
            value: length(value),
            was: was.map(length),
            last,
            times: entry.times.saturating_add(1),
            source: if is_named { fact.source() } else { entry.source },
            is_by_caller: entry.is_by_caller || is_by_caller,
            // The caller may return to an earlier value.
            is_replaced: entry.is_replaced && fact.replaces().is_none(),
            ..entry
        };
        self.set_words(index, &words);
        if let Some(entry) = self.entries.get_mut(index) {
            *entry = Entry { start: entry.start, ..new };
        }
    }

    /// Marks the value that a correction replaces, and returns it: the value that the correction names, or the caller's
    /// last value of the same slot and form.
    fn replaced(&mut self, fact: &Fact, was: &str) -> Option<String> {
        let is_it = |known: &Known<'_>| {
            if !was.is_empty() {
                return known.value == was;
            }
            known.is_by_caller
                && !known.is_replaced
                && !known.is_wish()
                && !known.value.eq_ignore_ascii_case(fact.value())
                && form(known.value) == form(fact.value())
                && (known.slot == fact.slot()
                    || ((fact.slot().is_empty() || known.slot.is_empty())
                        && known.value.contains(|c: char| c.is_numeric())))
        };
        let (index, known) = self.iter().enumerate().filter(|(_, known)| is_it(known)).last()?;
        // A code that the caller continues to spell is not a correction.
        let corrected = was.is_empty().then(|| known.value.to_owned());
        self.entries.get_mut(index)?.is_replaced = true;
        corrected
    }

    /// Removes the value with the lowest rank. Replaced ones go first, then the oldest.
    fn evict(&mut self) {
        let ranks = self.iter().map(|known| if known.is_replaced { 0 } else { known.rank + 1 });
        let Some((index, _)) = ranks.enumerate().min_by_key(|(_, rank)| *rank) else { return self.words.clear() };
        self.set_words(index, "");
        self.entries.remove(index);
    }

    /// Replaces the words of an entry, and moves those of later ones.
    fn set_words(&mut self, index: usize, words: &str) {
        let Some(entry) = self.entries.get(index) else { return };
        let (start, end) = (entry.start, entry.end());
        self.words.replace_range(start as usize..end as usize, words);
        for later in self.entries.iter_mut().skip(index + 1) {
            later.start = later.start - (end - start) + length(words);
        }
    }

    fn known(&self, entry: &Entry) -> Known<'_> {
        let words = self.words.get(entry.start as usize..entry.end() as usize).unwrap_or_default();
        let (slot, rest) = words.split_at_checked(entry.slot as usize).unwrap_or_default();
        let (value, was) = rest.split_at_checked(entry.value as usize).unwrap_or_default();
        let of_kind = match slot {
            WISH => 0,
            LIMIT => 7,
            // What the caller says next may refer to an id that the assistant said.
            _ if entry.is_by_caller || is_code(value) => 8,
            _ => 0,
        };
        let newness = u64::from(entry.last) * 8 / u64::from(self.count.max(1));
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
    fn end(&self) -> u32 {
        self.start + self.slot + self.value + self.was.unwrap_or_default()
    }
}

/// Returns the length of a text in bytes. The words of a call have less than 4 GB.
fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

/// Returns whether two values are equal, ignoring case.
fn is_equal(one: &str, other: &str) -> bool {
    one == other || one.chars().flat_map(char::to_lowercase).eq(other.chars().flat_map(char::to_lowercase))
}

/// Returns whether a value is one word of letters and digits, such as an id.
fn is_code(value: &str) -> bool {
    value.contains(char::is_alphabetic) && value.contains(char::is_numeric) && !value.contains(' ')
}

/// Returns the form of a value: its kinds of characters, whether it is a date, and the noun after a number.
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
