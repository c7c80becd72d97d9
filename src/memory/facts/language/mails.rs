//! [`MailWords`]: the words for the signs in a dictated e-mail address.

use super::list_of;
use super::phrases::{Phrases, begins_with, phrase};

/// The phrases for the signs in an e-mail address, in one language.
pub(in crate::memory::facts) struct MailWords {
    at: Phrases,
    dots: Phrases,
    /// All signs but `@` and the dots.
    signs: Phrases,
}

impl MailWords {
    pub(super) fn of(file: &'static str) -> Self {
        let phrases = |name| list_of(file, name).map(phrase).collect();
        Self { at: phrases("at signs"), dots: phrases("dots"), signs: phrases("signs") }
    }

    /// Returns the number of words that mean `@` at the beginning of `words`.
    pub fn at(&self, words: &[String]) -> Option<usize> {
        begins_with(&self.at, words)
    }

    /// Returns the number of words that mean a dot at the beginning of `words`.
    pub fn dot(&self, words: &[String]) -> Option<usize> {
        begins_with(&self.dots, words)
    }

    /// Returns the number of words that mean a sign other than `@` at the beginning of `words`.
    pub fn sign(&self, words: &[String]) -> Option<usize> {
        self.dot(words).or_else(|| begins_with(&self.signs, words))
    }
}
