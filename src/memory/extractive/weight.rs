//! Scores a clause: points for facts, and terms that reveal repetition.

use super::hash::Hash;
use super::lexicon::{self, Phrase, Word};

/// The score of a clause, regardless of its speaker and time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub points: u32,
    /// It holds a number, a name, a date or an id.
    pub is_hard: bool,
    /// It states somebody's identity or data.
    pub is_identity: bool,
    /// It states a wish.
    pub is_wish: bool,
    pub is_question: bool,
    pub is_small_talk: bool,
    pub words: usize,
}

/// The hash of a word, number or name, and its share of the clause's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    pub hash: u64,
    pub worth: u32,
}

/// The maximum points for the hard facts of a clause.
const MOST_HARD: u32 = 110;
/// The worth of a number, a name, a date or an id.
const HARD: u32 = 3;
/// The worth of any other meaningful word.
const SOFT: u32 = 1;

/// Scores a clause and adds its terms. `lower` is the clause in lower case.
pub(super) fn weigh(clause: &str, lower: &str, terms: &mut Vec<Term>) -> Weight {
    let mut scale =
        Scale { terms, weight: Weight::default(), numbers: Run::default(), letters: Run::default(), hard: 0, soft: 0 };
    let mut previous = "";
    for (written, lower) in clause.split([' ', '\n']).zip(lower.split([' ', '\n'])) {
        let (written, word) = (core(written), core(lower));
        if !word.is_empty() {
            scale.take(written, word, previous);
            previous = word;
        }
    }
    scale.end_numbers(false);
    scale.end_letters();
    let Scale { mut weight, hard, soft, .. } = scale;
    // A list of twenty prices is not worth twenty times one price.
    weight.points += hard.min(MOST_HARD) + soft.min(5) * 4;
    weight.is_question |= clause.ends_with(['?', '？']);
    if weight.is_small_talk && !weight.is_hard {
        weight.points = weight.points.saturating_sub(45);
    }
    if clause.ends_with(':') {
        // A heading alone is worth little.
        weight.points /= 3;
    }
    weight
}

/// Removes the punctuation around a word.
fn core(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '$' | '€' | '£' | '%' | '#' | '+'))
}

struct Scale<'a> {
    terms: &'a mut Vec<Term>,
    weight: Weight,
    numbers: Run,
    letters: Run,
    /// The points of hard facts.
    hard: u32,
    /// The number of meaningful words that are in no list.
    soft: u32,
}

/// The words of one number, or the letters of a spelled name. They form one term, because order matters: "five five two"
/// is not "two five five".
#[derive(Default)]
struct Run {
    words: u32,
    hash: Hash,
}

impl Scale<'_> {
    fn take(&mut self, written: &str, word: &str, previous: &str) {
        self.weight.words += 1;
        let is_first = self.weight.words == 1;
        let kind = lexicon::word(word);
        if kind == Some(Word::Number) {
            self.numbers.add(word);
            return;
        }
        let counted = kind == Some(Word::Unit) && self.numbers.words > 0;
        self.end_numbers(counted);
        if is_letter(word) && (self.letters.words > 0 || word != "i" && word != "a") {
            self.letters.add(word);
        } else {
            self.end_letters();
        }
        match lexicon::phrase(previous, word) {
            Some(Phrase::Identity) => {
                self.weight.points += 45;
                self.weight.is_identity = true;
            }
            Some(Phrase::Intent) => {
                self.weight.points += 25;
                self.weight.is_wish = true;
            }
            Some(Phrase::Promise) => self.weight.points += 15,
            Some(Phrase::SmallTalk) => self.weight.is_small_talk = true,
            None => {}
        }
        if self.score_code(written, word) {
            return;
        }
        match kind {
            Some(Word::Date) => self.hard(word, 25),
            Some(Word::Unit) if counted => self.term(word, SOFT),
            Some(Word::Act) => self.soft(word, 12),
            Some(Word::Topic) => self.soft(word, 8),
            Some(Word::Outcome) => self.soft(word, 20),
            // Transcripts have no question marks: "like which account would you like".
            Some(Word::Ask) => self.weight.is_question |= self.weight.words <= 3,
            Some(Word::Asks) => self.weight.is_question |= is_first,
            Some(Word::Will) => self.weight.points += 12,
            Some(Word::Not) => self.soft(word, 8),
            Some(Word::Stop | Word::Unit | Word::Number) => {}
            None if is_name(written) && !is_first => self.hard(word, 18),
            None if word.chars().count() > 3 => {
                self.soft += 1;
                self.term(word, SOFT);
            }
            None => {}
        }
    }

    /// Scores a word with a digit, an e-mail address or an abbreviation in capitals. Returns `true` if it was one.
    fn score_code(&mut self, written: &str, word: &str) -> bool {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        let points = match (digits, letters) {
            _ if word.contains('@') => 60,
            (0, 3..=8) if written.chars().all(char::is_uppercase) => 20,
            (0, _) => return false,
            (_, 2..) if word.len() > 3 => 60,
            (1, 0) if word.len() == 1 => 5,
            _ if word.contains(['$', '€', '£', '%']) => 50,
            _ => 35,
        };
        self.hard(word, points);
        true
    }

    fn hard(&mut self, word: &str, points: u32) {
        let mut hash = Hash::default();
        hash.add(word);
        self.hard_term(hash, points);
    }

    fn hard_term(&mut self, hash: Hash, points: u32) {
        self.hard += points;
        self.weight.is_hard = true;
        self.terms.push(Term { hash: hash.value(), worth: HARD });
    }

    fn soft(&mut self, word: &str, points: u32) {
        self.weight.points += points;
        self.term(word, SOFT);
    }

    fn term(&mut self, word: &str, worth: u32) {
        self.terms.push(Term { hash: Hash::of(word), worth });
    }

    /// Ends a number. `counted` is `true` if a unit follows.
    fn end_numbers(&mut self, counted: bool) {
        let numbers = std::mem::take(&mut self.numbers);
        if numbers.words > 1 || counted && numbers.words > 0 {
            self.hard_term(numbers.hash, 30 + 8 * numbers.words.min(8) + if counted { 15 } else { 0 });
        } else if numbers.words == 1 {
            self.weight.points += 6;
            self.terms.push(Term { hash: numbers.hash.value(), worth: SOFT });
        }
    }

    fn end_letters(&mut self) {
        let letters = std::mem::take(&mut self.letters);
        // "p m" has two letters; a spelled name has more.
        if letters.words > 2 {
            self.hard_term(letters.hash, 40);
        }
    }
}

impl Run {
    fn add(&mut self, word: &str) {
        self.words += 1;
        self.hash.add(word);
    }
}

fn is_letter(word: &str) -> bool {
    word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns `true` if a word starts with a capital and a small letter, unlike "I".
fn is_name(written: &str) -> bool {
    let mut chars = written.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.next().is_some_and(char::is_lowercase)
}
