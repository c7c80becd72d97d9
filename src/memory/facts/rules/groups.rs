//! Codes and phone numbers that somebody dictates in groups of different kinds.

use super::numbers::is_noun;
use super::{Finding, LONGEST, is_group};
use crate::memory::facts::dictation::{is_link, is_slash};
use crate::memory::facts::language::WORDS;
use crate::memory::facts::tokens::Token;

/// The minimum number of letters and digits in all groups.
const LEAST: usize = 5;

/// The pieces of a code, counted.
#[derive(Default)]
struct Groups {
    /// The number of words up to the last piece.
    length: usize,
    /// The number of groups with a pause after each.
    groups: usize,
    characters: usize,
    letters: usize,
    words: usize,
    digits: usize,
    /// The digits that were said one by one, in the group with the most of them.
    single: usize,
}

impl Finding<'_> {
    /// Returns the length of a code in groups of digits, number words and letters with pauses between them, of which other
    /// rules would find a part: "0171, 55 60, 3 8 2", "tre quattro otto, 22 16, nove zero cinque", "MX, nueve, tres, cero,
    /// QF, 21".
    pub(super) fn dictated_groups(&self, at: usize) -> Option<usize> {
        let length = self.groups_of_pieces(at);
        let is_longer = || length > self.spelled_by_caller(at) && length > self.number_words(at);
        Some(length).filter(|length| *length > 0 && is_longer())
    }

    fn groups_of_pieces(&self, at: usize) -> usize {
        let mut code = Groups::default();
        let mut single = 0;
        let mut end = at;
        while end < at + LONGEST && self.get(end).is_some_and(|token| end == at || !token.is_first) {
            let links = if code.length > 0 { self.link(end) } else { 0 };
            let Some(piece) = self.piece(end + links) else { break };
            let next = end + links + piece.length;
            // "4 4 1, 2 adults".
            if self.is_open_before(next) && self.piece(next).is_none() && self.get(next).is_some_and(is_counted) {
                break;
            }
            end = next;
            single = if piece.is_single { single + piece.length } else { 0 };
            code.single = code.single.max(single);
            code.length = end - at;
            code.characters += piece.characters;
            match piece.kind {
                Kind::Letters => code.letters += 1,
                Kind::Words => code.words += 1,
                Kind::Digits => code.digits += 1,
            }
            if !self.is_open_before(end) {
                (single, code.groups) = (0, code.groups + 1);
            }
        }
        let groups = code.groups + usize::from(self.is_open_before(end));
        let numbers = code.digits + code.words;
        let begins_with_zero = self.get(at).is_some_and(|token| token.text.starts_with('0') && token.text.len() > 1);
        let is_dictated =
            code.single > 1 || begins_with_zero || (code.letters > 0 && numbers > 0 && code.letters + numbers > 2);
        let is_mixed = groups > 1 || (code.digits > 0 && code.words > 0);
        if is_mixed && is_dictated && code.characters >= LEAST { code.length } else { 0 }
    }

    /// Returns the piece of a code that begins at a word.
    fn piece(&self, at: usize) -> Option<Piece> {
        let token = self.get(at)?;
        if token.has_currency || token.is_label {
            return None;
        }
        let words = self.number_group(at);
        if words > 0 {
            let numbers = self.tokens.iter().skip(at).take(words).filter_map(|token| WORDS.number(&token.lower));
            let (count, digits) = numbers.fold((0, 0), |(count, digits), number| {
                (count + 1 + usize::from(number > 9), digits + usize::from(number < 10))
            });
            return Some(Piece { kind: Kind::Words, length: words, characters: count, is_single: digits == words });
        }
        let is_letters = token.is_word() && token.text.chars().all(char::is_uppercase) && is_group(token);
        let is_piece = is_letters || token.is_digits() || token.is_dictated;
        let kind = if is_letters { Kind::Letters } else { Kind::Digits };
        let characters = token.text.len();
        is_piece.then_some(Piece { kind, length: 1, characters, is_single: !is_letters && characters == 1 })
    }

    /// Returns the length of a word for a sign between two pieces: "PA, trattino, 0093".
    fn link(&self, at: usize) -> usize {
        usize::from(self.get(at).is_some_and(|token| (is_link(token) || is_slash(token)) && !token.is_first))
    }
}

struct Piece {
    kind: Kind,
    length: usize,
    /// The number of letters and digits.
    characters: usize,
    /// Whether it is digits that are said one by one.
    is_single: bool,
}

enum Kind {
    Letters,
    /// A number in words.
    Words,
    Digits,
}

/// Returns whether a number before the word counts or dates it.
fn is_counted(token: &Token<'_>) -> bool {
    let word = token.lower.as_str();
    is_noun(token) || token.is_proper() || WORDS.units.contains(word) || WORDS.months.contains(word)
}
