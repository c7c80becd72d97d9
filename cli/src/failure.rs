//! [`Failure`]: an error that ends a command, with its exit status.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use verbale::log::{CallId, LogError, LogErrorKind};

use crate::text::visible;

/// The meaning of the exit statuses, for `--help`.
pub const EXIT_STATUS: &str = "Exit status: 0 success; 1 error; 2 wrong arguments; 3 not found; 4 access denied; 5 the log cannot be \
                               reached; 6 something is wrong with a call; 130 interrupted";

/// The exit status if a command has found something wrong with a call.
pub const DIFFERENT: u8 = 6;

/// An error that ends a command. None contains the words of a caller.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    NotFound(String),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("{0}")]
    Denied(String),
    #[error("nothing was done")]
    Declined,
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Unfinished(String),
    #[error("the file {} cannot be written", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The log has nothing of a call.
    pub fn no_call(call_id: &CallId) -> Self {
        Self::NotFound(format!("the log has no call {call_id}; `verbale list` shows those of a day"))
    }

    /// Returns the exit status of the program.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::NotFound(_) => 3,
            Self::Denied(_) => 4,
            Self::Interrupted | Self::Unfinished(_) => 130,
            Self::Log(error) => match error.kind() {
                LogErrorKind::Invalid => 2,
                LogErrorKind::NotOpened | LogErrorKind::Erased => 3,
                LogErrorKind::NeedsOperator if error.to_string().contains("no such table") => 3,
                LogErrorKind::NeedsOperator if is_denied(error) => 4,
                LogErrorKind::Unavailable => 5,
                _ => 1,
            },
            Self::Declined | Self::File { .. } | Self::Output(_) => 1,
        }
    }
}

/// Returns whether stored data cannot be read.
pub fn is_damage(error: &LogError) -> bool {
    error.kind() == LogErrorKind::Damaged || causes(error).any(|cause| is_io(cause, io::ErrorKind::InvalidData))
}

fn is_io(cause: &(dyn Error + 'static), kind: io::ErrorKind) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == kind)
}

/// Returns whether the log, or the disk, refused access, or whether there are no credentials.
fn is_denied(error: &LogError) -> bool {
    let text = on_one_line(error);
    text.contains("access denied")
        || text.contains("loading credentials")
        || text.contains("no credentials")
        || causes(error).any(|cause| is_io(cause, io::ErrorKind::PermissionDenied))
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// Returns an error and its causes on one line.
pub fn on_one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    for text in causes(error).map(ToString::to_string) {
        // Many errors include their source.
        if !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
    }
    visible(&line)
}
