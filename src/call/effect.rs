//! [`Effect`]: what became of an event that the service reported.

use std::fmt;

/// What became of an event that the service reported. Events may come late, twice or out of order: none is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It changed the conversation, or what the session does.
    Applied,
    /// It changed nothing.
    Ignored(Ignored),
}

impl Effect {
    /// Whether it changed something.
    pub fn is_applied(self) -> bool {
        self == Self::Applied
    }
}

/// Why an event changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// The call is closed.
    Closed,
    /// It was reported before.
    Repeated,
    /// It says nothing: a transcript of blanks.
    Blank,
    /// No speech of this call, or one of long ago.
    UnknownSpeech,
    /// More of the speech may come. It counts all the same where nothing does; else report it at the end of all.
    StillGenerated,
    /// The speech had been played to its end.
    Finished,
    /// The speech had been cut off before: a player that drops the rest reports its end.
    Interrupted,
    /// A more exact report came before.
    KnownBetter,
    /// The call of the tool is not known here.
    UnknownToolCall,
    /// The call of the tool has an outcome already.
    SecondResult,
    /// The result is of another tool than the call.
    OtherTool,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "the call is closed",
            Self::Repeated => "it was reported before",
            Self::Blank => "it says nothing",
            Self::UnknownSpeech => "there is no such speech, or it was long ago",
            Self::StillGenerated => "more of the speech is to come",
            Self::Finished => "the speech had been played to its end",
            Self::Interrupted => "the speech had been cut off before",
            Self::KnownBetter => "a more exact report came before",
            Self::UnknownToolCall => "there is no such call of a tool",
            Self::SecondResult => "the call of the tool has an outcome already",
            Self::OtherTool => "the result is of another tool than the call",
        })
    }
}
