//! [`Names`]: which capitalized words of a summary are names.
//!
//! The first word of a sentence is capitalized anyway. It counts as a name if another name follows ("Anna Rossi", "Anna
//! and Mia"), if the summary has it as a name elsewhere, or if the words around it are those around a person: "Anna
//! wants", "Anna has a", "Anna's", "Passenger: Anna". "Anna is late" shows none, because "Breakfast is late" is a
//! sentence too.

use std::collections::HashSet;

use super::super::language::WORDS;
use super::super::tokens::{Token, is_and};
use super::{Source, parts};

/// What a whole summary shows about the names in it.
pub(super) struct Names {
    /// Whether the language capitalizes all nouns.
    has_nouns: bool,
    /// The names that the source lacks, in lower case.
    unknown: HashSet<String>,
}

impl Names {
    /// Returns what the sentences of a summary show.
    pub fn of(sentences: &[Vec<Token<'_>>], source: &Source) -> Self {
        let has_nouns = WORDS.capitalises_nouns(sentences.iter().flatten().map(|token| token.lower.as_str()));
        let mut names = Self { has_nouns, unknown: HashSet::new() };
        for sentence in sentences {
            let found = sentence.iter().enumerate().filter(|(at, _)| names.has(sentence, *at, source));
            let found: Vec<_> = found.map(|(_, token)| owner(&token.lower).to_owned()).collect();
            names.unknown.extend(found);
        }
        names
    }

    /// Returns whether a word is a name that the source lacks.
    pub fn has(&self, tokens: &[Token<'_>], at: usize, source: &Source) -> bool {
        let Some(token) = tokens.get(at) else { return false };
        let is_capital = |token: &Token<'_>| token.is_capitalised() && !WORDS.stopwords.contains(token.lower.as_str());
        let is_unknown = |token: &Token<'_>| is_capital(token) && !token.is_title() && !source.has_name(token);
        let is_heading = tokens.iter().take_while(|token| !token.is_label).all(|token| !token.ends_clause)
            && tokens.iter().skip(at).take(4).any(|token| token.is_label);
        let is_beside = |at: Option<usize>, is: &dyn Fn(&Token<'_>) -> bool| {
            at.and_then(|at| tokens.get(at)).is_some_and(|token| !token.is_label && is(token))
        };
        let (before, after) = (at.checked_sub(1), at.checked_add(1));
        let is_pair = || {
            is_beside(after, &|token| is_and(token)) && is_beside(at.checked_add(2), &|token| token.is_capitalised())
        };
        let is_proper = || {
            if self.has_nouns {
                is_beside(before, &is_unknown) || is_beside(after, &is_unknown)
            } else {
                let has_next = || !token.ends_clause && (is_beside(after, &is_capital) || is_pair());
                !token.is_first || has_next() || is_possessive(token)
            }
        };
        let is_name = || is_proper() || self.unknown.contains(owner(&token.lower)) || self.is_person(tokens, at);
        is_unknown(token) && !is_heading && is_name()
    }

    /// Returns whether a word at the beginning of a sentence is a name, because of the words around it.
    fn is_person(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let Some(token) = tokens.get(at).filter(|token| token.is_first && is_open(token)) else { return false };
        let label = at.checked_sub(1).and_then(|at| tokens.get(at)).filter(|token| token.is_label);
        let rest = tokens.get(at + 1..).unwrap_or_default();
        let end = rest.iter().position(|token| token.ends_clause).map_or(rest.len(), |last| last + 1);
        let clause: Vec<&str> = rest.iter().take(end).map(|token| token.lower.as_str()).collect();
        let mut languages = WORDS.persons.iter().filter(|words| words.has_nouns == self.has_nouns);
        languages.any(|words| {
            if token.ends_clause {
                label.is_some_and(|label| words.is_people(&label.lower))
                    || clause.first().is_some_and(|next| words.is_relative(next))
            } else {
                words.follow_a_name(&clause)
            }
        })
    }
}

/// Returns whether a word with a possessive ending can be a name, as "Mia's" can and "Tomorrow's" cannot.
fn is_possessive(token: &Token<'_>) -> bool {
    let owner = owner(&token.lower);
    owner.len() < token.lower.len() && is_open(token) && !WORDS.stopwords.contains(owner) && !WORDS.days.contains(owner)
}

/// Returns whether a word at the beginning of a sentence can be a name.
fn is_open(token: &Token<'_>) -> bool {
    !WORDS.persons.iter().any(|words| words.is_no_name(owner(&token.lower)))
}

/// Returns a word without its possessive ending.
fn owner(word: &str) -> &str {
    ["'s", "’s"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)
}

impl Source {
    /// Returns whether the source has a name, in any of its forms.
    pub(super) fn has_name(&self, token: &Token<'_>) -> bool {
        let has = |word: &str| {
            let one = ["'s", "’s", "es", "s", "'", "’"].iter().filter_map(|end| word.strip_suffix(end));
            let mut forms = one.chain([word]);
            forms.any(|form| self.words.contains(form) || self.words.contains(&format!("{form}s")))
        };
        has(&token.lower) || parts(&token.lower).all(has) || self.is_spelled(&token.lower)
    }
}
