//! [`CardNumbers`]: finds payment card numbers by their check digit.

use std::error::Error;

use super::{Redaction, Redactor};
use crate::message::is_blank_char;

/// The lengths of card numbers. Shorter numbers would match telephone numbers.
const SHORTEST: usize = 13;
const LONGEST: usize = 19;
/// The number of digits at the end that are kept.
const KEPT: usize = 4;

/// A redactor for payment card numbers. Each digit except the last four becomes a `*`; separators stay.
///
/// - A card number has 13 to 19 digits, not all equal, and passes the check of the [Luhn
///   formula](https://en.wikipedia.org/wiki/Luhn_algorithm). It does not start with 0. It starts with 1 only if it has
///   15 digits, as the cards of airlines do. Otherwise a tenth of all times in milliseconds would match.
/// - Any number of white space, hyphens, dashes, dots and commas may separate the digits, because speech recognition
///   writes `4111, 1111.` Any other character ends the number, including letters and slashes.
/// - A number starts and ends at a separator or at the end of the digits. A longer run of digits contains no number.
/// - If several readings are valid, each is redacted: at most the last four digits of a card remain in any of them.
/// - ASCII, full-width, Arabic, Persian, Devanagari and Bengali digits count. Digits written as words do not.
///
/// One in ten other numbers of this form has a valid check digit by chance, and is redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CardNumbers;

impl Redactor for CardNumbers {
    fn find(&self, text: &str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> {
        let mut found = Vec::new();
        let may_be_digit = |byte: &u8| byte.is_ascii_digit() || !byte.is_ascii();
        if text.bytes().filter(may_be_digit).count() < SHORTEST {
            return Ok(found);
        }
        let mut digits: Vec<Digit> = Vec::new();
        let mut is_start = true;
        for (at, c) in text.char_indices() {
            if let Some(value) = digit(c) {
                digits.push(Digit { at, end: at + c.len_utf8(), value, is_start, is_rest: false, is_masked: false });
                is_start = false;
            } else if is_separator(c) {
                is_start = true;
            } else {
                drain_run(&mut digits, &mut found);
                is_start = true;
            }
        }
        drain_run(&mut digits, &mut found);
        Ok(found)
    }
}

#[derive(Clone, Copy)]
struct Digit {
    at: usize,
    end: usize,
    value: u8,
    /// Whether the character before it is not a digit.
    is_start: bool,
    /// Whether this is the first kept digit of a redacted number, which follows a `*`.
    is_rest: bool,
    is_masked: bool,
}

/// Finds the card numbers in a run of digits and separators, and clears the run.
fn drain_run(digits: &mut Vec<Digit>, found: &mut Vec<Redaction>) {
    // From left to right, so that the kept digits of a number are tried as a start, too. Then a second redaction of the
    // result finds nothing.
    for from in 0..digits.len() {
        for length in numbers_from(digits, from) {
            let rest = from + length - KEPT;
            digits.iter_mut().take(rest).skip(from).for_each(|digit| digit.is_masked = true);
            digits.iter_mut().skip(rest).take(1).for_each(|digit| digit.is_rest = true);
        }
    }
    let masked = digits.chunk_by(|digit, next| digit.is_masked == next.is_masked && !next.is_start);
    found.extend(masked.filter_map(|run| match run {
        [first, ..] if first.is_masked => Some(Redaction::new(first.at..run.last()?.end, "*".repeat(run.len()))),
        _ => None,
    }));
    digits.clear();
}

/// Returns the lengths of the card numbers that start with digit `from`.
fn numbers_from(digits: &[Digit], from: usize) -> Vec<usize> {
    let Some([first, ..]) = digits.get(from..).filter(|rest| rest.len() >= SHORTEST) else { return Vec::new() };
    let mut lengths = Vec::new();
    if !(first.is_start || first.is_rest) {
        return lengths;
    }
    // The Luhn sums with the digits at even or odd places, from 0, doubled.
    let (mut even, mut odd) = (0, 0);
    let mut all_same = true;
    for (place, digit) in digits.iter().skip(from).take(LONGEST).enumerate() {
        let once = u32::from(digit.value);
        let twice = once * 2 / 10 + once * 2 % 10;
        (even, odd) = if place % 2 == 0 { (even + twice, odd + once) } else { (even + once, odd + twice) };
        all_same &= digit.value == first.value;
        let length = place + 1;
        let is_issued = match first.value {
            0 => false,
            1 => length == 15,
            _ => true,
        };
        // Luhn doubles the digit before the last.
        let sum = if length % 2 == 0 { even } else { odd };
        let is_end = digits.get(from + length).is_none_or(|next| next.is_start);
        if length >= SHORTEST && is_end && is_issued && !all_same && sum % 10 == 0 {
            lengths.push(length);
        }
    }
    lengths
}

fn digit(c: char) -> Option<u8> {
    const ZEROS: [char; 6] = ['0', '\u{ff10}', '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}'];
    let above = |zero: &char| u32::from(c).checked_sub(u32::from(*zero)).filter(|value| *value < 10);
    ZEROS.iter().find_map(above).and_then(|value| u8::try_from(value).ok())
}

fn is_separator(c: char) -> bool {
    matches!(c, '-' | '.' | ',' | '\u{ad}' | '\u{2010}'..='\u{2015}' | '\u{2212}') || is_blank_char(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut written = text.to_owned();
        for redaction in CardNumbers.find(text).unwrap().iter().rev() {
            written.replace_range(redaction.range.clone(), &redaction.replacement);
        }
        written
    }

    #[test]
    fn card_numbers_keep_their_last_four_digits() {
        for (said, left) in [
            ("4111111111111111", "************1111"),
            ("5555 5555 5555 4444", "**** **** **** 4444"),
            ("3782-822463-10005", "****-******-*0005"),
            ("6011111111111117", "************1117"),
            ("30569309025904", "**********5904"),
            ("4222222222222", "*********2222"),
            ("6250941006528599", "************8599"),
            ("6304000000000000000", "***************0000"),
            ("6205500000000000004", "***************0004"),
            ("135412345678911", "***********8911"),
            ("2223003122003222", "************3222"),
            ("4111.1111.1111.1111.", "****.****.****.1111."),
            ("4111, 1111. 1111... 1111", "****, ****. ****... 1111"),
            ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "* * * * * * * * * * * * 1 1 1 1"),
            ("４１１１\u{a0}１１１１\u{a0}１１１１\u{a0}１１１１", "****\u{a0}****\u{a0}****\u{a0}１１１１"),
            ("٤١١١١١١١١١١١١١١١", "************١١١١"),
            ("4111\u{200b}1111\u{2011}1111\n1111", "****\u{200b}****\u{2011}****\n1111"),
        ] {
            assert_eq!(written(said), left, "{said}");
        }
    }

    #[test]
    fn cards_are_found_among_other_digits() {
        for (said, left) in [
            ("at 10:30 card 4111 1111 1111 1111 on 12/27", "at 10:30 card **** **** **** 1111 on 12/27"),
            ("7 4111 1111 1111 1111", "7 **** **** **** 1111"),
            ("room 12 4111111111111111 12/27 123", "room 12 ************1111 12/27 123"),
            ("4111111111111111 5555555555554444", "************1111 ************4444"),
            ("card4111111111111111x", "card************1111x"),
            ("perché 4111111111111111", "perché ************1111"),
        ] {
            assert_eq!(written(said), left, "{said}");
        }
    }

    #[test]
    fn other_numbers_are_kept() {
        for said in [
            "",
            "I have one card.",
            "4111111111111112",
            "order 1234567890123456",
            "+1 415 555 2671",
            "+39 06 1234 5678",
            "0000000000000000",
            "8888 8888 8888 8888",
            "0111111111111119",
            "411111111111111111111",
            "94111111111111111111",
            "41111111/11111111",
            "4111 1111 and 1111 1111",
            "４１１１１１",
            // A time in milliseconds with a valid check digit.
            "1744815823051",
        ] {
            assert_eq!(written(said), said);
        }
    }
}
