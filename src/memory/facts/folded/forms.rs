//! The forms of values: numbers, codes, dates and words.

use super::super::language::WORDS;
use super::super::tokens::CURRENCIES;

/// The minimum number of digits and letters in a number or code that nobody says twice with pleasure.
const LEAST_DICTATED: usize = 5;

/// Returns whether a value is a long number, a code or an e-mail address.
pub(super) fn is_dictated(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let capitals = value.chars().filter(|c| c.is_uppercase()).count();
    let in_words = || value.split(' ').filter(|word| WORDS.is_number(&word.to_lowercase())).count();
    let is_long = digits >= LEAST_DICTATED || (digits > 0 && digits + capitals >= LEAST_DICTATED);
    is_long || value.contains('@') || in_words() >= LEAST_DICTATED
}

/// Returns whether a value can be a part of a longer number or code, which it corrects.
pub(super) fn is_piece(piece: &str, whole: &str) -> bool {
    let is_amount = |value: &str| value.contains(CURRENCIES) || value.contains([',', '.']);
    let is_number =
        |value: &str| is_numeric(value) && !is_amount(value) && matches!(form(value), (_, _, false, false, None));
    // "Ten to one" is a time.
    let has_other = piece.split(' ').map(str::to_lowercase).any(|word| {
        let is_letters = word.chars().count() > 1 && word.chars().all(char::is_alphabetic);
        is_letters && !WORDS.is_number(&word) && WORDS.repeats(&word).is_none()
    });
    !has_other && is_number(piece) && is_number(whole) && characters(piece) < characters(whole)
}

/// Returns the number of letters and digits of a number or code. A number in words counts as one.
fn characters(value: &str) -> usize {
    let of_word = |word: &str| if WORDS.is_number(&word.to_lowercase()) { 1 } else { word.chars().count() };
    value.split(' ').map(of_word).sum()
}

/// Returns whether only the first of two dates has a year, as a date of birth has.
pub(super) fn drops_year(one: &str, other: &str) -> bool {
    let has_year =
        |value: &str| value.rsplit(' ').next().is_some_and(|year| year.len() == 4 && year.parse::<u16>().is_ok());
    has_year(one) && !has_year(other)
}

/// Returns whether a value is one word of letters and digits, such as an id.
pub(super) fn is_code(value: &str) -> bool {
    value.contains(char::is_alphabetic) && value.contains(char::is_numeric) && !value.contains(' ')
}

/// Returns whether a value has digits, or consists of numbers in words.
pub(in crate::memory::facts) fn is_numeric(value: &str) -> bool {
    let is_number = |word: &str| WORDS.is_number(word) || WORDS.repeats(word).is_some();
    let lower = value.to_lowercase();
    // "Vinte e três".
    let mut words = lower.split([' ', '-']).filter(|word| word.len() > 2).peekable();
    value.contains(char::is_numeric) || (words.peek().is_some() && words.all(is_number))
}

/// Returns the form of a value: whether it has a number, letters and the form of a code, whether it is a date, and the noun
/// after a number.
pub(in crate::memory::facts) fn form(value: &str) -> (bool, bool, bool, bool, Option<String>) {
    let has = |is_it: fn(char) -> bool| value.contains(is_it);
    let lower = value.to_lowercase();
    let last_word = lower.rsplit(' ').next();
    let ends = |phrase: &Vec<&str>| phrase.last().copied() == last_word;
    let is_date = lower.split(' ').any(|word| WORDS.months.contains(word) || WORDS.days.contains(word))
        || WORDS.after_dates.iter().any(ends);
    let first_word = lower.split(' ').next().unwrap_or_default();
    let starts_with_number = first_word.starts_with(char::is_numeric) || WORDS.is_number(first_word);
    let is_noun = |word: &&str| !WORDS.is_number(word) && word.chars().all(char::is_alphabetic);
    let noun = last_word.filter(|word| starts_with_number && !is_date && is_noun(word));
    let noun = noun.map(|noun| noun.trim_end_matches('s').to_owned());
    let is_capitals = value.chars().count() > 1 && value.chars().all(char::is_uppercase);
    let is_code = is_capitals || has(|c| c == '@' || c == '_');
    (is_numeric(value) || noun.is_some(), has(char::is_alphabetic), is_code, is_date, noun)
}
