//! [`Attribute`] and [`Timing`]: the marks and the times of a message.

use super::error::MessageError;
use super::names::names;

/// A mark on a message. Records write it in camelCase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// The manager added the message so that the window starts with a user message. Nobody said it.
    Fake,
    /// Another message of the same role was merged into this one. The mark is repeated for each merge.
    Merged,
    /// The service wrote the words. An assistant message is a fixed sentence, which no model generated; a user message is
    /// background for the model, which nobody said.
    Hardcoded,
    /// The model was stopped before its answer was complete.
    LlmInterrupted,
    /// The caller interrupted the message while it was played.
    SpeechInterrupted,
}

impl Attribute {
    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A time of a message, in milliseconds since the Unix epoch. Records write its name in camelCase.
///
#[doc = include_str!("../../docs/times.md")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Timing {
    /// The message was added. Always set.
    Creation,
    /// The caller began to speak.
    ListenStart,
    /// The caller stopped speaking.
    ListenEnd,
    /// The request to the model was sent.
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
    /// Returns whether this is a start. A merged message keeps the earliest start and the latest end.
    pub(crate) const fn is_start(self) -> bool {
        matches!(self, Self::Creation | Self::ListenStart | Self::LlmStart | Self::LlmFirstToken | Self::PlayStart)
    }
}

/// Returns `at_ms`, or an error if it is probably in seconds since the Unix epoch.
///
/// Seconds of the years 1973 to 5138 would be milliseconds of the years 1970 to 1973, which no call has.
pub(crate) fn check_ms(at_ms: i64) -> Result<i64, MessageError> {
    if !(100_000_000..100_000_000_000).contains(&at_ms) {
        return Ok(at_ms);
    }
    Err(MessageError::with_details(format!(
        "{at_ms} is a time in seconds, and milliseconds since the Unix epoch are needed; multiply by 1000"
    )))
}

names!(Attribute {
    Fake: "fake",
    Merged: "merged",
    Hardcoded: "hardcoded",
    LlmInterrupted: "llmInterrupted",
    SpeechInterrupted: "speechInterrupted",
});

// In the order in which they usually happen.
names!(Timing {
    Creation: "creation",
    ListenStart: "listenStart",
    ListenEnd: "listenEnd",
    LlmStart: "llmStart",
    LlmFirstToken: "llmFirstToken",
    LlmEnd: "llmEnd",
    PlayStart: "playStart",
    PlayEnd: "playEnd",
});
