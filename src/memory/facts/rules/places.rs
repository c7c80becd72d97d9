//! Addresses.

use super::Finding;
use crate::memory::facts::language::WORDS;
use crate::memory::facts::tokens::Token;

/// The maximum number of words of the name of a street.
const LONGEST_NAME: usize = 5;

impl Finding<'_> {
    /// Returns the length of an address with a word for streets that begins here: `14 bis, rue des Lilas`,
    /// `Via Garibaldi 12`, `Gartenweg 4a`. Without such a word, see [`counted`](Self::counted).
    pub(super) fn address(&self, at: usize) -> Option<usize> {
        let is_number = |at: usize| self.get(at).is_some_and(is_house_number);
        let is_suffix = |token: &Token<'_>| ["bis", "ter"].contains(&token.lower.as_str());
        let number = match is_number(at) {
            true => 1 + usize::from(self.get(at + 1).is_some_and(is_suffix)),
            false => 0,
        };
        let is_whole = |token: &Token<'_>| {
            token.is_proper() && !token.ends_clause && WORDS.street_ends.iter().any(|end| token.lower.ends_with(end))
        };
        if self.get(at).is_some_and(is_whole) && is_number(at + 1) {
            return Some(2);
        }
        let street = at + number;
        let names_street = |token: &Token<'_>| !token.ends_clause && WORDS.streets.contains(token.lower.as_str());
        self.get(street).filter(|token| names_street(token))?;
        let is_name = |token: &Token<'_>| {
            token.is_word()
                && (token.text.starts_with(char::is_uppercase) || WORDS.without_article(&token.lower) != token.lower)
        };
        // "Via 25 Aprile 3".
        let is_day = |token: &Token<'_>| token.text.len() <= 2 && is_house_number(token);
        let is_part =
            |token: &Token<'_>| is_name(token) || is_day(token) || WORDS.particles.contains(token.lower.as_str());
        let name = self.run(street + 1, is_part).min(LONGEST_NAME);
        let words = self.tokens.get(street + 1..street + 1 + name)?;
        let name = words.iter().rposition(is_name)? + 1;
        let end = street + 1 + name;
        match number {
            0 => is_number(end).then_some(end + 1 - at),
            _ => Some(end - at),
        }
    }
}

fn is_house_number(token: &Token<'_>) -> bool {
    let digits = token.text.chars().filter(char::is_ascii_digit).count();
    (1..=4).contains(&digits)
        && token.text.chars().count() <= digits + 1
        && !token.has_currency
        && token.text.starts_with(|c: char| c.is_ascii_digit())
}
