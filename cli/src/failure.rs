//! [`Failure`]: an error that ends a command, with its exit status.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use verbale::log::{LogError, LogErrorKind};

use crate::text::visible;

/// What the exit statuses mean, for `--help`.
pub const EXIT_STATUS: &str = "Exit status: 0 success; 1 error; 2 wrong arguments; 3 not found; 4 access denied; 5 the log cannot be \
                               reached; 6 something is wrong with a call";

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
    #[error("nothing was done")]
    Declined,
    #[error("the file {} cannot be written", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

impl Failure {
    /// Returns the exit status of the program.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::NotFound(_) => 3,
            Self::Log(error) => match error.kind() {
                LogErrorKind::Invalid => 2,
                LogErrorKind::NotOpened | LogErrorKind::Erased => 3,
                LogErrorKind::NeedsOperator if error.to_string().contains("no such table") => 3,
                LogErrorKind::NeedsOperator if error.to_string().contains("access denied") => 4,
                LogErrorKind::Unavailable => 5,
                _ => 1,
            },
            Self::Declined | Self::File { .. } | Self::Output(_) => 1,
        }
    }
}

/// Returns an error and its causes on one line.
pub fn on_one_line(error: &dyn Error) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // Many errors include their source.
        if !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
        next = error.source();
    }
    visible(&line)
}
