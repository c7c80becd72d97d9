//! What must not be written: [`Redactor`]s find it, [`redact`] takes it out of a record before a log sees it.
//!
//! Owns the hook, the rules of what of a record is shown to it, and the redactor of [card numbers](CardNumbers).
//! Changes the record that is written, never the conversation: the model goes on with what was said. The log's writer does
//! it where it has a [redactor](super::WriterSettings::redactor).
//!
//! ```
//! use verbale::log::{CardNumbers, Redaction, Redactors, redact};
//! use verbale::{MessagesManager, PlainMessage};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let names = |text: &str| {
//!     let found = text.match_indices("Nadia").map(|(at, name)| Redaction::new(at..at + name.len(), "[name]"));
//!     Ok(found.collect())
//! };
//! let redactors = Redactors::default().with(CardNumbers).with(names);
//!
//! let mut manager = MessagesManager::<PlainMessage>::new();
//! manager.add_user("I am Nadia, my card is 4111 1111")?;
//! manager.add_user("1111 1111")?; // merged
//! let written = redact(&manager.records()[0], &redactors)?;
//! assert!(written.contents().texts().eq(&["I am [name], my card is **** ****", "**** 1111"]));
//! # Ok(()) }
//! ```

mod cards;
mod error;
mod found;
mod redact;
mod walk;

use std::error::Error;
use std::ops::Range;

pub use cards::CardNumbers;
pub use error::RedactionError;
pub use redact::redact;

use crate::message::Text;

/// A part of a text that must not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// Where it is: bytes of the text, on boundaries of characters. An empty range says nothing.
    pub range: Range<usize>,
    /// What is written in its place. A text of which nothing visible is left is written as `***`.
    pub replacement: Text,
}

impl Redaction {
    /// That `replacement` is to be written in place of `range`.
    pub fn new(range: Range<usize>, replacement: impl Into<Text>) -> Self {
        Self { range, replacement: replacement.into() }
    }
}

/// Finds what must not be written. Closures can, too.
///
/// It is given one text at a time, in a background task: it may take its time, but not wait for another task. The same
/// text should get the same answer, for a record that is written twice must be the same both times.
pub trait Redactor: Send + Sync {
    /// What of `text` must not be written, in any order; where ranges overlap, all of it goes, and the replacement of
    /// the longest stands in its place.
    ///
    /// Errors: the text could not be looked at. Nothing of its message is written then. The error ends up among those
    /// of the log: it must not hold the text.
    fn find(&self, text: &str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>>;
}

impl std::fmt::Debug for dyn Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

impl<F> Redactor for F
where
    F: Fn(&str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> + Send + Sync,
{
    fn find(&self, text: &str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> {
        self(text)
    }
}

/// Several redactors: each sees the text as it was said, and what any of them finds goes.
#[derive(Default)]
pub struct Redactors(Vec<Box<dyn Redactor>>);

impl Redactors {
    /// The same with one more.
    #[must_use]
    pub fn with(mut self, redactor: impl Redactor + 'static) -> Self {
        self.0.push(Box::new(redactor));
        self
    }
}

impl Redactor for Redactors {
    fn find(&self, text: &str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> {
        let mut found = Vec::new();
        for redactor in &self.0 {
            found.append(&mut redactor.find(text)?);
        }
        Ok(found)
    }
}

impl std::fmt::Debug for Redactors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactors({})", self.0.len())
    }
}
