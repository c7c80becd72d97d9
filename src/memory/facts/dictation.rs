//! Joins the words with which somebody dictates a code: "P as in Peter", "double five", "4 0 0 dash 7".

mod letters;

use super::language::{WORDS, begins_with};
use super::tokens::Token;

/// Joins words that stand for one letter or digit, and removes those that stand for none.
pub(super) fn join(tokens: &mut Vec<Token<'_>>) {
    join_letters(tokens);
    letters::write(tokens);
    write_alphabet(tokens);
    join_repeated(tokens);
    remove_links(tokens);
    write_digits(tokens);
}

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Replaces "P as in Peter" by one word, `P`.
fn join_letters(tokens: &mut Vec<Token<'_>>) {
    let words: Vec<&str> = tokens.iter().map(|token| token.lower.as_str()).collect();
    let spelled = |at: usize| {
        let phrase = begins_with(&WORDS.spelling, words.get(at + 1..)?)?;
        let word = at + 1 + phrase;
        let (letter, example) = (tokens.get(at)?, tokens.get(word)?);
        let name = || letters::named(&[&letter.lower]).filter(|_| letter.text.len() > 1 && !is_capitals(letter));
        let text = self::letter(letter).or_else(name)?;
        // "I for instance" spells nothing.
        let is_meant = phrase > 1 || ((letter.text == text || letter.text.len() > 1) && example.is_capitalised());
        let is_open = !tokens.get(at..word)?.iter().any(|token| token.ends_clause);
        (is_meant && is_open && example.lower.starts_with(&text.to_lowercase())).then_some((text, word))
    };
    let found: Vec<(usize, &str, usize)> =
        (0..tokens.len()).filter_map(|at| spelled(at).map(|(text, end)| (at, text, end))).collect();
    let mut is_joined = vec![false; tokens.len()];
    for (index, (at, text, end)) in found.iter().enumerate() {
        let is_spelled = found.get(index + 1).is_some_and(|(next, ..)| *next == end + 1);
        let next = tokens.get(end + 1).filter(|next| !next.is_first);
        let goes_on = next.is_some_and(|next| is_spelled || is_piece(next) || is_link(next));
        let ends_clause = !goes_on && tokens.get(*end).is_some_and(|token| token.ends_clause);
        if let Some(token) = tokens.get_mut(*at) {
            (*token, token.ends_clause) = (token.dictated(text), ends_clause);
        }
        is_joined.get_mut(at + 1..=*end).unwrap_or_default().fill(true);
        // "T, T as in Toledo" is one letter.
        let is_said = |before: usize| {
            let is_found =
                index.checked_sub(1).and_then(|index| found.get(index)).is_some_and(|(.., end)| *end == before);
            !is_found && tokens.get(before).is_some_and(|token| token.text == *text && token.ends_clause)
        };
        if let Some(before) = at.checked_sub(1).filter(|before| is_said(*before)) {
            is_joined.get_mut(before).into_iter().for_each(|is_joined| *is_joined = true);
        }
    }
    remove(tokens, is_joined);
}

/// Writes the words of a spelling alphabet as letters, as in "Bravo Tango 9 Kilo": three of them, or two beside other
/// pieces of a code.
fn write_alphabet(tokens: &mut [Token<'_>]) {
    let is_named = |token: &Token<'_>| WORDS.alphabet.contains(token.lower.as_str());
    let is_other = |token: &Token<'_>| is_piece(token) || is_small_letter(token);
    let mut start = 0;
    while start < tokens.len() {
        let length = run(tokens, start, |token| is_named(token) || is_other(token) || is_link(token));
        let (before, after) = tokens.split_at_mut(start + length);
        let code = before.get_mut(start..).unwrap_or_default();
        // "Hotel India 4 nights".
        let counts = code.last().is_some_and(|last| !last.ends_clause && !is_named(last))
            && after.first().is_some_and(|next| next.text == next.lower && !WORDS.is_stopword(&next.lower));
        // A month is one in "Lima November 4".
        let named = code.iter().filter(|token| is_named(token) && !WORDS.months.contains(token.lower.as_str())).count();
        let others = code.iter().filter(|token| is_other(token)).count();
        if named > 2 || (named == 2 && others > usize::from(counts)) {
            for token in code.iter_mut().filter(|token| is_named(token)) {
                if let Some(text) = token.text.chars().next().and_then(capital) {
                    *token = token.dictated(text);
                }
            }
        }
        start += length.max(1);
    }
}

/// Returns the length of a run of words in one sentence.
fn run(tokens: &[Token<'_>], start: usize, is_part: impl Fn(&Token<'_>) -> bool) -> usize {
    let rest = tokens.iter().skip(start).enumerate();
    rest.take_while(|(at, token)| is_part(token) && (*at == 0 || !token.is_first)).count()
}

/// The digits, repeated.
const DIGITS: [&str; 10] = ["000", "111", "222", "333", "444", "555", "666", "777", "888", "999"];

/// Replaces "double five" by one word, `55`, if digits are around it or follow.
fn join_repeated(tokens: &mut Vec<Token<'_>>) {
    let mut is_joined = vec![false; tokens.len()];
    for at in (0..tokens.len()).rev() {
        let is_digits = |at: Option<usize>| at.and_then(|at| tokens.get(at)).is_some_and(Token::is_digits);
        let Some(times) = tokens.get(at).and_then(|token| WORDS.repeats(&token.lower)) else { continue };
        let Some(next) = tokens.get(at + 1) else { continue };
        let digit =
            next.lower.parse().ok().or_else(|| {
                WORDS.number(&next.lower).filter(|_| is_digits(at.checked_sub(1)) || is_digits(Some(at + 2)))
            });
        let Some(text) = digit.and_then(|digit| repeated_digit(digit, times)) else { continue };
        let ends_clause = next.ends_clause;
        is_joined.get_mut(at + 1).into_iter().for_each(|is_joined| *is_joined = true);
        if let Some(token) = tokens.get_mut(at) {
            (*token, token.ends_clause) = (token.dictated(text), ends_clause);
        }
    }
    remove(tokens, is_joined);
}

/// Removes words such as "then" and "dash" between the pieces of a code, and writes "slash" as a sign.
fn remove_links(tokens: &mut Vec<Token<'_>>) {
    let is_between = |at: usize| {
        let is_it =
            |at: Option<usize>, is_it: fn(&Token<'_>) -> bool| at.and_then(|at| tokens.get(at)).is_some_and(is_it);
        let follows = |token: &Token<'_>| is_piece(token) && !token.is_first;
        (is_it(Some(at), is_link) || is_it(Some(at), is_slash))
            && is_it(at.checked_sub(1), |token| is_piece(token) || is_head(token))
            && is_it(Some(at + 1), follows)
    };
    let mut is_removed: Vec<bool> = (0..tokens.len()).map(is_between).collect();
    for (token, _) in tokens.iter_mut().zip(is_removed.iter().skip(1)).filter(|(_, is_next_removed)| **is_next_removed)
    {
        token.ends_clause = false;
    }
    for (token, is_removed) in tokens.iter_mut().zip(&mut is_removed).filter(|(token, _)| is_slash(token)) {
        if std::mem::take(is_removed) {
            (*token, token.ends_clause) = (token.dictated("/"), false);
        }
    }
    remove(tokens, is_removed);
}

/// Removes the words with a mark.
fn remove(tokens: &mut Vec<Token<'_>>, is_removed: Vec<bool>) {
    let mut is_removed = is_removed.into_iter();
    tokens.retain(|_| !is_removed.next().unwrap_or_default());
}

/// Writes the digits of "Z F A zero four" as digits, and letters that a transcript without capitals has in a code. What
/// "double" repeats is written twice.
fn write_digits(tokens: &mut [Token<'_>]) {
    let mut start = 0;
    while start < tokens.len() {
        let length = run(tokens, start, |token| is_piece(token) || is_small_letter(token));
        // "Quatre cent dix" is one number.
        let follows = tokens.get(start + length).is_some_and(|next| !next.is_first && WORDS.is_number(&next.lower));
        let last = length.checked_sub(1).and_then(|last| tokens.get(start + last));
        let goes_on =
            follows && last.is_some_and(|last| !last.ends_clause && digit(last).is_some() && !last.is_digits());
        let code = tokens.get_mut(start..start + length - usize::from(goes_on)).unwrap_or_default();
        let count = |is_it: fn(&Token<'_>) -> bool| code.iter().filter(|token| is_it(token)).count();
        let (capitals, small) = (count(is_capital), count(is_small_letter));
        if code.len() > 2 && (capitals > 0 || (small > 0 && small + code.len() > 5)) {
            // From the end, so that a word that repeats finds what it repeats.
            let mut next = None;
            for token in code.iter_mut().rev() {
                let times = WORDS.repeats(&token.lower);
                next = match times {
                    Some(times) => next.and_then(|next| repeated(next, times - 1)),
                    None => digit(token).or_else(|| letter(token)),
                };
                if let Some(text) = next {
                    *token = token.dictated(text);
                }
            }
        }
        start += length.max(1);
    }
}

/// Returns the digit that a word means.
fn digit(token: &Token<'_>) -> Option<&'static str> {
    WORDS.number(&token.lower).filter(|_| !is_capitals(token)).and_then(|digit| repeated_digit(digit, 1))
}

/// Returns a letter once, or a digit up to three times.
fn repeated(piece: &'static str, times: usize) -> Option<&'static str> {
    let digits = piece.parse().ok().and_then(|digit| repeated_digit(digit, times));
    digits.or(Some(piece).filter(|_| times == 1))
}

fn repeated_digit(digit: u32, times: usize) -> Option<&'static str> {
    DIGITS.get(digit as usize)?.get(..times)
}

fn is_capital(token: &Token<'_>) -> bool {
    token.is_spelled() && token.text.chars().all(char::is_alphabetic)
}

/// Returns whether a word is a letter in lower case that is no word in any language.
fn is_small_letter(token: &Token<'_>) -> bool {
    token.text.len() == 1 && token.text.chars().all(|c| c.is_ascii_lowercase()) && !WORDS.is_stopword(token.text)
}

/// Returns a word of one letter as a capital.
fn letter(token: &Token<'_>) -> Option<&'static str> {
    token.text.chars().next().filter(|_| token.text.len() == 1).and_then(capital)
}

fn capital(letter: char) -> Option<&'static str> {
    let at = LETTERS.find(letter.to_ascii_uppercase())?;
    LETTERS.get(at..at + 1)
}

/// Returns whether a word is a letter, a few digits, or a digit in words.
fn is_piece(token: &Token<'_>) -> bool {
    let is_word =
        || WORDS.number(&token.lower).is_some_and(|digit| digit < 10) || WORDS.repeats(&token.lower).is_some();
    token.is_piece() || (!is_capitals(token) && is_word())
}

/// Returns whether a word is a group of capitals, which names no letter or digit: "UM 4 4 7".
fn is_capitals(token: &Token<'_>) -> bool {
    token.text.len() > 1 && token.text.chars().all(char::is_uppercase)
}

/// Returns whether a word is a short group of capitals at the beginning of a code: "NH dash 80".
fn is_head(token: &Token<'_>) -> bool {
    token.text.len() <= 4 && token.is_word() && token.is_code()
}

pub(super) fn is_slash(token: &Token<'_>) -> bool {
    WORDS.slashes.contains(token.lower.as_str())
}

pub(super) fn is_link(token: &Token<'_>) -> bool {
    WORDS.links.contains(token.lower.as_str())
}
