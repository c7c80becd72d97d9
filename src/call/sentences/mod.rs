//! [`Sentences`]: an answer, cut into what can be spoken while the rest is still to come.
//!
//! Every character is looked at once, when it comes, so that it makes no difference how the answer was cut into
//! pieces on its way here. The boundaries of [UAX #29](https://www.unicode.org/reports/tr29/#Sentence_Boundaries) are
//! not these: they part "Mr." from the name, and they are for a text that is whole.

mod stop;

use std::fmt;

use crate::message::is_blank_char;
use stop::{Stop, Verdict};

/// Cuts an answer into sentences while it comes, for speech synthesis.
///
/// A sentence is given once what follows shows that it has ended; white space behind it belongs to it. The pieces, one
/// behind the other, are the text, and none of them is blank; of a text that is blank there are none.
///
/// A line break ends a sentence, and so does the end of a list item. Numbers (`3.50`), times (`3 p.m.`), ordinals (`am
/// 3. Mai`), titles and abbreviations (`Dr.`, `No. 5`, `z.B.`), addresses and ids stay in one piece. Where it cannot be
/// told, two sentences stay together: that is heard less than a sentence that falls in two.
///
/// ```
/// # use verbale::call::Sentences;
/// let mut sentences = Sentences::default();
/// let deltas = ["It is", " 3", ".50, Mr", ". Li. Shall", " I book it?"];
/// let spoken: Vec<String> = deltas.iter().flat_map(|delta| sentences.push(delta)).collect();
/// assert_eq!(spoken, ["It is 3.50, Mr. Li. "]);
/// assert_eq!(sentences.finish().as_deref(), Some("Shall I book it?"));
/// ```
#[derive(Clone)]
pub struct Sentences {
    first_chars: usize,
    max_chars: usize,
    /// What was not given yet.
    held: String,
    held_chars: usize,
    is_first: bool,
    /// Whether there is a letter or a digit in it.
    says_something: bool,
    /// Where the last word in it begins, and the one before.
    word: usize,
    word_before: usize,
    /// Whether there is a letter or a digit in front of the last word.
    says_something_before_word: bool,
    /// What may have ended a sentence, as long as it is not certain.
    stop: Option<Stop>,
    comma: Option<Comma>,
    /// The last place to cut between two clauses, and between two words. 0 where there is none.
    clause: usize,
    gap: usize,
    last: char,
    last_seen: char,
}

/// What may part two clauses, as long as it is not certain.
#[derive(Clone, Copy)]
struct Comma {
    is_behind_digit: bool,
    needs_space: bool,
}

/// 60 characters for the first piece, and 300 for every other.
impl Default for Sentences {
    fn default() -> Self {
        Self {
            first_chars: 60,
            max_chars: 300,
            held: String::new(),
            held_chars: 0,
            is_first: true,
            says_something: false,
            word: 0,
            word_before: 0,
            says_something_before_word: false,
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
    /// The same with another length, in characters, from which on the first piece may end at a comma, so that speaking
    /// begins early.
    #[must_use]
    pub fn with_first_chars(self, first_chars: usize) -> Self {
        Self { first_chars, ..self }
    }

    /// The same with another length, in characters, at which every piece ends: between two clauses where there are
    /// two, else between two words. A word is never cut, however long it is.
    #[must_use]
    pub fn with_max_chars(self, max_chars: usize) -> Self {
        Self { max_chars, ..self }
    }

    /// Takes the next piece of the answer, cut anywhere, and gives the sentences that have ended.
    pub fn push(&mut self, delta: &str) -> Vec<String> {
        delta.chars().filter_map(|c| self.take(c)).collect()
    }

    /// What is left once the answer is whole; `None` where nothing is left, or nothing but white space.
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
                Verdict::GoesOn => was_stopped = true,
            }
        }
        self.note_places(c, was_stopped);
        self.stop = self.begins_stop(c);
        self.note_comma(c);
        self.add(c);
        sentence.or_else(|| self.cut_what_is_long())
    }

    /// Where this character could be the first behind a cut.
    fn note_places(&mut self, c: char, was_stopped: bool) {
        if is_blank_char(c) || !self.says_something {
            return;
        }
        let at = self.held.len();
        let is_apart = self.last.is_whitespace();
        if let Some(comma) = self.comma.take()
            && (is_apart || !comma.needs_space)
            && !(comma.is_behind_digit && c.is_numeric())
        {
            self.clause = at;
        }
        if is_apart && !was_stopped && !c.is_numeric() && !self.last_seen.is_numeric() {
            self.gap = at;
        }
    }

    fn begins_stop(&self, c: char) -> Option<Stop> {
        if !self.says_something {
            return None;
        }
        let word = self.held.get(self.word..).unwrap_or_default();
        let word_before = self.held.get(self.word_before..self.word).unwrap_or_default();
        Stop::new(c, word, word_before, !self.says_something_before_word)
    }

    fn note_comma(&mut self, c: char) {
        let is_dash = matches!(c, '-' | '–') && self.last.is_whitespace() && self.says_something;
        let needs_space = matches!(c, ',' | ';' | ':' | '،' | '؛') || is_dash;
        if needs_space || matches!(c, '—' | '，' | '、' | '；' | '：') {
            self.comma = Some(Comma { is_behind_digit: self.last_seen.is_numeric(), needs_space });
        }
    }

    fn add(&mut self, c: char) {
        if self.last.is_whitespace() && !c.is_whitespace() {
            self.word_before = self.word;
            self.word = self.held.len();
            self.says_something_before_word = self.says_something;
        }
        self.held.push(c);
        self.held_chars += 1;
        self.says_something |= c.is_alphanumeric();
        self.last = c;
        if !is_blank_char(c) {
            self.last_seen = c;
        }
    }

    /// Cuts what is longer than it may be, but not while it may have ended anyway.
    fn cut_what_is_long(&mut self) -> Option<String> {
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

    /// Gives what is held up to `place`, in front of which something is said and behind which something is seen.
    fn cut(&mut self, place: usize) -> Option<String> {
        let rest = self.held.get(place..)?.to_owned();
        self.held.truncate(place);
        let sentence = std::mem::replace(&mut self.held, rest);
        self.held_chars = self.held.chars().count();
        self.is_first = false;
        for known in [&mut self.word, &mut self.word_before, &mut self.clause, &mut self.gap] {
            *known = known.saturating_sub(place);
        }
        let says_something_before = |place| self.held.get(..place).is_some_and(says_something);
        self.says_something = says_something(&self.held);
        self.says_something_before_word = says_something_before(self.word);
        if !says_something_before(self.gap) {
            self.gap = 0;
        }
        Some(sentence)
    }
}

fn says_something(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// How much is held, not the words.
impl fmt::Debug for Sentences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentences").field("held_bytes", &self.held.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
