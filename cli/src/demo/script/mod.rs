//! [`Script`]: a call to play, with its speakers, words and times. It is read and checked before the call begins.

mod chat;
mod error;
mod fields;
mod segments;

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::IgnoredAny;
use verbale::message::{Text, ToolCall, ToolResult};

pub use error::ScriptError;
use error::{Problem, Refused};

/// A call to play.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The name of the file without its extension, in letters, digits, `.`, `-` and `_`.
    pub call_id: String,
    /// The events in the order of their start. Empty if nobody speaks.
    pub events: Vec<Event>,
}

/// An event of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Milliseconds since the Unix epoch.
    pub start_ms: i64,
    /// Milliseconds since the Unix epoch, never before the start.
    pub end_ms: i64,
    pub kind: EventKind,
}

/// The kind of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// The assistant gets instructions.
    System(Text),
    /// The caller speaks words.
    Caller(Text),
    /// The assistant speaks, calls tools, or both.
    Agent {
        text: Option<Text>,
        calls: Vec<ToolCall>,
        /// Playing time in milliseconds until the caller interrupted; `None` without an interruption.
        played_ms: Option<u64>,
    },
    /// A tool returned its result.
    ToolResult(ToolResult),
}

impl Script {
    /// The start of the first event, in milliseconds since the Unix epoch; 0 if nobody speaks.
    pub fn start_ms(&self) -> i64 {
        self.events.first().map_or(0, |event| event.start_ms)
    }

    /// The end of the last event, in milliseconds since the Unix epoch; 0 if nobody speaks.
    pub fn end_ms(&self) -> i64 {
        self.events.iter().map(|event| event.end_ms).max().unwrap_or(0)
    }

    /// Returns the call that is built into the program.
    pub fn builtin() -> Result<Self, ScriptError> {
        Self::parse(Path::new("builtin.jsonl"), include_bytes!("../builtin.jsonl"))
    }

    /// Reads a file in one of the two formats, which are recognized by content.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let bytes = std::fs::read(path).map_err(|error| ScriptError::unreadable(path, error))?;
        Self::parse(path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ScriptError> {
        let events = events(bytes).map_err(|refused| ScriptError::refused(path, refused))?;
        Ok(Self { call_id: call_id(path), events })
    }
}

fn events(bytes: &[u8]) -> Result<Vec<Event>, Refused> {
    let text = str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.iter().take(error.valid_up_to());
        Problem::NotUtf8.at_line(1 + valid.filter(|byte| **byte == b'\n').count())
    })?;
    // Editors add a byte order mark, which JSON does not allow.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read = Format::of(text).and_then(|format| match format {
        Format::Segments => segments::read(text),
        Format::Chat => chat::read(text),
    });
    // serde_json reports an unexpected end one line after the last.
    read.map_err(|refused| Refused { line: refused.line.clamp(1, text.lines().count().max(1)), ..refused })
}

enum Format {
    Segments,
    Chat,
}

impl Format {
    /// Recognizes the format by the first JSON object: a whole chat, or the first segment.
    fn of(text: &str) -> Result<Self, Refused> {
        let mut objects = serde_json::Deserializer::from_str(text).into_iter::<BTreeMap<String, IgnoredAny>>();
        match objects.next() {
            None => Err(Problem::Empty.at_line(1)),
            Some(Ok(fields)) if fields.contains_key(chat::MESSAGES) => Ok(Self::Chat),
            Some(Ok(fields)) if segments::FIELDS.iter().any(|field| fields.contains_key(*field)) => Ok(Self::Segments),
            Some(Err(error)) if !error.is_data() && text.trim_start().starts_with('{') => {
                Err(Problem::syntax(&error).at_line(error.line()))
            }
            Some(Ok(_) | Err(_)) => {
                let blank = text.lines().take_while(|line| line.trim().is_empty()).count();
                Err(Problem::UnknownFormat.at_line(blank + 1))
            }
        }
    }
}

fn call_id(path: &Path) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' };
    path.file_stem().unwrap_or_default().to_string_lossy().chars().map(keep).collect()
}

#[cfg(test)]
mod tests;
