//! [`ToolState`]: whether a tool call has an outcome, and whether the caller knows it.

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolState {
    /// It was called, and its result is pending.
    Running,
    /// Its result is lost: the tool took too long, or its process died. The tool may have acted.
    Unknown,
    /// It never ran.
    NotRun,
    /// It returned a result.
    Succeeded {
        /// Whether the caller knows the outcome.
        reported: bool,
    },
    /// It returned an error.
    Failed {
        /// Whether the caller knows the outcome.
        reported: bool,
    },
}

impl ToolState {
    /// Returns `true` if the result is pending, unknown, or not reported to the caller.
    pub fn is_open(self) -> bool {
        match self {
            Self::Running | Self::Unknown => true,
            Self::NotRun => false,
            Self::Succeeded { reported } | Self::Failed { reported } => !reported,
        }
    }

    /// Returns whether the caller knows the outcome, or `None` if there is no outcome.
    pub fn reported(self) -> Option<bool> {
        match self {
            Self::Running | Self::Unknown | Self::NotRun => None,
            Self::Succeeded { reported } | Self::Failed { reported } => Some(reported),
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Unknown => "unknown",
            Self::NotRun => "notRun",
            Self::Succeeded { .. } => "succeeded",
            Self::Failed { .. } => "failed",
        }
    }
}
