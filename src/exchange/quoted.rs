//! [`Quoted`]: a string of JSON text, as it stands there.
//!
//! It is unescaped by `jiter` when somebody asks for it, and not before: first the budget is asked.

use std::borrow::Cow;

use jiter::Jiter;

/// A string as it stands in the text, its escapes checked.
#[derive(Clone, Copy)]
pub(super) struct Quoted<'a> {
    with_quotes: &'a str,
}

impl<'a> Quoted<'a> {
    pub fn new(with_quotes: &'a str) -> Self {
        Self { with_quotes }
    }

    /// The bytes of what it says; with escapes those that unescaping takes, which are more.
    pub fn len(&self) -> usize {
        if self.is_escaped() { self.with_quotes.len() } else { self.between().len() }
    }

    pub fn is_escaped(&self) -> bool {
        self.between().contains('\\')
    }

    /// Whether it says `text`.
    pub fn is(&self, text: &str) -> bool {
        // What is longer than `text` in nothing but escapes is not copied to be looked at.
        const LONGEST_ESCAPE: usize = r"\u0000".len();
        self.between().len() <= text.len() * LONGEST_ESCAPE && self.unescaped() == text
    }

    /// What it says.
    pub fn unescaped(&self) -> Cow<'a, str> {
        if !self.is_escaped() {
            return Cow::Borrowed(self.between());
        }
        // Every escape is longer than what it stands for: with room for them the tape never grows.
        let tape = Vec::with_capacity(self.with_quotes.len());
        let mut jiter = Jiter::with_tape(self.with_quotes.as_bytes(), tape);
        let is_whole = jiter.next_str().is_ok();
        debug_assert!(is_whole, "checked when it was read");
        Cow::Owned(String::from_utf8(jiter.into_tape()).unwrap_or_default())
    }

    fn between(&self) -> &'a str {
        self.with_quotes.get(1..self.with_quotes.len() - 1).unwrap_or_default()
    }
}
