//! [`Utterance`]: the caller's words from the speech recognition.

use crate::message::{Text, Value};

/// The caller's words from the speech recognition. `Debug` shows the length of the text instead of its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Utterance {
    pub(super) text: Text,
    pub(super) times: Option<(i64, i64)>,
    pub(super) confidence: Option<f32>,
    pub(super) data: Vec<(String, Value)>,
}

impl Utterance {
    /// Creates an utterance without times and confidence.
    ///
    /// Without times, the utterance starts at the last
    /// [`caller_started_speaking`](super::CallSession::caller_started_speaking) and ends when it is reported.
    pub fn new(text: impl Into<Text>) -> Self {
        Self { text: text.into(), times: None, confidence: None, data: Vec::new() }
    }

    /// Sets when the caller started and stopped speaking, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_times(self, started_ms: i64, ended_ms: i64) -> Self {
        Self { times: Some((started_ms, ended_ms)), ..self }
    }

    /// Sets the confidence of the recognition, from 0 to 1. The session ignores a number outside this range.
    #[must_use]
    pub fn with_confidence(self, confidence: f32) -> Self {
        Self { confidence: Some(confidence), ..self }
    }

    /// Adds custom data to the message of the words, such as an id of the recogniser. It is logged with the words.
    #[must_use]
    pub fn with_data(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.data.push((key.into(), value.into()));
        self
    }
}

impl<T: Into<Text>> From<T> for Utterance {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}
