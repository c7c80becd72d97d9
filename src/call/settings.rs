//! [`CallSettings`]: how a [`CallSession`](super::CallSession) takes its turns.

use crate::message::Text;

/// How a [`CallSession`](super::CallSession) takes its turns. The defaults suit a call on the telephone, in English.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallSettings {
    /// Below this confidence of the speech recognition, from 0 to 1, the caller is asked to repeat, and the model is not
    /// asked; `None`: never.
    pub min_confidence: Option<f32>,
    /// What is spoken where the model has no answer.
    pub apology: Text,
    /// What is spoken where the caller was not understood.
    pub ask_to_repeat: Text,
    /// Whether the service reports what is played.
    pub playback: Playback,
    /// How fast it is spoken until that is learnt from playback: 15 bytes of text a second, which is about 160 words a
    /// minute.
    pub speech_bytes_per_s: u64,
}

/// Whether the service reports what is played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Playback {
    /// It does. What is not reported to be played was not heard, once the caller breaks in.
    #[default]
    Reported,
    /// It does not. What was generated counts as heard once it is complete.
    Unreported,
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            min_confidence: None,
            apology: "I am sorry, something went wrong. Could you say that again, please?".into(),
            ask_to_repeat: "I am sorry, I did not understand you. Could you say that again, please?".into(),
            playback: Playback::default(),
            speech_bytes_per_s: 15,
        }
    }
}
