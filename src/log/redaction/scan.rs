//! [`runs`]: the digits of a text, and optionally its letters, without what separates them.
//!
//! This module owns the rules for what may separate two digits of one number. Each redactor of this crate uses them.

use super::words::{self, Meaning};
use crate::message::is_blank_char;

/// A digit or letter of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbol {
    /// The range of bytes in the text. The symbols of a word such as `eleven` share one range.
    pub at: usize,
    pub end: usize,
    /// An ASCII digit or capital letter.
    pub c: u8,
    /// Whether a separator is before it.
    pub is_first: bool,
    /// Whether a separator is after it.
    pub is_last: bool,
}

/// Whether letters belong to the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    /// A word that is not part of a spoken number ends a run.
    End,
    /// Only a long word ends a run.
    Keep,
}

/// The longest word that may be a part of an identifier.
const LONGEST_PART: usize = 8;
/// The length of the longest tag of a speech recognition, such as `[unintelligible]`.
const LONGEST_TAG: usize = 20;

/// Calls `each` with each run of symbols that nothing but separators interrupts.
///
/// White space, invisible characters, `- . , / _ ( )` and similar punctuation, hesitations and short filler words separate
/// symbols. Digits of all scripts count, and spoken ones such as `four` and `double four`. Takes time linear in the text.
pub(super) fn runs(text: &str, letters: Letters, each: impl FnMut(&[Symbol])) {
    let mut scan =
        Scan { text, letters, each, run: Vec::new(), is_glued: false, times: None, tens: None, is_foreign: false };
    scan.run();
}

struct Scan<'a, F> {
    text: &'a str,
    letters: Letters,
    each: F,
    run: Vec<Symbol>,
    /// Whether the last symbol ends where the next character starts.
    is_glued: bool,
    /// The start of a word such as `double`, and its number.
    times: Option<(usize, u8)>,
    /// The end of a word such as `forty`.
    tens: Option<usize>,
    /// Whether the last spoken digit of the run was not English.
    is_foreign: bool,
}

impl<F: FnMut(&[Symbol])> Scan<'_, F> {
    fn run(&mut self) {
        let text = self.text;
        let mut at = 0;
        while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
            let end = at + c.len_utf8();
            at = if let Some(digit) = digit(c) {
                self.written(at, end, digit);
                end
            } else if c.is_alphabetic() {
                let rest = text.get(at..).unwrap_or_default();
                let end = at + rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
                self.word(at, end);
                end
            } else if let Some(length) = tag(text.get(at..).unwrap_or_default()) {
                self.separate();
                at + length
            } else {
                if is_separator(c) {
                    self.separate()
                } else {
                    self.end()
                }
                end
            };
        }
        self.end();
    }

    fn separate(&mut self) {
        self.is_glued = false;
        if let Some(last) = self.run.last_mut() {
            last.is_last = true;
        }
    }

    fn end(&mut self) {
        self.separate();
        if !self.run.is_empty() {
            (self.each)(&self.run);
            self.run.clear();
        }
        (self.times, self.tens, self.is_foreign) = (None, None, false);
    }

    /// Adds the symbols of one place in the text.
    fn push(&mut self, at: usize, end: usize, symbols: impl IntoIterator<Item = u8>) {
        let is_first = !self.is_glued;
        let before = self.run.len();
        self.run.extend(symbols.into_iter().map(|c| Symbol { at, end, c, is_first: false, is_last: false }));
        if let Some(first) = self.run.get_mut(before) {
            first.is_first = is_first;
        }
        (self.is_glued, self.times, self.tens) = (true, None, None);
    }

    fn written(&mut self, at: usize, end: usize, digit: u8) {
        let (at, times) = self.times.unwrap_or((at, 1));
        self.push(at, end, (0..times).map(|_| b'0' + digit));
    }

    fn word(&mut self, at: usize, end: usize) {
        let word = self.text.get(at..end).unwrap_or_default();
        let is_part = self.letters == Letters::Keep;
        let follows_digit = self.is_glued && self.run.last().is_some_and(|last| last.c.is_ascii_digit());
        let is_glued = follows_digit || self.text.get(end..).and_then(|rest| rest.chars().next()).is_some_and(is_digit);
        let is_short = word.len() == 1 || word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_uppercase());
        let known = if is_part && (is_glued || is_short) { None } else { meaning(word) };
        match known {
            Some(Meaning::Filler) => self.separate(),
            Some(Meaning::Um) if self.is_foreign => self.spoken(at, end, 1, true),
            Some(Meaning::Um) => self.separate(),
            Some(Meaning::Digit(digit)) => self.spoken(at, end, digit, true),
            Some(Meaning::English(digit)) => self.spoken(at, end, digit, false),
            Some(Meaning::Times(times)) => {
                self.separate();
                self.times = Some((at, times));
            }
            Some(Meaning::Teen(digit)) => {
                self.separate();
                self.push(at, end, [b'1', b'0' + digit]);
                self.separate();
            }
            Some(Meaning::Tens(tens)) => {
                self.separate();
                self.push(at, end, [b'0' + tens, b'0']);
                self.separate();
                self.tens = Some(end);
            }
            None if is_part && word.is_ascii() && (is_glued || word.len() <= LONGEST_PART) => self.letters_of(at, word),
            None => self.end(),
        }
    }

    fn letters_of(&mut self, at: usize, word: &str) {
        for (at, c) in (at..).zip(word.bytes()) {
            self.push(at, at + 1, [c.to_ascii_uppercase()]);
        }
    }

    fn spoken(&mut self, at: usize, end: usize, digit: u8, is_foreign: bool) {
        // `forty one` is 41.
        let gap = self.tens.and_then(|tens| self.text.get(tens..at)).filter(|gap| matches!(*gap, " " | "-"));
        if gap.is_some()
            && digit > 0
            && let Some([tens, ones]) = self.run.last_chunk_mut()
        {
            (tens.end, ones.end, ones.c, self.tens) = (end, end, b'0' + digit, None);
        } else {
            self.separate();
            self.written(at, end, digit);
        }
        self.separate();
        self.is_foreign = is_foreign;
    }
}

fn meaning(word: &str) -> Option<Meaning> {
    if word.len() > words::LONGEST {
        return None;
    }
    match word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        true => words::meaning(word),
        false => words::meaning(&word.to_lowercase()),
    }
}

/// Returns the length of a tag such as `[noise]` or `<unk>` at the start of `text`.
fn tag(text: &str) -> Option<usize> {
    let close = match text.bytes().next()? {
        b'[' => b']',
        b'<' => b'>',
        _ => return None,
    };
    let name = text.bytes().skip(1).take(LONGEST_TAG);
    let length = name.clone().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b' ').count();
    (length > 0 && text.as_bytes().get(length + 1) == Some(&close)).then_some(length + 2)
}

/// The digits zero of all scripts, sorted.
#[rustfmt::skip]
const ZEROS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136,
    0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0,
    0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,];

fn digit(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.to_digit(10).and_then(|digit| u8::try_from(digit).ok());
    }
    let c = u32::from(c);
    let zero = ZEROS.get(ZEROS.partition_point(|zero| *zero <= c).checked_sub(1)?)?;
    u8::try_from(c - zero).ok().filter(|digit| *digit < 10)
}

fn is_digit(c: char) -> bool {
    digit(c).is_some()
}

fn is_separator(c: char) -> bool {
    match c {
        '-' | '.' | ',' | '/' | '_' | '(' | ')' | '\'' | '"' | '|' | '\\' | '~' | '·' | '•' | '…' => true,
        // Dashes, slashes, quotes, and the enclosing keycap of a digit emoji.
        '\u{2010}'..='\u{2019}'
        | '\u{2212}'
        | '\u{2044}'
        | '\u{2215}'
        | '\u{ff0f}'
        | '\u{ff0e}'
        | '\u{ff0c}'
        | '\u{ff0d}'
        | '\u{3001}'
        | '\u{3002}'
        | '\u{20e3}' => true,
        c => is_blank_char(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, letters: Letters) -> Vec<String> {
        let mut read = Vec::new();
        runs(text, letters, |run| {
            let mut written = String::new();
            for symbol in run {
                if symbol.is_first && !written.is_empty() {
                    written.push(' ');
                }
                written.push(char::from(symbol.c));
            }
            read.push(written);
        });
        read
    }

    #[test]
    fn digits_are_read_across_separators_words_and_scripts() {
        for (text, digits) in [
            ("4111 uh 11-22, and then 3", vec!["4111 11 22 3"]),
            ("four one double one, triple 7", vec!["4 1 11 777"]),
            ("forty-one eleven twenty five, sixty oh", vec!["41 11 25 60 0"]),
            ("quatre un um vier eins äh zwo", vec!["4 1 1 4 1 2"]),
            ("quatro um um sete", vec!["4 1 1 7"]),
            ("four um one", vec!["4 1"]),
            ("4 [noise] 5 <unk> 6 [1] 7", vec!["4 5 6", "1", "7"]),
            ("one of two", vec!["1", "2"]),
            ("double check 4", vec!["4"]),
            ("a4b5", vec!["4", "5"]),
            ("4\u{202e}1\u{200b}1\u{2066}1", vec!["4 1 1 1"]),
            ("４١\u{966}𝟗4️⃣", vec!["41094"]),
            ("10:30", vec!["10", "30"]),
        ] {
            assert_eq!(read(text, Letters::End), digits, "{text}");
        }
    }

    #[test]
    fn letters_of_identifiers_are_kept() {
        for (text, symbols) in [
            ("DE89 37 uh 04", vec!["DE89 37 04"]),
            ("d e eight nine", vec!["D E 8 9"]),
            ("identification AB12c", vec!["AB12C"]),
            ("1six", vec!["1SIX"]),
        ] {
            assert_eq!(read(text, Letters::Keep), symbols, "{text}");
        }
    }
}
