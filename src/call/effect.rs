//! [`Effect`]: the effect of an event that the service reported.

use std::fmt;

use crate::turn::ResultRefused;

/// The effect of an event that the service reported. Events may come late, twice, or out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The event changed the conversation or the session.
    Applied,
    /// The event changed nothing.
    Ignored(Ignored),
}

impl Effect {
    /// Returns whether the event changed anything.
    pub fn is_applied(self) -> bool {
        self == Self::Applied
    }
}

/// The reason why an event changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// The call is closed.
    Closed,
    /// The event was reported before.
    Repeated,
    /// The transcript is blank.
    Blank,
    /// The call has no such speech, or the speech is older than the last 64.
    UnknownSpeech,
    /// The reply of this speech is running. The report takes effect if no more text follows. Otherwise report the end
    /// again, after the last word.
    StillGenerated,
    /// An earlier report about this speech is final or more exact.
    Superseded,
    /// The result of a tool was refused.
    ToolResult(ResultRefused),
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "the call is closed",
            Self::Repeated => "the event was reported before",
            Self::Blank => "the transcript is blank",
            Self::UnknownSpeech => "the call has no such speech, or had it too long ago",
            Self::StillGenerated => "the reply is running; report the end again after its last word",
            Self::Superseded => "an earlier report about the speech is final or more exact",
            Self::ToolResult(refused) => return refused.fmt(f),
        })
    }
}
