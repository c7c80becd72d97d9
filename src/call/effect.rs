//! [`Effect`]: the effect of an event that the service reported.

use std::fmt;

use crate::turn::ResultRefused;

/// The effect of an event that the service reported. Events may come late, twice, or out of order.
///
/// Its text is `applied`, or the reason why the event changed nothing, for logs. The [module](super) lists the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect(Option<Ignored>);

impl Effect {
    pub(super) const APPLIED: Self = Self(None);

    pub(super) const fn ignored(reason: Ignored) -> Self {
        Self(Some(reason))
    }

    /// Returns whether the event changed the conversation or the session.
    pub fn is_applied(self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.pad("applied"),
            Some(ignored) => ignored.fmt(f),
        }
    }
}

/// The reason why an event changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ignored(Reason);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Text(&'static str),
    ToolResult(ResultRefused),
}

impl Ignored {
    pub(super) const CLOSED: Self = Self::text("the call is closed");
    pub(super) const REPEATED: Self = Self::text("the event was reported before");
    pub(super) const BLANK: Self = Self::text("the transcript is blank");
    pub(super) const SECONDS: Self =
        Self::text("its time is in seconds, and milliseconds since the Unix epoch are needed; multiply by 1000");
    pub(super) const UNKNOWN_SPEECH: Self = Self::text("the call has no such speech, or had it too long ago");
    /// The report takes effect if no more text follows.
    pub(super) const STILL_GENERATED: Self =
        Self::text("the reply is running; report the end again after its last word");
    pub(super) const SUPERSEDED: Self = Self::text("an earlier report about the speech is final or more exact");

    const fn text(text: &'static str) -> Self {
        Self(Reason::Text(text))
    }
}

impl From<ResultRefused> for Ignored {
    fn from(refused: ResultRefused) -> Self {
        Self(Reason::ToolResult(refused))
    }
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Reason::Text(text) => f.pad(text),
            Reason::ToolResult(refused) => refused.fmt(f),
        }
    }
}
