//! Redaction: [`Redactor`]s find text that must not be stored, and [`redact`] removes it from a record.
//!
//! This module owns the redactor trait, the rules for which parts of a record a redactor sees, and the redactor for
//! [card numbers](CardNumbers). It changes the record that is stored, never the conversation: the model keeps the full
//! text. The log's writer redacts if it has a [redactor](super::WriterSettings::with_redactor).

mod bytes;
mod cards;
mod email;
mod found;
mod iban;
mod ids;
mod patterns;
mod phone;
mod redact;
mod scan;
mod walk;
mod words;

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

pub use cards::CardNumbers;
pub use patterns::Pattern;
pub use redact::redact;
pub(crate) use redact::{redact_call, redact_header};

use crate::message::Text;

/// A part of a text that must not be stored, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    pub(super) range: Range<usize>,
    pub(super) replacement: Text,
    pub(super) kind: Text,
}

impl Redaction {
    /// Creates a redaction that replaces `range` by `replacement`. The record's
    /// [metadata](crate::message::Metadata::redacted) reports the kind of text that is removed, such as `name`. The kind
    /// is stored, so it must not reveal the text.
    ///
    /// The range counts the bytes of the text and starts and ends on boundaries of characters. An empty range changes
    /// nothing. A text without visible characters after redaction becomes `***`.
    pub fn new(kind: impl Into<Text>, range: Range<usize>, replacement: impl Into<Text>) -> Self {
        Self { range, replacement: replacement.into(), kind: kind.into() }
    }
}

/// Finds text that must not be stored. Closures are redactors, too.
///
/// The writer's task calls a redactor with one text at a time. A slow redactor delays the logging of all calls. A
/// redactor must not wait for another task. It should return the same result for the same text, because a record that
/// is written twice must be equal both times.
pub trait Redactor: Send + Sync {
    /// Returns the parts of `text` that must not be stored, in any order. Overlapping ranges are removed together and
    /// replaced by the replacement of the longest.
    ///
    /// Returns an error if the text cannot be checked. The message is then not stored. The error becomes part of the
    /// log's errors and must not contain the text.
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

/// A list of redactors. Each sees the original text, and everything that any of them finds is removed.
#[derive(Debug, Clone, Default)]
pub(super) struct Redactors(pub Vec<Arc<dyn Redactor>>);

impl Redactor for Redactors {
    fn find(&self, text: &str) -> Result<Vec<Redaction>, Box<dyn Error + Send + Sync>> {
        let mut found = Vec::new();
        for redactor in &self.0 {
            found.append(&mut redactor.find(text)?);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessagesManager, PlainMessage};

    #[test]
    fn each_redactor_sees_the_original_text() {
        let fixed = |from: &'static str, to: &'static str| -> Arc<dyn Redactor> {
            Arc::new(move |text: &str| {
                let found = text.match_indices(from).map(|(at, from)| Redaction::new("name", at..at + from.len(), to));
                Ok(found.collect())
            })
        };
        let redactors = Redactors(vec![Arc::new(CardNumbers), fixed("card 4111", "[?]"), fixed("Nadia", "[name]")]);
        let mut manager = MessagesManager::<PlainMessage>::new();
        manager.add_user("Nadia, card 4111 1111 1111 1111").unwrap();
        let record = manager.records().remove(0);
        let redacted = redact(&record, &redactors).unwrap();
        assert!(redacted.contents().texts().eq(&["[name], [?] **** **** 1111"]));
        assert!(redact(&record, &Redactors::default()).unwrap() == record);
    }
}
