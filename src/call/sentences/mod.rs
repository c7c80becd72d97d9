//! [`Sentences`]: splits an answer into sentences while the model generates it.
//!
//! Each character is processed once, in order, so the result does not depend on how the stream was split. The rules of
//! [UAX #29](https://www.unicode.org/reports/tr29/#Sentence_Boundaries) do not fit: they separate "Mr." from the name, and
//! they need the whole text.

mod stop;

use std::fmt;

use crate::message::is_blank_char;
use stop::{Stop, Verdict};

/// Splits an answer into sentences while the model generates it, for speech synthesis.
///
/// A sentence is complete once the next characters show that it has ended. It includes the white space after it. The
/// sentences of a text add up to the text, and none is blank; a blank text has none.
///
/// A line break ends a sentence, and so does the end of a list item. Numbers (`3.50`), times (`3 p.m.`), ordinals (`am
/// 3. Mai`), titles and abbreviations (`Dr.`, `No. 5`, `z.B.`), addresses and ids are never split. If an end is
/// doubtful, two sentences stay together, because a split sentence sounds worse.
#[derive(Clone)]
pub(super) struct Sentences {
    /// From this many characters on, the first piece may end at a comma, so that speech starts early.
    first_chars: usize,
    /// From this many characters on, a piece ends between two clauses, or else between two words.
    max_chars: usize,
    /// The text that is not part of a complete sentence yet.
    held: String,
    held_chars: usize,
    is_first: bool,
    /// Whether the held text has a letter or a digit.
    has_words: bool,
    /// The offsets of its last two words.
    word: usize,
    word_before: usize,
    /// Whether a letter or a digit precedes the last word.
    has_words_before_word: bool,
    /// A possible end of a sentence, until it is certain.
    stop: Option<Stop>,
    comma: Option<Comma>,
    /// The last places to split between two clauses and between two words, or 0.
    clause: usize,
    gap: usize,
    last: char,
    last_seen: char,
}

/// A possible end of a clause, until it is certain.
#[derive(Clone, Copy)]
struct Comma {
    follows_digit: bool,
    needs_space: bool,
}

impl Default for Sentences {
    fn default() -> Self {
        Self {
            first_chars: 60,
            max_chars: 300,
            held: String::new(),
            held_chars: 0,
            is_first: true,
            has_words: false,
            word: 0,
            word_before: 0,
            has_words_before_word: false,
            stop: None,
            comma: None,
            clause: 0,
            gap: 0,
            last: '\n',
            last_seen: '\n',
        }
    }
}

impl Sentences {
    /// Adds the next piece of the answer and returns the completed sentences.
    pub fn push(&mut self, delta: &str) -> Vec<String> {
        delta.chars().filter_map(|c| self.take(c)).collect()
    }

    /// Returns the rest of the answer, or `None` if it is blank.
    pub fn finish(self) -> Option<String> {
        self.held.chars().any(|c| !is_blank_char(c)).then_some(self.held)
    }

    fn take(&mut self, c: char) -> Option<String> {
        let at = self.held.len();
        let mut sentence = None;
        let mut was_stopped = false;
        if let Some(mut stop) = self.stop.take() {
            match stop.follow(c, at, &self.held) {
                Verdict::Open => {
                    self.add(c);
                    self.stop = Some(stop);
                    return None;
                }
                Verdict::Ends(next) => sentence = self.cut(next),
                Verdict::Continues => was_stopped = true,
            }
        }
        self.note_places(c, was_stopped);
        self.stop = self.begins_stop(c);
        self.note_comma(c);
        self.add(c);
        sentence.or_else(|| self.split_long())
    }

    /// Notes that the text may be split before this character.
    fn note_places(&mut self, c: char, was_stopped: bool) {
        if is_blank_char(c) || !self.has_words {
            return;
        }
        let at = self.held.len();
        let is_apart = self.last.is_whitespace();
        if let Some(comma) = self.comma.take()
            && (is_apart || !comma.needs_space)
            && !(comma.follows_digit && c.is_numeric())
        {
            self.clause = at;
        }
        if is_apart && !was_stopped && !c.is_numeric() && !self.last_seen.is_numeric() {
            self.gap = at;
        }
    }

    fn begins_stop(&self, c: char) -> Option<Stop> {
        if !self.has_words {
            return None;
        }
        let word = self.held.get(self.word..).unwrap_or_default();
        let word_before = self.held.get(self.word_before..self.word).unwrap_or_default();
        Stop::new(c, word, word_before, !self.has_words_before_word)
    }

    fn note_comma(&mut self, c: char) {
        let is_dash = matches!(c, '-' | '–') && self.last.is_whitespace() && self.has_words;
        let needs_space = matches!(c, ',' | ';' | ':' | '،' | '؛') || is_dash;
        if needs_space || matches!(c, '—' | '，' | '、' | '；' | '：') {
            self.comma = Some(Comma { follows_digit: self.last_seen.is_numeric(), needs_space });
        }
    }

    fn add(&mut self, c: char) {
        if self.last.is_whitespace() && !c.is_whitespace() {
            self.word_before = self.word;
            self.word = self.held.len();
            self.has_words_before_word = self.has_words;
        }
        self.held.push(c);
        self.held_chars += 1;
        self.has_words |= c.is_alphanumeric();
        self.last = c;
        if !is_blank_char(c) {
            self.last_seen = c;
        }
    }

    /// Splits a piece that is too long, unless its sentence may just have ended.
    fn split_long(&mut self) -> Option<String> {
        if self.stop.is_some() {
            return None;
        }
        let is_long = self.held_chars > self.max_chars;
        let may_end_at_clause = is_long || self.is_first && self.held_chars > self.first_chars;
        let place = match may_end_at_clause {
            true if self.clause > 0 => self.clause,
            true if is_long && self.gap > 0 => self.gap,
            _ => return None,
        };
        self.cut(place)
    }

    /// Returns the held text up to `place`. The text before `place` has a word, and a visible character follows.
    fn cut(&mut self, place: usize) -> Option<String> {
        let rest = self.held.get(place..)?.to_owned();
        self.held.truncate(place);
        let sentence = std::mem::replace(&mut self.held, rest);
        self.held_chars = self.held.chars().count();
        self.is_first = false;
        for known in [&mut self.word, &mut self.word_before, &mut self.clause, &mut self.gap] {
            *known = known.saturating_sub(place);
        }
        let has_words_before = |place| self.held.get(..place).is_some_and(has_words);
        self.has_words = has_words(&self.held);
        self.has_words_before_word = has_words_before(self.word);
        if !has_words_before(self.gap) {
            self.gap = 0;
        }
        Some(sentence)
    }
}

fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// Shows the length of the held text instead of its words.
impl fmt::Debug for Sentences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentences").field("held_bytes", &self.held.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
