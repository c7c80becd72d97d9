//! [`Pattern`]: redactors for other personal data with a fixed form.

use std::error::Error;
use std::ops::Range;

use super::scan::{Letters, Symbol, runs};
use super::{Redaction, Redactor, email, iban, ids, phone};

/// A redactor for one kind of personal data, of those with a fixed form. Each match becomes a label such as `[email]`.
///
/// ```
/// use verbale::log::{Pattern, Redactor};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// assert_eq!(Pattern::Iban.find("it is DE89 3704 0044 0532 0130 00, please")?.len(), 1);
/// assert_eq!(Pattern::Iban.find("it is DE89 3704 0044 0532 0130 01, please")?.len(), 0);
/// # Ok(()) }
/// ```
///
/// Separators, filler words, scripts and digits as words are those of [`CardNumbers`](super::CardNumbers), except in
/// e-mail addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pattern {
    /// Numbers of bank accounts: a country of the [IBAN registry](https://www.swift.com/standards/data-standards/iban-international-bank-account-number),
    /// its length, and valid check digits.
    Iban,
    /// E-mail addresses, also spoken ones such as `ann dot lee at example dot com`.
    Email,
    /// Telephone numbers: with `+` or `00`; in North America in groups of 3, 3 and 4; elsewhere with a leading 0 in groups;
    /// and any number of 7 to 15 digits after a word such as `phone` or `Handy`.
    Phone,
    /// National identification numbers: US social security number, UK National Insurance number, German tax id, French
    /// NIR, Italian codice fiscale, Spanish DNI and NIE, Portuguese NIF, Brazilian CPF. Check digits are verified.
    /// Numbers without check digits are found in their usual groups, or after the name of the number.
    NationalId,
}

impl Redactor for Pattern {
    fn find(&self, text: &str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> {
        let mut found = Vec::new();
        let (label, kind) = match self {
            Self::Iban => ("[iban]", "iban"),
            Self::Email => ("[email]", "email"),
            Self::Phone => ("[phone]", "phone"),
            Self::NationalId => ("[id]", "nationalId"),
        };
        let add = |range: Range<usize>| found.push(Redaction::new(kind, range, label));
        match self {
            Self::Iban => numbers(text, Letters::Keep, iban::length, add),
            Self::Email => email::find(text, add),
            Self::Phone => numbers(text, Letters::End, phone::length, add),
            Self::NationalId => numbers(text, Letters::Keep, ids::length, add),
        }
        Ok(found)
    }
}

/// Adds the ranges of the numbers that `length` finds at the start of symbols, from left to right, without overlaps.
fn numbers(
    text: &str,
    letters: Letters,
    length: impl Fn(&str, &[Symbol]) -> Option<usize>,
    mut add: impl FnMut(Range<usize>),
) {
    runs(text, letters, |run| {
        let mut from = 0;
        while let Some(rest @ [first, ..]) = run.get(from..) {
            let length = if first.is_first { length(text, rest) } else { None };
            let last = length.and_then(|length| rest.get(length.checked_sub(1)?));
            if let Some(last) = last {
                add(first.at..last.end);
            }
            from += length.unwrap_or(1).max(1);
        }
    });
}

/// Returns whether one of `words` is in the text shortly before `at`.
pub(super) fn is_after(text: &str, at: usize, words: &[&str]) -> bool {
    const NEAR: usize = 40;
    let from = (at.saturating_sub(NEAR)..=at).find(|from| text.is_char_boundary(*from)).unwrap_or(at);
    let before = text.get(from..at).unwrap_or_default().to_lowercase();
    let mut found = before.split(|c: char| !c.is_alphabetic());
    found.any(|word| words.contains(&word))
}

/// Returns the first `length` symbols as text if the number may end after them.
pub(super) fn prefix(run: &[Symbol], length: usize) -> Option<Vec<u8>> {
    let symbols = run.get(..length)?;
    symbols.last()?.is_last.then(|| symbols.iter().map(|symbol| symbol.c).collect())
}
