//! [`ToolUse`]: one tool call and its outcome.

use std::fmt;

use serde_json::Value as Json;

use crate::manager::{json_on_one_line, without_bytes};
use crate::message::{Content, Outcome, ToolCall, ToolCallId, ToolName, ToolResult};

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolState {
    /// It was called, and its result is pending.
    Running,
    /// Its result is lost: it took too long, or its process died. It may have acted.
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

/// A tool call and its outcome.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ToolUse {
    id: ToolCallId,
    tool: ToolName,
    state: ToolState,
    called_at_ms: i64,
    /// JSON, as in a record.
    arguments: String,
    outcome: Option<String>,
    /// The call itself if it has an idempotency key, to recognize another attempt at the same act.
    act: Option<ToolCall>,
    /// Whether a task of this process runs the tool, perhaps after its deadline.
    is_running: bool,
    /// When the outcome replaced an unknown one.
    late_ms: Option<i64>,
}

impl ToolUse {
    pub(super) fn new(tool_call: &ToolCall, at_ms: i64, max_bytes: usize) -> Self {
        Self {
            id: tool_call.id().clone(),
            tool: tool_call.name().clone(),
            state: ToolState::Running,
            called_at_ms: at_ms,
            arguments: bounded(json(&tool_call.clone().into(), "arguments"), max_bytes),
            outcome: None,
            act: tool_call.idempotency_key().is_some().then(|| tool_call.clone()),
            is_running: false,
            late_ms: None,
        }
    }

    pub fn id(&self) -> &ToolCallId {
        &self.id
    }

    pub fn state(&self) -> ToolState {
        self.state
    }

    /// Returns the call if it has an idempotency key.
    pub fn act(&self) -> Option<&ToolCall> {
        self.act.as_ref()
    }

    /// Returns the idempotency key of the call.
    pub fn key(&self) -> Option<&str> {
        self.act.as_ref()?.idempotency_key()
    }

    /// Returns whether a task of this process runs the tool.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Sets whether a task of this process runs the tool.
    pub fn set_running(&mut self, is_running: bool) {
        self.is_running = is_running;
    }

    /// Returns when the outcome replaced an unknown one.
    pub fn late_ms(&self) -> Option<i64> {
        self.late_ms
    }

    /// Returns the time of the call, in milliseconds since the Unix epoch.
    pub fn called_at_ms(&self) -> i64 {
        self.called_at_ms
    }

    pub(super) fn finish(&mut self, result: &ToolResult, max_bytes: usize) {
        let (state, key) = match result.outcome() {
            Outcome::Success(_) => (ToolState::Succeeded { reported: false }, "content"),
            Outcome::Failure(_) => (ToolState::Failed { reported: false }, "error"),
        };
        (self.state, self.late_ms) = (state, result.late_ms());
        self.outcome = Some(bounded(json(&result.clone().into(), key), max_bytes));
    }

    pub(super) fn mark_not_run(&mut self, result: &ToolResult) {
        (self.state, self.late_ms) = (ToolState::NotRun, result.late_ms());
    }

    /// Marks the outcome unknown if the call is still running.
    pub(super) fn mark_unknown(&mut self) {
        if self.state == ToolState::Running {
            self.state = ToolState::Unknown;
        }
    }

    /// Notes that the caller knows the outcome, if there is one.
    pub(super) fn mark_reported(&mut self) {
        self.set_reported(true);
    }

    /// Sets whether the caller knows the outcome, if there is one.
    pub(super) fn set_reported(&mut self, is_reported: bool) {
        if let ToolState::Succeeded { reported } | ToolState::Failed { reported } = &mut self.state {
            *reported = is_reported;
        }
    }

    /// Writes a JSON object on one line. Ids and tool names need no escaping.
    pub(super) fn line(&self) -> String {
        let Self { id, tool, state, arguments, .. } = self;
        let reported = state.reported().map(|reported| format!(",\"callerKnows\":{reported}")).unwrap_or_default();
        let outcome = self.outcome.as_ref().map(|outcome| format!(",\"outcome\":{outcome}")).unwrap_or_default();
        let state = state.as_str();
        format!(r#"{{"id":"{id}","tool":"{tool}","arguments":{arguments},"state":"{state}"{reported}{outcome}}}"#)
    }
}

/// Prints no arguments and no outcome, which may hold a caller's words.
impl fmt::Debug for ToolUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolUse")
            .field("id", &self.id)
            .field("tool", &self.tool)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Returns the value of `key` in the record of a content, without the data of media.
fn json(content: &Content, key: &str) -> String {
    // A content always has a JSON form.
    let mut json = serde_json::to_value(content).unwrap_or_default();
    without_bytes(&mut json);
    json.get(key).unwrap_or(&Json::Null).to_string()
}

/// Writes JSON on one line. If it is longer than `max_bytes`, writes its beginning as a string.
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
