//! [`CallSettings`]: the fixed sentences of a call, and how it measures speech.

use std::sync::LazyLock;
use std::time::Duration;

use crate::message::{Text, is_blank};

/// The fixed sentences of a call, and how it measures speech. The defaults suit a phone call in English.
#[derive(Debug, Clone)]
pub struct CallSettings {
    pub(super) apology: Text,
    pub(super) not_done: Text,
    /// The minimum confidence, and the sentence that asks.
    pub(super) ask_to_repeat: Option<(f32, Text)>,
    pub(super) reports_playback: bool,
    pub(super) speech_bytes_per_s: u64,
    pub(super) silence_after: Duration,
    pub(super) silence_again: Duration,
    pub(super) fillers: Vec<Text>,
}

impl CallSettings {
    /// Sets the sentence that the caller hears if a reply fails. With a blank sentence, the caller hears nothing.
    #[must_use]
    pub fn with_apology(self, sentence: impl Into<Text>) -> Self {
        Self { apology: sentence.into(), ..self }
    }

    /// Sets the sentence that the caller hears instead of the apology if a tool that [acts
    /// once](crate::model::Tool::acts_once) did not run, because the log did not store its call in time.
    #[must_use]
    pub fn with_not_done(self, sentence: impl Into<Text>) -> Self {
        Self { not_done: sentence.into(), ..self }
    }

    /// Sets the sentences that fill a silence while the caller waits for the model or a tool, such as `One moment,
    /// please.`; none by default. Each silence uses the next sentence.
    #[must_use]
    pub fn with_fillers<T: Into<Text>>(self, sentences: impl IntoIterator<Item = T>) -> Self {
        Self { fillers: sentences.into_iter().map(Into::into).filter(|filler| !is_blank(filler)).collect(), ..self }
    }

    /// Sets after how much silence the first silence of a reply is [reported](crate::conversation::CallEvent::Silence)
    /// and filled, and after how much each later one; 3 s and 8 s by default.
    #[must_use]
    pub fn with_silence(self, first: Duration, again: Duration) -> Self {
        Self { silence_after: first, silence_again: again, ..self }
    }

    /// Asks the caller to repeat with this sentence, instead of asking the model, if the speech recognition had less
    /// confidence in a part of the caller's words than `min_confidence`, from 0 to 1. By default, it never asks.
    #[must_use]
    pub fn with_ask_to_repeat(self, min_confidence: f32, sentence: impl Into<Text>) -> Self {
        Self { ask_to_repeat: Some((min_confidence, sentence.into())), ..self }
    }

    /// Declares that the service does not report playback. A speech then counts as heard once all its text is
    /// generated.
    #[must_use]
    pub fn without_playback_reports(self) -> Self {
        Self { reports_playback: false, ..self }
    }

    /// Sets the rate of speech, in bytes of English text per second, until the session has measured it; 15 by default,
    /// which is about 160 words per minute. Numbers and other languages count by their spoken form, at the same speed.
    #[must_use]
    pub fn with_speech_rate(self, bytes_per_s: u64) -> Self {
        Self { speech_bytes_per_s: bytes_per_s, ..self }
    }
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            apology: APOLOGY.clone(),
            not_done: NOT_DONE.clone(),
            ask_to_repeat: None,
            reports_playback: true,
            speech_bytes_per_s: 15,
            silence_after: Duration::from_secs(3),
            silence_again: Duration::from_secs(8),
            fillers: Vec::new(),
        }
    }
}

/// The apology asks the caller to repeat, because a new turn retries the model. It blames nobody and names no cause.
static APOLOGY: LazyLock<Text> =
    LazyLock::new(|| "I am sorry, something went wrong. Could you say that again, please?".into());

/// The caller must know that nothing happened. Otherwise they rely on the act.
static NOT_DONE: LazyLock<Text> =
    LazyLock::new(|| "I am sorry, I could not do that, and nothing was changed. Please try again later.".into());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_sentences_blame_nobody() {
        let CallSettings { apology, not_done, .. } = CallSettings::default();
        insta::assert_snapshot!(format!("{}\n{}", apology.as_str(), not_done.as_str()), @"
        I am sorry, something went wrong. Could you say that again, please?
        I am sorry, I could not do that, and nothing was changed. Please try again later.
        ");
    }
}
