//! Writes letters that somebody dictates by their names: "emme", "uve doble".

use super::super::language::WORDS;
use super::{Token, capital, is_capitals, is_link, is_piece, is_small_letter, remove};

/// The maximum number of words in the name of a letter.
const LONGEST_NAME: usize = 2;

/// A name of a letter, or another piece of a code, in the words of a text.
struct Piece {
    at: usize,
    length: usize,
    letter: Option<&'static str>,
    /// Whether the name is a frequent word as well, such as "de" and "e".
    is_doubtful: bool,
    ends_clause: bool,
}

/// Writes the names of letters as letters, where these and other pieces of a code follow each other.
pub(super) fn write(tokens: &mut Vec<Token<'_>>) {
    let mut is_joined = vec![false; tokens.len()];
    let mut start = 0;
    while start < tokens.len() {
        let code = pieces(tokens, start);
        start = code.last().map_or(start, |last| last.at + last.length - 1) + 1;
        let code = without_doubtful_ends(&code);
        if !is_code(tokens, code) {
            continue;
        }
        for (index, piece) in code.iter().enumerate() {
            let Some(token) = tokens.get_mut(piece.at) else { continue };
            if let Some(letter) = piece.letter {
                *token = token.dictated(letter);
            }
            // A comma is a pause.
            token.ends_clause = index + 1 == code.len() && piece.ends_clause;
            is_joined.get_mut(piece.at + 1..piece.at + piece.length).unwrap_or_default().fill(true);
        }
    }
    remove(tokens, is_joined);
}

/// Returns the letter with a name.
pub(super) fn named(words: &[&str]) -> Option<&'static str> {
    let (letter, _) = WORDS.letters.iter().find(|(_, name)| name == words)?;
    letter.chars().next().and_then(capital)
}

/// Returns the pieces of a code from a word on, in one sentence.
fn pieces(tokens: &[Token<'_>], start: usize) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    let mut at = start;
    while let Some(token) = tokens.get(at).filter(|token| at == start || !token.is_first) {
        let letter = |length: usize| {
            let words = tokens.get(at..at + length).filter(|words| !words.iter().any(is_capitals))?;
            let words: Vec<&str> = words.iter().map(|token| token.lower.as_str()).collect();
            Some((named(&words)?, length))
        };
        let name = (1..=LONGEST_NAME).rev().find_map(letter);
        let is_other = is_piece(token) || is_small_letter(token) || is_link(token);
        let (letter, length) = match name {
            Some((letter, length)) => (Some(letter), length),
            None if is_other => (None, 1),
            None => break,
        };
        let ends_clause = tokens.get(at + length - 1).is_some_and(|last| last.ends_clause);
        let is_word = length == 1 && letter.is_some() && WORDS.is_stopword(&token.lower);
        // "Ele, cuatro, cero".
        let is_doubtful = is_word && !(ends_clause && token.text.len() > 2);
        found.push(Piece { at, length, letter, is_doubtful, ends_clause });
        at += length;
    }
    found
}

/// Returns the pieces without frequent words at both ends, unless a comma sets them off: "di emme" has one letter.
fn without_doubtful_ends(code: &[Piece]) -> &[Piece] {
    let is_word = |piece: &&Piece| piece.is_doubtful && !piece.ends_clause;
    let first = code.iter().take_while(is_word).count();
    let last = code.iter().rev().take_while(is_word).count();
    code.get(first..code.len() - last).unwrap_or_default()
}

/// Returns whether pieces are a code with names of letters: two long names, one beside two other pieces, or two names
/// beside two other pieces.
fn is_code(tokens: &[Token<'_>], code: &[Piece]) -> bool {
    let count = |is_it: &dyn Fn(&Piece) -> bool| code.iter().filter(|piece| is_it(piece)).count();
    let names = count(&|piece| piece.letter.is_some());
    let sure = count(&|piece| piece.letter.is_some() && !piece.is_doubtful);
    let is_long = |piece: &Piece| piece.length > 1 || tokens.get(piece.at).is_some_and(|token| token.text.len() > 2);
    let long = count(&|piece| piece.letter.is_some() && !piece.is_doubtful && is_long(piece));
    let others = code.len() - names;
    long > 1 || (long == 1 && code.len() > 2) || (sure > 0 && names > 1 && others > 1)
}
