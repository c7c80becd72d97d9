//! [`Utterance`]: what the caller said, as the speech recognition has it.

use std::fmt;

use crate::message::Text;

/// What the caller said, as the speech recognition has it.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Utterance {
    /// The words.
    pub text: Text,
    /// When the caller began, in milliseconds since the Unix epoch; else when the caller was reported to.
    pub started_ms: Option<i64>,
    /// When the caller had finished; else when the words are reported.
    pub ended_ms: Option<i64>,
    /// How sure the recognition is, from 0 to 1.
    pub confidence: Option<f32>,
}

impl Utterance {
    /// The words alone.
    pub fn new(text: impl Into<Text>) -> Self {
        Self { text: text.into(), started_ms: None, ended_ms: None, confidence: None }
    }

    /// The same with when the caller began and had finished, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_times(self, started_ms: i64, ended_ms: i64) -> Self {
        Self { started_ms: Some(started_ms), ended_ms: Some(ended_ms), ..self }
    }

    /// The same with how sure the recognition is, from 0 to 1.
    #[must_use]
    pub fn with_confidence(self, confidence: f32) -> Self {
        Self { confidence: Some(confidence), ..self }
    }
}

impl<T: Into<Text>> From<T> for Utterance {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// The length, not the words.
impl fmt::Debug for Utterance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Utterance")
            .field("text", &self.text)
            .field("started_ms", &self.started_ms)
            .field("ended_ms", &self.ended_ms)
            .field("confidence", &self.confidence)
            .finish()
    }
}
