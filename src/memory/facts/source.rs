//! [`Source`]: the values of a text, against which another text is checked.
//!
//! The check ignores values in which faithful summaries differ: one and two of what the source does not count, common words
//! where all words are capitalized ([`names`]), and a year that the source omits. A sum or a product is accepted together with its
//! terms. What was said in words is read in each way that it can be meant ([`spoken`]).

mod names;
mod read;
mod removed;
mod spoken;
mod value;
mod worded;

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use super::language::{CommonWords, WORDS};
use super::tokens::{Token, ends_with_title, is_digits, tokens};
use names::Names;
use removed::Kind;
pub(crate) use removed::Removed;
use spoken::counted;
pub(crate) use value::{Moment, moment};
use value::{Value, key, short_date, value};
use worded::{as_number, numbers};

/// The values that a summary may hold: those of the words that it covers.
#[derive(Default)]
pub(crate) struct Source {
    words: HashSet<String>,
    /// Ids, codes and e-mail addresses.
    codes: HashSet<String>,
    numbers: HashSet<String>,
    /// Numbers within dates and compounds, which are not amounts.
    pieces: HashSet<String>,
    days: HashSet<(u32, u32)>,
    years: HashSet<u32>,
    months: HashSet<u32>,
    weekdays: HashSet<usize>,
    times: HashSet<u32>,
    /// Codes and numbers that were said in pieces, joined.
    spelled: Vec<String>,
    /// The words of texts in which somebody may have said an e-mail address, without its signs and the spaces around them.
    mails: Vec<String>,
    /// The numbers of each counted noun.
    counts: HashMap<String, HashSet<u32>>,
    /// The digits of all numbers, joined: a long number may have been said in several messages.
    digits: String,
}

/// The greatest number that a summary may have without one in the source: "the two agreed".
const SMALL: u32 = 2;
/// The counts that must be those of the source, if it counts the same.
const COUNTS: RangeInclusive<u32> = 2..=12;
/// The minimum length at which a part of a spelled code counts.
const PART: usize = 4;
/// The minimum number of digits that may have been said in several messages.
const LONG: usize = 5;

impl Source {
    /// Returns the text without the sentences that hold a value which the source lacks, and the number of these
    /// sentences.
    pub fn checked(&self, text: &str) -> (String, Removed) {
        let found: Vec<&str> = sentences(text).collect();
        let words: Vec<_> = found.iter().map(|sentence| tokens(sentence)).collect();
        let names = Names::of(&words, self);
        let mut kept = String::new();
        let mut removed = Removed::default();
        for (sentence, words) in found.iter().zip(&words) {
            match self.lacks(words, &names) {
                None => kept.push_str(sentence),
                Some(kind) => removed.count(kind),
            }
        }
        (kept, removed)
    }

    /// Returns the kind of the first value that the source lacks.
    fn lacks(&self, tokens: &[Token<'_>], names: &Names) -> Option<Kind> {
        let mut at = 0;
        let mut terms = Vec::new();
        let mut totals = Vec::new();
        while let Some(token) = tokens.get(at) {
            if let Some(length) = self.joined(tokens, at) {
                at += length;
                continue;
            }
            let Some((found, length)) = value(tokens, at) else {
                at += 1;
                continue;
            };
            let has = match &found {
                Value::Name => self.has_name(token) || !names.has(tokens, at, self),
                Value::Number { key, .. } => {
                    let has = self.has(&found, token);
                    let number = key.parse::<f64>().unwrap_or_default();
                    if has {
                        terms.push(number)
                    } else {
                        totals.push((number, kind(&found)))
                    }
                    true
                }
                found => self.has(found, token),
            };
            if !has || self.miscounts(&found, tokens, at + length) {
                return Some(kind(&found));
            }
            at += length;
        }
        let is_total = |total: &f64| {
            let is = |value: f64| (value - total).abs() < 0.005;
            let pairs = || terms.iter().enumerate().flat_map(|(at, a)| terms.iter().skip(at + 1).map(move |b| (a, b)));
            is(terms.iter().sum()) || pairs().any(|(a, b)| is(a + b) || is((a - b).abs()) || is(a * b))
        };
        totals.iter().find(|(total, _)| !is_total(total)).map(|(_, kind)| *kind)
    }

    /// Returns whether the source counts the noun after a number, but never so many.
    fn miscounts(&self, number: &Value, tokens: &[Token<'_>], noun: usize) -> bool {
        let count: Option<u32> = match number {
            Value::Number { key, is_plain: true, .. } => key.parse().ok(),
            words => as_number(words),
        };
        let count = count.filter(|count| COUNTS.contains(count));
        let known = counted(tokens, noun).and_then(|noun| self.counts.get(&noun));
        count.zip(known).is_some_and(|(count, known)| !known.contains(&count) && known.iter().sum::<u32>() != count)
    }

    fn has(&self, value: &Value, token: &Token<'_>) -> bool {
        match value {
            Value::Date { days, year } => {
                let is_year = year.is_none_or(|year| self.years.is_empty() || self.years.contains(&year));
                // The month and the day may have been said separately.
                let apart = |(month, day): &(u32, u32)| {
                    self.months.contains(month) && self.words.iter().any(|word| is_ordinal_of(word, *day))
                };
                is_year && days.iter().any(|day| self.days.contains(day) || apart(day))
            }
            Value::Month(month) => self.months.contains(month) || self.words.contains(&token.lower),
            Value::Weekday(day) => self.weekdays.contains(day) || self.words.contains(&token.lower),
            Value::Time(times) => times.iter().any(|time| self.times.contains(time)),
            Value::Number { key, is_plain, is_amount } => {
                let is_small = *is_plain && key.parse().is_ok_and(|count: u32| count <= SMALL);
                let is_long = || key.len() >= LONG && self.digits.contains(key);
                let is_piece = || self.pieces.contains(key) || self.codes.contains(key) || self.is_spelled(key);
                let is_day = || short_date(token.text).is_some_and(|day| self.days.contains(&day));
                is_small || self.numbers.contains(key) || (!is_amount && (is_piece() || is_long() || is_day()))
            }
            Value::Words(_) if WORDS.homographs.contains(token.lower.as_str()) => true,
            Value::Words(parts) => numbers(parts).iter().all(|number| {
                let is_vague = *number <= SMALL || matches!(number, 100 | 1_000);
                is_vague || self.numbers.contains(&number.to_string()) || self.pieces.contains(&number.to_string())
            }),
            Value::Mail(text) => {
                let plain: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
                self.codes.contains(text) || self.mails.iter().any(|said| said.contains(&format!(" {plain} ")))
            }
            Value::Code(code) => {
                let is_word = !token.has_digit() && parts(&token.lower).all(|part| self.words.contains(part));
                let is_known = WORDS.acronyms.contains(token.lower.as_str());
                is_word || is_known || self.codes.contains(code) || self.is_spelled(code) || self.by_parts(token)
            }
            Value::Name => true,
        }
    }

    /// Returns whether the source has all parts of a compound, and none of them is an id.
    fn by_parts(&self, token: &Token<'_>) -> bool {
        let is_part = |part: &str| {
            let is_number = is_digits(part);
            (is_number && (self.numbers.contains(&key(part)) || self.pieces.contains(&key(part))))
                || (!part.contains(char::is_numeric) && part.len() > 2 && self.has_word(&part.to_lowercase()))
        };
        !token.text.contains('_') && parts(token.text).count() > 1 && parts(token.text).all(is_part)
    }

    /// Returns whether the source has a word, or any language has it as a common one.
    fn has_word(&self, word: &str) -> bool {
        self.words.contains(word) || CommonWords::is_common(word)
    }

    fn is_spelled(&self, code: &str) -> bool {
        self.spelled.iter().any(|said| said == code || (code.len() >= PART && said.contains(code)))
    }

    /// Returns the number of words from `at` that together form a number or code of the source.
    fn joined(&self, tokens: &[Token<'_>], at: usize) -> Option<usize> {
        let is_piece = |token: &&Token<'_>| token.is_spelled() || token.is_digits();
        let length = tokens.iter().skip(at).take_while(is_piece).count();
        let code: String = tokens.iter().skip(at).take(length).map(|token| token.lower.as_str()).collect();
        (length > 1 && (self.codes.contains(&code) || self.is_spelled(&code))).then_some(length)
    }
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Date { .. } | Value::Month(_) | Value::Weekday(_) => Kind::Date,
        Value::Time(_) => Kind::Time,
        Value::Number { is_amount: true, .. } => Kind::Amount,
        Value::Number { .. } | Value::Words(_) => Kind::Number,
        Value::Mail(_) | Value::Code(_) => Kind::Code,
        Value::Name => Kind::Name,
    }
}

/// Returns whether a word means a day of the month, such as `24th`.
fn is_ordinal_of(word: &str, day: u32) -> bool {
    let end = word.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0);
    end.is_some_and(|end| {
        let (number, rest) = word.split_at(end);
        number.parse() == Ok(day) && ["st", "nd", "rd", "th", "."].contains(&rest)
    })
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

/// Returns whether a text ends with the day of a date that goes on: "am 24. Mai".
fn is_within_date(text: &str, next: &str) -> bool {
    let day = text.split_whitespace().next_back().and_then(|word| word.strip_suffix('.'));
    let next = tokens(next.split_whitespace().next().unwrap_or_default());
    day.is_some_and(|day| day.len() <= 2 && is_digits(day)) && next.first().and_then(value::named_month).is_some()
}

/// Splits a text after each sentence, semicolon and line. The pieces joined are the text.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let ends = |(at, c): (usize, char)| {
            let after = at + c.len_utf8();
            let is_end = match c {
                '\n' | ';' | '。' | '！' | '？' => true,
                // A small letter follows an abbreviation.
                '.' | '!' | '?' | '…' => rest.split_at_checked(after).is_some_and(|(sentence, next)| {
                    let first = next.trim_start().chars().next();
                    next.starts_with(char::is_whitespace)
                        && !first.is_some_and(char::is_lowercase)
                        && !ends_with_title(&tokens(sentence))
                        && !is_within_date(sentence, next)
                }),
                _ => false,
            };
            is_end.then_some(after)
        };
        let end = rest.char_indices().find_map(ends).unwrap_or(rest.len());
        let (sentence, next) = rest.split_at(end);
        rest = next;
        (!sentence.is_empty()).then_some(sentence)
    })
}

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod written_tests;
