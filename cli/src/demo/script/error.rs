//! [`ScriptError`]: why a file cannot be played. On one line, and never with a word that was said.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use verbale::message::MessageError;

/// Why a file cannot be played: `path:LINE: what is wrong`.
#[derive(Debug, thiserror::Error)]
pub struct ScriptError {
    path: PathBuf,
    line: Option<usize>,
    #[source]
    problem: Problem,
}

/// What is wrong, and in which line, counted from 1.
#[derive(Debug)]
pub struct Refused {
    pub line: usize,
    pub problem: Problem,
}

/// What is wrong with a file, a segment or a message.
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
    #[error("`arguments` hold no valid JSON: {0}")]
    Arguments(String),
    #[error("`arguments` hold JSON, but no object")]
    ArgumentsNotAnObject,
    #[error("the `id` of this tool call is that of a call which still waits for its result")]
    CallTwice,
    #[error("the `tool_call_id` of this result is that of no call before it")]
    ResultWithoutCall,
    #[error("the tool call of this result has its result already")]
    ResultTwice,
    #[error(transparent)]
    NoContent(#[from] MessageError),
}

impl Problem {
    pub fn at_line(self, line: usize) -> Refused {
        Refused { line, problem: self }
    }

    /// Of errors in the JSON itself, whose texts quote nothing; those about its shape do.
    pub fn syntax(error: &serde_json::Error) -> Self {
        Self::Syntax(without_position(error))
    }
}

/// The position is told as that of the file.
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
        // A file's name can hold line ends, and the terminal's control sequences.
        for c in self.path.to_string_lossy().chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        match self.line {
            Some(line) => write!(f, ":{line}: {}", self.problem),
            None => write!(f, ": {}", self.problem),
        }
    }
}
