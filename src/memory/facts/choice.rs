//! The choice of the facts in the prompt, and their text.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;

use super::folded::{Folded, Known, is_numeric};
use super::language::WORDS;
use super::tokens::CURRENCIES;
use super::{LIMIT, WISH, moment};

/// The length of the words before the facts.
const HEADS: usize = 60;
/// How many ranks lower an earlier value of the same thing is.
const EARLIER: i64 = 4;

impl Folded {
    /// Returns the values that no correction has replaced, oldest first.
    pub fn facts(&self) -> Vec<super::Fact> {
        self.iter().filter(|known| !known.is_replaced).map(Known::to_fact).collect()
    }

    /// Writes the most important facts in at most `room` bytes: the latest and most repeated ones, ids and the caller's first.
    /// `is_shown` returns whether the prompt already has a value.
    pub fn text(&self, room: usize, is_shown: impl Fn(&str) -> bool) -> Option<String> {
        let known: Vec<Known<'_>> = self.iter().collect();
        let mut ranked: Vec<(i64, usize, &Known<'_>)> = Vec::new();
        let mut newest_first: Vec<(usize, &Known<'_>)> = known.iter().enumerate().collect();
        newest_first.sort_by_key(|(_, known)| Reverse(known.last));
        let mut subjects = HashSet::new();
        for (index, known) in newest_first {
            let is_code = known.value.contains(|c: char| c.is_numeric()) && known.was.is_none();
            let is_told = (!known.is_by_caller || is_code) && is_shown(&number(known.value));
            let is_latest = known.subject().is_none_or(|subject| subjects.insert(subject));
            if !known.is_replaced && !is_told {
                ranked.push((rank(known, is_latest), index, known));
            }
        }
        ranked.sort_by_key(|(rank, index, _)| Reverse((*rank, *index)));
        // Clauses beyond half of the room come after all values.
        let mut clauses = 0;
        let (ranked, later): (Vec<_>, Vec<_>) = ranked.into_iter().partition(|(.., known)| {
            clauses += if known.is_wish() { known.value.len() + 2 } else { 0 };
            !known.is_wish() || clauses <= room / 2
        });
        let mut left = room.saturating_sub(HEADS);
        // The index, the value, and whether it is written with its slot.
        let mut chosen: Vec<(usize, &Known<'_>, bool)> = Vec::new();
        let (mut moments, mut wished) = (HashSet::new(), HashSet::new());
        for (_, index, known) in ranked.into_iter().chain(later) {
            let is_repeated = match known.is_wish() {
                true => says_nothing_new(known.value, &wished),
                false => moment(known.value).is_some_and(|moment| known.was.is_none() && moments.contains(&moment)),
            };
            if is_repeated {
                continue;
            }
            // A number means little without its slot.
            let needs_slot = known.is_by_caller && is_numeric(known.value);
            let is_part = |of: &str| !known.is_wish() && known.was.is_none() && holds(of, known.value);
            if chosen.iter().any(|(_, chosen, _)| is_part(chosen.value)) {
                continue;
            }
            let cost = known.value.len() + known.was.map_or(0, |was| was.len() + 18) + 2;
            let slot = if needs_slot { known.slot.len() + 1 } else { 0 };
            if cost + slot <= left {
                left -= cost + slot;
                chosen.push((index, known, slot > 0));
                moments.extend(moment(known.value));
                wished.extend(known.is_wish().then(|| words(known.value)).into_iter().flatten());
            }
        }
        // Slots are added only after the values of all facts have room.
        for (_, known, has_slot) in &mut chosen {
            let slot = known.slot.len() + 1;
            if !*has_slot && slot <= left {
                left -= slot;
                *has_slot = true;
            }
        }
        chosen.sort_by_key(|(index, ..)| *index);
        let of = |head: &str, is_it: &dyn Fn(&Known<'_>) -> bool| {
            let known = chosen.iter().filter(|(_, known, _)| is_it(known));
            let known: Vec<_> = known.map(|(_, known, has_slot)| (*known, *has_slot)).collect();
            (!known.is_empty()).then(|| format!("{head}: {}", list(&known)))
        };
        let lines = [
            of("The caller said", &|known| known.is_by_caller && !known.is_wish()),
            of("The caller's wishes", &|known| known.is_wish()),
            of("The assistant said", &|known| !known.is_by_caller && !known.is_wish()),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Returns the rank of a value. Of two values with one rank, the shorter one leaves more room. An earlier value of the
/// same thing ranks lower. A refusal, a constraint or a dictated number may be long, a wish takes the room of many values.
fn rank(known: &Known<'_>, is_latest: bool) -> i64 {
    let length = known.value.len()
        / match known.slot {
            LIMIT => 30,
            WISH => 8,
            _ if !known.value.contains(char::is_numeric) && is_numeric(known.value) => 30,
            _ => 10,
        };
    let earlier = if is_latest { 0 } else { EARLIER };
    i64::from(known.rank) - i64::try_from(length).unwrap_or(i64::MAX) - earlier
}

/// Returns the significant words of a wish: those with a meaning of their own, and those that refuse or limit.
fn words(wish: &str) -> impl Iterator<Item = String> {
    let words = wish.split(|c: char| !c.is_alphanumeric() && c != '\'').map(str::to_lowercase);
    let is_limit = |word: &str| WORDS.limits.iter().any(|limit| matches!(limit.as_slice(), [one] if *one == word));
    words.filter(move |word| !word.is_empty() && (is_limit(word) || !WORDS.stopwords.contains(word.as_str())))
}

/// Returns whether later wishes contain nearly all words of a wish.
fn says_nothing_new(wish: &str, wished: &HashSet<String>) -> bool {
    let words: Vec<String> = words(wish).collect();
    let new = words.iter().filter(|word| !wished.contains(*word)).count();
    new * 5 <= words.len()
}

/// Returns whether a text holds a value as whole words.
pub(crate) fn holds(text: &str, value: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(value).any(|(at, _)| {
        let after = text.get(at + value.len()..).unwrap_or_default();
        !text.get(..at).unwrap_or_default().ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// Returns an amount as a tool writes it: without its currency and the separators of thousands. Other values stay.
fn number(value: &str) -> Cow<'_, str> {
    let bare = value.trim_matches(CURRENCIES);
    let is_number = bare.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '.');
    if is_number { bare.replace(',', "").into() } else { value.into() }
}

/// Writes `slot=value, value; value (corrected, was other)`.
fn list(entries: &[(&Known<'_>, bool)]) -> String {
    let mut text = String::new();
    let mut slot = None;
    for (known, has_slot) in entries {
        let named = if known.is_wish() || !has_slot { "" } else { known.slot };
        match slot {
            None => {}
            Some(last) if last == named && !named.is_empty() => text.push_str(", "),
            Some(_) => text.push_str("; "),
        }
        if slot != Some(named) && !named.is_empty() {
            text.extend([named, "="]);
        }
        text.push_str(known.value);
        if let Some(was) = known.was {
            text.extend([" (corrected, was ", was, ")"]);
        }
        slot = Some(named);
    }
    text
}
