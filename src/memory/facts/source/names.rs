//! [`Names`]: which capitalized words of a summary are names.
//!
//! Where a capital shows nothing, at the beginning of a sentence or in a language that capitalizes all nouns, a word is a
//! name unless it is a common word of the summary's language. In a language without a list of common words, it is a name
//! only if another name is beside it, or if the summary has it elsewhere as a name.

use std::collections::HashSet;

use super::super::language::{CommonWords, WORDS};
use super::super::tokens::{Token, is_and};
use super::{Source, parts};

/// What a whole summary shows about the names in it.
pub(super) struct Names {
    /// The languages that the summary can be in.
    languages: Vec<&'static CommonWords>,
    /// Whether it capitalizes all nouns.
    has_nouns: bool,
    /// The names that the source lacks, in lower case.
    unknown: HashSet<String>,
}

impl Names {
    /// Returns what the sentences of a summary show.
    pub fn of(sentences: &[Vec<Token<'_>>], source: &Source) -> Self {
        let words = || sentences.iter().flatten();
        let is_plain = |token: &&Token<'_>| token.is_word() && (token.is_first || !token.is_capitalised());
        let languages = CommonWords::languages_of(words().filter(is_plain).map(|token| token.lower.as_str()));
        let has_nouns = match languages.as_slice() {
            [] => WORDS.capitalises_nouns(words().map(|token| token.lower.as_str())),
            found => found.iter().any(|language| language.has_nouns),
        };
        let mut names = Self { languages, has_nouns, unknown: HashSet::new() };
        for sentence in sentences {
            let found = sentence.iter().enumerate().filter(|(at, _)| names.has(sentence, *at, source));
            let found: Vec<_> = found.map(|(_, token)| name(token)).collect();
            names.unknown.extend(found);
        }
        names
    }

    /// Returns whether a word is a name that the source lacks.
    pub fn has(&self, tokens: &[Token<'_>], at: usize, source: &Source) -> bool {
        let Some(token) = tokens.get(at) else { return false };
        let is_heading = tokens.iter().take_while(|token| !token.is_label).all(|token| !token.ends_clause)
            && tokens.iter().skip(at).take(4).any(|token| token.is_label);
        let is_beside = |at: Option<usize>, is: &dyn Fn(&Token<'_>) -> bool| {
            at.and_then(|at| tokens.get(at)).is_some_and(|token| !token.is_label && is(token))
        };
        let after = at.checked_add(1);
        let has_next = || {
            let is_pair = is_beside(after, &|token| is_and(token)) && is_beside(at.checked_add(2), &is_capital);
            !token.ends_clause && (is_pair || is_beside(after, &is_capital))
        };
        let follows_article = || is_beside(at.checked_sub(1), &|token| self.is_article(&token.lower));
        let is_name = || {
            if self.has_nouns {
                !follows_article() && !self.is_common(token)
            } else if token.is_first && joined_name(token).is_none() {
                !self.is_common(token) && (!self.languages.is_empty() || has_next())
            } else {
                true
            }
        };
        is_capital(token)
            && !token.is_title()
            && !is_heading
            && !source.has_name(token)
            && (self.unknown.contains(&name(token)) || is_name())
    }

    fn is_common(&self, token: &Token<'_>) -> bool {
        self.languages.iter().any(|language| language.has(owner(&token.lower)))
    }

    fn is_article(&self, word: &str) -> bool {
        self.languages.iter().any(|language| language.is_article(word))
    }
}

fn is_capital(token: &Token<'_>) -> bool {
    (token.is_capitalised() || joined_name(token).is_some()) && !WORDS.stopwords.contains(token.lower.as_str())
}

/// Returns the name that an apostrophe joins to a small word: "Armelle" of "d'Armelle".
pub(super) fn joined_name<'a>(token: &Token<'a>) -> Option<&'a str> {
    let small = token.lower.len() - WORDS.without_article(&token.lower).len();
    token.text.get(small..).filter(|name| small > 0 && name.starts_with(char::is_uppercase))
}

/// Returns the name that a word holds, in lower case.
fn name(token: &Token<'_>) -> String {
    owner(WORDS.without_article(&token.lower)).to_owned()
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
        let word = WORDS.without_article(&token.lower);
        has(&token.lower) || parts(word).all(has) || self.is_spelled(word)
    }
}
