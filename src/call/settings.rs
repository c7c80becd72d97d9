//! [`CallSettings`]: how a [`CallSession`](super::CallSession) takes its turns.

use std::time::Duration;

use crate::message::Text;
use crate::policy::{Policy, Tokens};

/// How a [`CallSession`](super::CallSession) takes its turns. The defaults suit a call on the telephone, in English.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallSettings {
    /// How long the caller waits for the first words at most; 8 s. Then the [`apology`](Self::apology) is spoken. So it is
    /// where a model that has begun to speak is silent for so long; tools behind its words have a
    /// [time of their own](Self::tool_within).
    pub answer_within: Duration,
    /// How often the model is asked for one turn, where it fails before it has said anything and its client does not try
    /// again by itself; 2.
    pub attempts: u32,
    /// How long a tool may take; 15 s. Then what it did is [unknown](super::Ledger).
    pub tool_within: Duration,
    /// How often the model may call tools in one turn; 5. Then it is asked without tools, so that it has to answer;
    /// should it call one all the same, that is not run.
    pub max_tool_rounds: u32,
    /// Below this confidence of the speech recognition, from 0 to 1, the caller is asked to repeat, and the model is not
    /// asked; `None`: never.
    pub min_confidence: Option<f32>,
    /// What is spoken where the model has no answer.
    pub apology: Text,
    /// What is spoken where the caller was not understood.
    pub ask_to_repeat: Text,
    /// When to summarise, and how many turns stay.
    pub policy: Policy,
    /// How large the window may be that the model gets, whatever becomes of the summaries; 16,000 tokens, estimated. Only
    /// the last turn goes whole in any case.
    pub max_window: Tokens,
    /// How long a summary may take; 30 s.
    pub summary_within: Duration,
    /// How long the summariser is left alone after it failed, and the extractive one takes its place; 10 s, doubled with
    /// each further failure, up to 5 min.
    pub summary_backoff: Duration,
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
            answer_within: Duration::from_secs(8),
            attempts: 2,
            tool_within: Duration::from_secs(15),
            max_tool_rounds: 5,
            min_confidence: None,
            apology: "I am sorry, something went wrong. Could you say that again, please?".into(),
            ask_to_repeat: "I am sorry, I did not understand you. Could you say that again, please?".into(),
            policy: Policy::default(),
            max_window: Tokens::new(16_000),
            summary_within: Duration::from_secs(30),
            summary_backoff: Duration::from_secs(10),
            playback: Playback::default(),
            speech_bytes_per_s: 15,
        }
    }
}
