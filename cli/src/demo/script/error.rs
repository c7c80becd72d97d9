//! [`ScriptError`]: an error in a file, on one line that quotes no words of the call.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use verbale::message::MessageError;

/// An error in a file, as `path:LINE: problem`.
#[derive(Debug, thiserror::Error)]
pub struct ScriptError {
    path: PathBuf,
    line: Option<usize>,
    #[source]
    problem: Problem,
}

/// A problem with its line, counted from 1.
#[derive(Debug)]
pub struct Refused {
    pub line: usize,
    pub problem: Problem,
}

/// A problem of a file, a segment or a message.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("not UTF-8 text")]
    NotUtf8,
    #[error("the file is empty")]
    Empty,
    #[error(
        "neither of the two formats: JSON Lines with `role`, `start_timestamp_ms`, `duration_ms` and `text`, \
         or a JSON object with `messages`"
    )]
    UnknownFormat,
    #[error("not valid JSON: {0}")]
    Syntax(String),
    #[error("message {number}: {problem}")]
    Message { number: usize, problem: Box<Problem> },
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{field}` is not {wanted}")]
    Not { field: &'static str, wanted: &'static str },
    #[error("`{0}` is longer than 300,000 bytes, which is too long for the log")]
    TooLong(&'static str),
    #[error("not a JSON object")]
    NotAnObject,
    #[error("`role` is none of {0}")]
    UnknownRole(&'static str),
    #[error("`duration_ms` is negative")]
    NegativeDuration,
    #[error("the time is not within the years 1970 to 9999, in ms since the epoch")]
    TimeOutOfRange,
    #[error("`arguments` is not valid JSON: {0}")]
    Arguments(String),
    #[error("`arguments` is JSON but not an object")]
    ArgumentsNotAnObject,
    #[error("the `id` of this tool call belongs to an earlier call without a result")]
    CallTwice,
    #[error("the `tool_call_id` of this result belongs to no earlier call")]
    ResultWithoutCall,
    #[error("the tool call of this result already has a result")]
    ResultTwice,
    #[error(transparent)]
    NoContent(#[from] MessageError),
}

impl Problem {
    pub fn at_line(self, line: usize) -> Refused {
        Refused { line, problem: self }
    }

    /// Uses serde_json's text only for syntax errors, because its other texts quote the file.
    pub fn syntax(error: &serde_json::Error) -> Self {
        Self::Syntax(without_position(error))
    }
}

/// Removes the position, because the line in the file is reported instead.
pub fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

impl ScriptError {
    pub fn unreadable(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), line: None, problem: Problem::Unreadable(error) }
    }

    pub fn refused(path: &Path, refused: Refused) -> Self {
        Self { path: path.to_owned(), line: Some(refused.line), problem: refused.problem }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A file name may contain line ends and control sequences.
        for c in self.path.to_string_lossy().chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        match self.line {
            Some(line) => write!(f, ":{line}: {}", self.problem),
            None => write!(f, ": {}", self.problem),
        }
    }
}
