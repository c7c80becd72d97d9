//! [`RuleFactFinder`]: finds facts by the form of words.

mod answers;
mod dates;
mod names;
mod numbers;
mod places;
mod slots;
mod spelled;
mod wishes;

use std::collections::HashSet;
use std::ops::Range;

use slots::question;

use super::folded::is_numeric;
use super::language::{WORDS, ranges};
use super::tokens::{Token, tokens};
use super::{Fact, FactFinder, FactSource};
use crate::memory::one_line::one_line;
use crate::message::{Message, Role};

/// Finds facts by rules, without a model and without knowledge of a domain: ids and codes, names, numbers with their
/// noun, amounts, dates, times, e-mail addresses, spelled codes, and what the caller wants or refuses.
///
/// A slot is named by the words before the value ("order X17"), or by the question that the value answers ("What is
/// your user id?"). Number words, months, introductions and refusals are found in English, French, German, Italian,
/// Portuguese and Spanish; everything else in any language.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleFactFinder;

impl FactFinder for RuleFactFinder {
    fn find(&self, message: &Message, earlier: &[&Message]) -> Vec<Fact> {
        let source = match message.role() {
            Role::User => FactSource::Caller,
            Role::Assistant => FactSource::Assistant,
            Role::Summary | Role::System => return Vec::new(),
        };
        let heard = message.heard_contents();
        let mut facts = Vec::new();
        for text in heard.texts() {
            let asked = earlier.iter().rev().find(|before| before.role() != message.role());
            let question = asked.filter(|_| source == FactSource::Caller).and_then(|asked| question(asked));
            let tokens = tokens(text.as_str());
            let small = small(&tokens, earlier);
            let mut finding = Finding { source, question, small, ..Finding::new(&tokens) };
            let is_caller = source == FactSource::Caller;
            if !(is_caller && asked.is_some_and(|asked| finding.answer(asked))) {
                finding.find();
            }
            if is_caller {
                finding.spelled(earlier);
                finding.wishes(asked.copied());
            }
            facts.append(&mut finding.facts);
        }
        facts
    }
}

/// Returns the words that a text and the messages before it have in lower case.
fn small(text: &[Token<'_>], earlier: &[&Message]) -> HashSet<String> {
    let earlier = earlier.iter().flat_map(|message| message.contents().texts()).flat_map(|text| tokens(text.as_str()));
    let is_small = |token: &&Token<'_>| token.text == token.lower && token.is_word();
    let of_text = text.iter().filter(is_small).map(|token| token.lower.clone());
    of_text.chain(earlier.filter(|token| is_small(&token)).map(|token| token.lower)).collect()
}

/// The number of words around one that the rules read, so that the time grows with the length of a text alone.
const LONGEST: usize = 64;
/// The maximum length of a value in characters, and of a number in words, such as an IBAN.
const LONGEST_VALUE: usize = 60;
const LONGEST_NUMBER: usize = 240;

/// Returns whether a word can be what a number before it counts.
fn is_noun(token: &Token<'_>) -> bool {
    token.is_word() && token.text.len() > 2 && !WORDS.is_stopword(&token.lower) && !token.is_capitalised()
}

/// Returns whether a word is a short group of capitals and digits.
fn is_group(token: &Token<'_>) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
    let longest = if token.is_word() { 4 } else { 5 };
    token.text.len() <= longest && token.text.chars().all(is_part) && !WORDS.acronyms.contains(token.lower.as_str())
}

struct Finding<'a> {
    tokens: &'a [Token<'a>],
    /// The words in lower case.
    words: Vec<String>,
    /// The places of the phrases that announce a correction, and of those before what the caller does not want.
    corrections: Vec<Range<usize>>,
    rejections: Vec<Range<usize>>,
    source: FactSource,
    /// The noun that the assistant asked for.
    question: Option<String>,
    /// The words that this message and those before it have in lower case.
    small: HashSet<String>,
    /// The start of the last sentence with a corrected value.
    corrected: Option<usize>,
    /// The start of the last sentence with a value, and its first fact.
    latest: (usize, usize),
    facts: Vec<Fact>,
}

impl<'a> Finding<'a> {
    /// Prepares to search a text, as of the assistant.
    fn new(tokens: &'a [Token<'a>]) -> Self {
        let words: Vec<String> = tokens.iter().map(|token| token.lower.clone()).collect();
        let rejections: Vec<Range<usize>> = ranges(&WORDS.rejections, &words).collect();
        // The "instead" of "instead of" announces no correction.
        let is_part = |range: &Range<usize>| {
            let next = rejections.partition_point(|rejection| rejection.end <= range.start);
            rejections.get(next).is_some_and(|rejection| rejection.start <= range.start)
        };
        let corrections = ranges(&WORDS.corrections, &words).filter(|range| !is_part(range)).collect();
        Self {
            tokens,
            words,
            corrections,
            rejections,
            source: FactSource::Assistant,
            question: None,
            small: HashSet::new(),
            corrected: None,
            latest: (0, 0),
            facts: Vec::new(),
        }
    }

    fn find(&mut self) {
        let introductions: Vec<Range<usize>> = ranges(&WORDS.introductions, &self.words).collect();
        let mut at = 0;
        while at < self.tokens.len() {
            let next = introductions.get(introductions.partition_point(|introduction| introduction.end < at));
            let name = next.filter(|introduction| introduction.start <= at).map(|introduction| introduction.end);
            let taken = match name.map(|name| (name, self.introduced(name))) {
                Some((name, taken)) if taken > 0 => name + taken - at,
                _ => self.value(at),
            };
            at += taken.max(1);
        }
    }

    fn get(&self, at: usize) -> Option<&Token<'_>> {
        self.tokens.get(at)
    }

    /// Returns whether the clause of the word before `at` continues there.
    fn is_open_before(&self, at: usize) -> bool {
        at.checked_sub(1).and_then(|before| self.get(before)).is_some_and(|before| !before.ends_clause)
    }

    /// Adds the value that begins at a word. Returns the number of its words, or 0 if there is none.
    fn value(&mut self, at: usize) -> usize {
        let Some(token) = self.get(at) else { return 0 };
        if token.text.contains('@') && token.text.contains('.') {
            return self.add(at, 1);
        }
        let found = self.spoken_mail(at).or_else(|| self.date(at)).or_else(|| self.clock(at));
        if let Some(length) = found.or_else(|| self.address(at)) {
            return self.add(at, length);
        }
        let spelled = if self.source == FactSource::Caller { self.spelled_from(at) } else { 0 };
        if spelled > 0 {
            return spelled;
        }
        if token.has_digit() && !token.is_code() {
            return self.number(at);
        }
        if WORDS.acronyms.contains(token.lower.as_str()) {
            return 1;
        }
        if token.is_code() {
            // A word in capitals before a value names it: "user ID is X1".
            let names = token.is_word()
                && !token.ends_clause
                && self.get(at + 1).is_some_and(|next| next.is_code() || next.lower == "is" || next.lower == "ist");
            return if names || token.is_label { 1 } else { self.add(at, self.groups(at)) };
        }
        let words = self.number_words(at);
        if words > 0 {
            return self.counted(at, words);
        }
        if WORDS.days.contains(token.lower.as_str()) {
            return self.add(at, 1);
        }
        if token.is_proper() {
            return self.name(at);
        }
        0
    }

    /// Returns the length of a run of matching words, up to [`LONGEST`]. The end of a clause breaks it.
    fn run(&self, at: usize, is_part: impl Fn(&Token<'_>) -> bool) -> usize {
        let mut length = 0;
        while let Some(token) = self.get(at + length).filter(|token| length < LONGEST && is_part(token)) {
            length += 1;
            if token.ends_clause {
                break;
            }
        }
        length
    }

    /// Returns the length of a code in short groups of capitals and digits, such as `LN 68 WKR`, or 1.
    fn groups(&self, at: usize) -> usize {
        let run = self.run(at, is_group);
        let has_digits = self.tokens.iter().skip(at).take(run).any(Token::has_digit);
        if has_digits { run.max(1) } else { 1 }
    }

    fn number(&mut self, at: usize) -> usize {
        let Some(token) = self.get(at) else { return 0 };
        let is_group = |token: &Token<'_>| {
            token.text.chars().all(|c| c.is_ascii_digit() || "+-/.".contains(c)) && token.text.len() >= 2
        };
        let groups = self.run(at, is_group);
        if groups >= 2 {
            return self.add(at, groups);
        }
        let is_half = |token: &Token<'_>| ["am", "pm", "a.m", "p.m", "uhr"].contains(&token.lower.as_str());
        if !token.ends_clause && self.get(at + 1).is_some_and(is_half) {
            return self.add(at, 2);
        }
        self.counted(at, 1)
    }

    /// Adds a number of `length` words with up to two words for the counted thing.
    fn counted(&mut self, at: usize, length: usize) -> usize {
        let last = at + length - 1;
        let is_open = self.get(last).is_some_and(|token| !token.ends_clause && !token.is_label);
        let is_amount = self.get(at).is_some_and(|token| token.has_currency);
        let nouns = if is_open && !is_amount { self.run(at + length, is_noun).min(2) } else { 0 };
        let unit =
            self.get(at + length).filter(|_| is_open).is_some_and(|token| WORDS.units.contains(token.lower.as_str()));
        let nouns = if unit { 1 + self.cents(at + length + 1) } else { nouns };
        let is_digit = self.get(at).is_some_and(|token| token.has_digit());
        // A house number with its street, or a postal code with its town.
        let street = self.run(at + length, |token| token.is_proper());
        let follows_street = self.get(at).is_some_and(|token| token.text.len() == 5 && !token.is_first)
            && at.checked_sub(1).and_then(|before| self.get(before)).is_some_and(|before| before.ends_clause);
        let is_postal = follows_street
            && self.get(at + length).is_some_and(|token| !WORDS.days.contains(token.lower.as_str()))
            && self.date(at + length).is_none();
        let is_house = is_digit && is_open && !is_amount && (street >= 2 || (street == 1 && is_postal));
        let nouns = if is_house { street.min(4) } else { nouns };
        // "One" alone is a pronoun, and a digit of the assistant may be the number of a list entry.
        let is_small = self.source == FactSource::Assistant && self.get(at).is_some_and(|token| token.text.len() == 1);
        // "Fifty-eight" alone answers or corrects.
        let is_large =
            |token: &Token<'_>| token.number().is_some_and(|number| number > 10) && !WORDS.is_stopword(&token.lower);
        let is_large = self.source == FactSource::Caller && self.get(at).is_some_and(is_large);
        if (!(is_digit || is_large) || (is_small && !is_amount)) && length == 1 && nouns == 0 {
            return 0;
        }
        // The number of a list entry.
        let is_list = self.get(at).is_some_and(|token| {
            token.is_first
                && token.text.len() <= 2
                && token.ends_clause
                && token.text.chars().all(|c| c.is_ascii_digit())
        });
        if is_list && nouns == 0 && self.tokens.len() > at + length {
            return 0;
        }
        self.add(at, length + nouns)
    }

    /// Adds the words from `at` as a value, in the slot that the words before it name.
    fn add(&mut self, at: usize, length: usize) -> usize {
        let slot = self.slot(at);
        self.add_as(&slot, at, length)
    }

    fn add_as(&mut self, slot: &str, at: usize, length: usize) -> usize {
        let words: Vec<&str> = self.tokens.iter().skip(at).take(length).map(|token| token.text).collect();
        let text = words.join(" ");
        let value = one_line(&text, if is_numeric(&text) { LONGEST_NUMBER } else { LONGEST_VALUE });
        if !value.is_empty() {
            self.push(slot, value, at);
        }
        length
    }
}
