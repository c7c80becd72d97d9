//! [`CallSettings`]: the fixed sentences of a call, and how it measures speech.

use crate::message::Text;

/// The fixed sentences of a call, and how it measures speech. The defaults suit a phone call in English.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallSettings {
    /// The minimum confidence of the speech recognition, from 0 to 1. If the caller's words are below it, the session
    /// asks the caller to repeat, without the model. With `None`, it never asks.
    pub min_confidence: Option<f32>,
    /// The sentence that the caller hears if a reply fails.
    pub apology: Text,
    /// The sentence that asks the caller to repeat.
    pub ask_to_repeat: Text,
    /// Whether the service reports playback. If it does not, a speech counts as heard once all its text is generated.
    pub reports_playback: bool,
    /// The rate of speech, in bytes of English text per second, until the session has measured it. The default is 15, which
    /// is about 160 words a minute. Numbers and other languages count by how they are spoken, at the same speed.
    pub speech_bytes_per_s: u64,
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            min_confidence: None,
            apology: APOLOGY.into(),
            ask_to_repeat: ASK_TO_REPEAT.into(),
            reports_playback: true,
            speech_bytes_per_s: 15,
        }
    }
}

/// The apology asks the caller to repeat, because a new turn retries the model. It blames nobody and names no cause.
const APOLOGY: &str = "I am sorry, something went wrong. Could you say that again, please?";

const ASK_TO_REPEAT: &str = "I am sorry, I did not understand you. Could you say that again, please?";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_sentences_ask_the_caller_to_repeat() {
        let CallSettings { apology, ask_to_repeat, .. } = CallSettings::default();
        insta::assert_snapshot!(format!("{}\n{}", apology.as_str(), ask_to_repeat.as_str()), @"
        I am sorry, something went wrong. Could you say that again, please?
        I am sorry, I did not understand you. Could you say that again, please?
        ");
    }
}
