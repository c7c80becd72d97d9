//! [`ToolUse`]: one tool call and what became of it.

use std::fmt;

use serde_json::Value as Json;

use crate::manager::{json_on_one_line, without_bytes};
use crate::message::{Content, Outcome, ToolCall, ToolCallId, ToolName, ToolResult};

/// What became of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolState {
    /// It was called, and its result is waited for.
    Running,
    /// Nobody knows: it took too long, or the process that called it is gone. It may have acted.
    Unknown,
    /// It never ran.
    NotRun,
    /// It did what it was called for.
    Succeeded {
        /// Whether the caller knows.
        told: bool,
    },
    /// It failed.
    Failed {
        /// Whether the caller knows.
        told: bool,
    },
}

impl ToolState {
    /// Whether somebody still waits for it: its result is to come, unknown, or not told to the caller.
    pub fn is_open(self) -> bool {
        match self {
            Self::Running | Self::Unknown => true,
            Self::NotRun => false,
            Self::Succeeded { told } | Self::Failed { told } => !told,
        }
    }

    /// Whether the caller knows the outcome, where there is one.
    pub fn told(self) -> Option<bool> {
        match self {
            Self::Running | Self::Unknown | Self::NotRun => None,
            Self::Succeeded { told } | Self::Failed { told } => Some(told),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Unknown => "unknown",
            Self::NotRun => "notRun",
            Self::Succeeded { .. } => "succeeded",
            Self::Failed { .. } => "failed",
        }
    }
}

/// A tool call and what became of it.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolUse {
    id: ToolCallId,
    tool: ToolName,
    state: ToolState,
    called_at_ms: i64,
    finished_at_ms: Option<i64>,
    /// JSON, as it stands in a record.
    arguments: String,
    outcome: Option<String>,
}

impl ToolUse {
    pub(super) fn new(tool_call: &ToolCall, at_ms: i64, max_bytes: usize) -> Self {
        Self {
            id: tool_call.id().clone(),
            tool: tool_call.name().clone(),
            state: ToolState::Running,
            called_at_ms: at_ms,
            finished_at_ms: None,
            arguments: bounded(json(&tool_call.clone().into(), "arguments"), max_bytes),
            outcome: None,
        }
    }

    /// What pairs the call with its result.
    pub fn id(&self) -> &ToolCallId {
        &self.id
    }

    /// The tool that was called.
    pub fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// What became of it.
    pub fn state(&self) -> ToolState {
        self.state
    }

    /// When it was called, in milliseconds since the Unix epoch.
    pub fn called_at_ms(&self) -> i64 {
        self.called_at_ms
    }

    /// When its outcome came, in milliseconds since the Unix epoch.
    pub fn finished_at_ms(&self) -> Option<i64> {
        self.finished_at_ms
    }

    pub(super) fn finish(&mut self, result: &ToolResult, at_ms: i64, max_bytes: usize) {
        let (state, key) = match result.outcome() {
            Outcome::Success(_) => (ToolState::Succeeded { told: false }, "content"),
            Outcome::Failure(_) => (ToolState::Failed { told: false }, "error"),
        };
        self.state = state;
        self.finished_at_ms = Some(at_ms);
        self.outcome = Some(bounded(json(&result.clone().into(), key), max_bytes));
    }

    pub(super) fn cancel(&mut self) {
        self.state = ToolState::NotRun;
    }

    /// It is waited for no more.
    pub(super) fn lose(&mut self) {
        if self.state == ToolState::Running {
            self.state = ToolState::Unknown;
        }
    }

    pub(super) fn tell(&mut self) {
        if let ToolState::Succeeded { told } | ToolState::Failed { told } = &mut self.state {
            *told = true;
        }
    }

    /// A JSON object on one line. Ids and names of tools need no quoting.
    pub(super) fn line(&self) -> String {
        let Self { id, tool, state, arguments, .. } = self;
        let told = state.told().map(|told| format!(",\"told\":{told}")).unwrap_or_default();
        let outcome = self.outcome.as_ref().map(|outcome| format!(",\"outcome\":{outcome}")).unwrap_or_default();
        let state = state.as_str();
        format!(r#"{{"id":"{id}","tool":"{tool}","arguments":{arguments},"state":"{state}"{told}{outcome}}}"#)
    }
}

/// Without arguments and outcome.
impl fmt::Debug for ToolUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolUse")
            .field("id", &self.id)
            .field("tool", &self.tool)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// What stands under `key` in the record of a content, without the data of media.
fn json(content: &Content, key: &str) -> String {
    // A content always is JSON.
    let mut json = serde_json::to_value(content).unwrap_or_default();
    without_bytes(&mut json);
    json.get(key).unwrap_or(&Json::Null).to_string()
}

/// The JSON on one line; where that is longer than `max_bytes`, its beginning as a text.
fn bounded(json: String, max_bytes: usize) -> String {
    let mut line = String::with_capacity(json.len());
    json_on_one_line(&mut line, &json);
    if line.len() <= max_bytes {
        return line;
    }
    let end = format!("… ({} bytes in all)\"", json.len());
    let mut cut = "\"".to_owned();
    for c in json.chars() {
        let length = cut.len();
        if matches!(c, '"' | '\\') {
            cut.push('\\');
        }
        json_on_one_line(&mut cut, c.encode_utf8(&mut [0; 4]));
        if cut.len() + end.len() > max_bytes {
            cut.truncate(length);
            break;
        }
    }
    cut + &end
}
