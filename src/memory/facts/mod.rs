//! [`Fact`]: a value that somebody said or a tool returned, kept outside the text of a summary.
//!
//! Owns the rules that find facts, the words of languages that they use, and the choice of the facts in the prompt. Knows
//! no domain and calls no model.

mod choice;
mod dictation;
mod folded;
mod language;
mod rules;
mod source;
mod table;
mod tokens;

use std::fmt;

pub(crate) use choice::holds;
pub(crate) use folded::Folded;
pub(crate) use language::says_yes_or_no;
pub use rules::RuleFactFinder;
pub(crate) use source::{Moment, Removed, Source, moment};
pub(crate) use table::FactTable;

use crate::message::{Message, Text};

/// The slot of a wish.
const WISH: &str = "wish";
/// The slot of a refusal or a constraint.
const LIMIT: &str = "limit";

/// A value that somebody said or a tool returned, with the slot that it fills.
#[derive(Clone, PartialEq, Eq)]
pub struct Fact {
    slot: Text,
    value: Text,
    source: FactSource,
    replaces: Option<Text>,
}

/// The source of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FactSource {
    /// The caller said it, so it is a claim.
    Caller,
    /// The assistant said it.
    Assistant,
    /// A tool returned it.
    Tool,
}

/// Finds the facts in the words of a call.
///
/// A service implements it to add fields of its own, and can ask [`RuleFactFinder`] first.
pub trait FactFinder: fmt::Debug + Send + Sync {
    /// Returns the facts in a message that the caller or the assistant said. `earlier` holds the words of up to three
    /// messages before it, oldest first, such as the question that it answers.
    ///
    /// Must be deterministic, because a restored call finds its facts again.
    fn find(&self, message: &Message, earlier: &[&Message]) -> Vec<Fact>;
}

impl Fact {
    /// Creates a fact. An empty slot means that the value speaks for itself, such as a name or a date.
    pub fn new(slot: impl Into<Text>, value: impl Into<Text>, source: FactSource) -> Self {
        Self { slot: slot.into(), value: value.into(), source, replaces: None }
    }

    /// Marks the fact as a correction. `earlier` is the corrected value, as it was said. If `earlier` is empty, the
    /// fact corrects the last value of the caller in this slot that has the same kinds of characters.
    #[must_use]
    pub fn replacing(self, earlier: impl Into<Text>) -> Self {
        Self { replaces: Some(earlier.into()), ..self }
    }

    /// Returns the name of the slot, such as `user id`, or an empty text.
    pub fn slot(&self) -> &str {
        self.slot.as_str()
    }

    /// Returns the value as it was said.
    pub fn value(&self) -> &str {
        self.value.as_str()
    }

    /// Returns the source.
    pub fn source(&self) -> FactSource {
        self.source
    }

    /// Returns the value that this one corrects, if any.
    pub fn replaces(&self) -> Option<&str> {
        self.replaces.as_deref()
    }
}

/// Shows the source and the lengths, not the words.
impl fmt::Debug for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fact")
            .field("slot_bytes", &self.slot.len())
            .field("value_bytes", &self.value.len())
            .field("source", &self.source)
            .field("is_correction", &self.replaces.is_some())
            .finish()
    }
}

#[cfg(test)]
mod phone_tests;
#[cfg(test)]
mod spoken_tests;
#[cfg(test)]
mod tests;
