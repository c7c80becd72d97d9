//! Phrases: lists of words that are looked for in the words of a text.

use std::ops::Range;

use super::WORDS;

/// The words of each phrase.
pub(in crate::memory::facts) type Phrases = Vec<Vec<&'static str>>;

/// Returns the words of a phrase.
pub(super) fn phrase(phrase: &'static str) -> Vec<&'static str> {
    phrase.split(' ').collect()
}

/// Returns the words without those of the phrases.
pub(in crate::memory::facts) fn without(phrases: &Phrases, words: &[String]) -> Vec<String> {
    let mut left = words.to_vec();
    for phrase in phrases {
        while let Some(at) = left.windows(phrase.len()).position(|window| window == phrase.as_slice()) {
            left.drain(at..at + phrase.len());
        }
    }
    left
}

/// Returns the length of the longest of the phrases with which the words begin.
pub(in crate::memory::facts) fn begins_with(phrases: &Phrases, words: &[impl AsRef<str>]) -> Option<usize> {
    let is_here = |phrase: &&Vec<&str>| {
        words.len() >= phrase.len()
            && words.iter().zip(phrase.iter()).all(|(word, of_phrase)| word.as_ref() == *of_phrase)
    };
    phrases.iter().filter(is_here).map(Vec::len).max()
}

/// Returns the positions directly after each occurrence of one of the phrases.
pub(in crate::memory::facts) fn after<'a>(
    phrases: &'a Phrases,
    words: &'a [String],
) -> impl Iterator<Item = usize> + 'a {
    ranges(phrases, words).map(|range| range.end)
}

/// Returns the positions of each occurrence of one of the phrases: of the longest one at a word.
pub(in crate::memory::facts) fn ranges<'a>(
    phrases: &'a Phrases,
    words: &'a [String],
) -> impl Iterator<Item = Range<usize>> + 'a {
    (0..words.len()).filter_map(|at| Some(at..at + begins_with(phrases, words.get(at..)?)?))
}

/// Returns whether a text in lower case says yes or no at its beginning or after a comma.
pub(crate) fn says_yes_or_no(lower: &str) -> bool {
    let words = lower.split(',').filter_map(|part| part.split_whitespace().next());
    words.map(|word| word.trim_end_matches(['.', '!', '?', ';'])).any(|word| WORDS.is_reply(word))
}
