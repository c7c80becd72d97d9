//! [`RuleFactFinder`]: finds facts by the form of words.

mod answers;
mod corrections;
mod dates;
mod groups;
mod names;
mod numbers;
mod places;
mod ranges;
mod refusals;
mod slots;
mod spelled;
mod wishes;

use std::collections::HashSet;
use std::ops::Range;

use answers::Question;
use slots::asked_for;

use super::folded::is_numeric;
use super::language::{Phrases, WORDS, begins_with, ranges};
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
        let is_caller = source == FactSource::Caller;
        let heard = message.heard_contents();
        // Only the caller answers.
        let asked = earlier.iter().rev().find(|before| is_caller && before.role() != message.role()).copied();
        let asked_words = asked.map(Message::heard_contents);
        let question = asked_words.as_deref().and_then(Question::of);
        let slot = question.as_ref().and_then(asked_for);
        let may_deny = asked.is_some() && !question.as_ref().is_some_and(|question| question.offers_help);
        let mut facts = Vec::new();
        for text in heard.texts() {
            let tokens = tokens(text.as_str());
            let small = small(&tokens, earlier);
            let mut finding = Finding { source, question: slot.clone(), small, may_deny, ..Finding::new(&tokens) };
            if !question.as_ref().is_some_and(|question| finding.answer(question)) {
                finding.find();
            }
            if is_caller {
                finding.spelled(earlier);
                asked_words.iter().for_each(|asked| finding.alternatives(asked));
                if !question.as_ref().is_some_and(|question| finding.choice(question)) {
                    finding.wishes(asked);
                }
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
/// The maximum length of a value in characters, and of a number or an e-mail address in words.
const LONGEST_VALUE: usize = 60;
const LONGEST_NUMBER: usize = 240;

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
    /// The places of words for `@`.
    at_signs: Vec<usize>,
    source: FactSource,
    /// The noun that the assistant asked for.
    question: Option<String>,
    /// The words that this message and those before it have in lower case.
    small: HashSet<String>,
    /// Whether a "no" can deny what the assistant said.
    may_deny: bool,
    /// The start of the last sentence with a corrected value.
    corrected: Option<usize>,
    /// The words of the last value, and the negations that only say which value is wrong.
    said: Range<usize>,
    contrasts: HashSet<usize>,
    /// The facts that the caller refuses, by index, until another value replaces them.
    refused: HashSet<usize>,
    /// The negations before refused values, and the end of the last one with its negation.
    refusals: HashSet<usize>,
    latest_refusal: Option<(usize, usize)>,
    /// The last refused fact after a phrase such as "instead of".
    rejected: Option<usize>,
    /// The start of the last sentence with a value, and its first fact.
    latest: (usize, usize),
    facts: Vec<Fact>,
}

impl<'a> Finding<'a> {
    /// Prepares to search a text, as of the assistant.
    fn new(tokens: &'a [Token<'a>]) -> Self {
        let words: Vec<String> = tokens.iter().map(|token| token.lower.clone()).collect();
        let rejections: Vec<Range<usize>> = ranges(&WORDS.rejections, &words).collect();
        let is_at =
            |at: &usize| words.get(*at..).is_some_and(|words| WORDS.mails.iter().any(|mail| mail.at(words).is_some()));
        let at_signs = (0..words.len()).filter(is_at).collect();
        Self {
            tokens,
            corrections: corrections::announced(tokens, &words, &rejections),
            words,
            rejections,
            at_signs,
            source: FactSource::Assistant,
            question: None,
            small: HashSet::new(),
            may_deny: false,
            corrected: None,
            said: 0..0,
            contrasts: HashSet::new(),
            refused: HashSet::new(),
            refusals: HashSet::new(),
            latest_refusal: None,
            rejected: None,
            latest: (0, 0),
            facts: Vec::new(),
        }
    }

    fn find(&mut self) {
        let introductions: Vec<Range<usize>> = ranges(&WORDS.introductions, &self.words).collect();
        let mut empty = self.empty_phrases();
        empty.reverse();
        let mut at = 0;
        while at < self.tokens.len() {
            while empty.last().is_some_and(|phrase| phrase.end <= at) {
                empty.pop();
            }
            if let Some(phrase) = empty.last().filter(|phrase| phrase.start <= at) {
                at = phrase.end;
                continue;
            }
            let next = introductions.get(introductions.partition_point(|introduction| introduction.end < at));
            let name = next.filter(|introduction| introduction.start <= at).map(|introduction| introduction.end);
            let taken = match name.map(|name| (name, self.introduced(name))) {
                Some((name, taken)) if taken > 0 => name + taken - at,
                _ => self.value(at),
            };
            at += taken.max(1);
        }
        self.drop_refused();
    }

    /// Returns the places of phrases that have no value: "Schönen Tag noch", "one moment". A single word must be a clause.
    fn empty_phrases(&self) -> Vec<Range<usize>> {
        let begins = |at: usize| {
            let before = at.checked_sub(1).and_then(|before| self.get(before));
            before.is_none_or(|before| before.ends_clause || WORDS.is_reply(&before.lower))
        };
        let is_clause = |at: usize| begins(at) && self.get(at).is_some_and(|token| token.ends_clause);
        let phrases = ranges(&WORDS.farewells, &self.words).chain(ranges(&WORDS.ignorance, &self.words));
        let mut found: Vec<Range<usize>> = phrases.filter(|words| words.len() > 1 || is_clause(words.start)).collect();
        found.sort_by_key(|words| words.start);
        found
    }

    fn get(&self, at: usize) -> Option<&Token<'_>> {
        self.tokens.get(at)
    }

    /// Returns whether the clause of the word before `at` continues there.
    fn is_open_before(&self, at: usize) -> bool {
        at.checked_sub(1).and_then(|before| self.get(before)).is_some_and(|before| !before.ends_clause)
    }

    /// Returns the length of the longest of the phrases that begins at a word, or 0.
    fn phrase(&self, phrases: &Phrases, at: usize) -> usize {
        begins_with(phrases, self.words.get(at..).unwrap_or_default()).unwrap_or(0)
    }

    /// Like [`phrase`](Self::phrase), of a phrase that continues the clause of the word before it.
    fn phrase_after(&self, phrases: &Phrases, at: usize) -> usize {
        if self.is_open_before(at) { self.phrase(phrases, at) } else { 0 }
    }

    /// Adds the value that begins at a word. Returns the number of its words, or 0 if there is none.
    fn value(&mut self, at: usize) -> usize {
        let Some(token) = self.get(at) else { return 0 };
        if token.text.contains('@') && token.text.contains('.') {
            return self.add(at, 1);
        }
        // The "um" of "um neun" is a number in another language.
        let preposition = self.phrase(&WORDS.at_hours, at);
        if preposition > 0 && self.clock(at + preposition).is_some() {
            return preposition;
        }
        if let Some(range) = self.range(at) {
            return self.counted(at, range);
        }
        let found = self.spoken_mail(at).or_else(|| self.date(at)).or_else(|| self.day(at)).or_else(|| self.clock(at));
        if let Some(length) = found.or_else(|| self.address(at)).or_else(|| self.dictated_groups(at)) {
            return self.add(at, length);
        }
        let spelled = self.spelled_by_caller(at);
        if spelled > 0 {
            return spelled;
        }
        if let Some(length) = self.lettered(at) {
            return self.add(at, length);
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
        if let Some(length) = self.ordinal(at) {
            return self.add(at, length);
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

    /// Adds the words from `at` as a value, in the slot that the words before it name.
    fn add(&mut self, at: usize, length: usize) -> usize {
        let slot = self.slot(at);
        self.add_as(&slot, at, length)
    }

    fn add_as(&mut self, slot: &str, at: usize, length: usize) -> usize {
        let words: Vec<&str> = self.tokens.iter().skip(at).take(length).map(|token| token.text).collect();
        let text = words.join(" ");
        let is_long = is_numeric(&text) || self.spoken_mail(at) == Some(length);
        let value = one_line(&text, if is_long { LONGEST_NUMBER } else { LONGEST_VALUE });
        if !value.is_empty() {
            self.push(slot, value, at..at + length);
        }
        length
    }
}
