//! [`Attribute`] and [`Timing`]: the marks on a message, and the moments in its life.

use std::fmt;

use crate::message::error::MessageError;

/// A mark on a message. In records in camelCase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// Put in by the manager, so that a user message opens the window. Nobody said it.
    Fake,
    /// Another message of the same role was added to this one; once for each.
    Merged,
    /// The sentence was not generated but fixed by the service.
    Hardcoded,
    /// The model was stopped while it generated.
    LlmInterrupted,
    /// The caller broke in while it was spoken.
    SpeechInterrupted,
}

impl Attribute {
    /// All of them, in the order in which records list them.
    pub const ALL: [Self; 5] =
        [Self::Fake, Self::Merged, Self::Hardcoded, Self::LlmInterrupted, Self::SpeechInterrupted];

    /// The attribute as it stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fake => "fake",
            Self::Merged => "merged",
            Self::Hardcoded => "hardcoded",
            Self::LlmInterrupted => "llmInterrupted",
            Self::SpeechInterrupted => "speechInterrupted",
        }
    }

    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A moment in the life of a message, in milliseconds since the Unix epoch. In records in camelCase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Timing {
    /// The message was added; always set.
    Creation,
    /// The caller began to be listened to.
    ListenStart,
    /// The caller had finished.
    ListenEnd,
    /// The model was asked.
    LlmStart,
    /// The model's first token arrived.
    LlmFirstToken,
    /// The model's answer was complete.
    LlmEnd,
    /// Playback began.
    PlayStart,
    /// Playback ended.
    PlayEnd,
}

impl Timing {
    /// All of them, in the order in which they usually happen.
    pub const ALL: [Self; 8] = [
        Self::Creation,
        Self::ListenStart,
        Self::ListenEnd,
        Self::LlmStart,
        Self::LlmFirstToken,
        Self::LlmEnd,
        Self::PlayStart,
        Self::PlayEnd,
    ];

    /// Whether it is the beginning of something, of which the earliest counts. Of an end, the latest counts.
    pub(crate) const fn is_start(self) -> bool {
        matches!(self, Self::Creation | Self::ListenStart | Self::LlmStart | Self::LlmFirstToken | Self::PlayStart)
    }

    /// The timing as it stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::ListenStart => "listenStart",
            Self::ListenEnd => "listenEnd",
            Self::LlmStart => "llmStart",
            Self::LlmFirstToken => "llmFirstToken",
            Self::LlmEnd => "llmEnd",
            Self::PlayStart => "playStart",
            Self::PlayEnd => "playEnd",
        }
    }
}

/// Refuses a moment that is told in seconds since the Unix epoch, of the years from 1973 to 5138.
///
/// In milliseconds, these are moments of 1970 to 1973, when nobody called.
pub(crate) fn check_ms(at_ms: i64) -> Result<i64, MessageError> {
    if (100_000_000..100_000_000_000).contains(&at_ms) { Err(MessageError::Seconds { at: at_ms }) } else { Ok(at_ms) }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
