//! [`ToolUse`]: one tool call and its outcome.

use std::collections::HashSet;
use std::fmt;

use serde_json::Value as Json;

use super::ToolState;
use super::line::{Fields, Shown};
use super::word::{atom, is_id, is_id_of, is_identifier};
use crate::manager::without_bytes;
use crate::message::{Content, ResultContent, ToolCall, ToolCallId, ToolName, ToolResult};
use crate::model::{NOT_RUN, OUTCOME_UNKNOWN};

/// A tool call and its outcome.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ToolUse {
    id: ToolCallId,
    tool: ToolName,
    state: ToolState,
    /// The `seq` of the message with the call.
    made: u32,
    called_at_ms: i64,
    /// When the result arrived.
    arrived_ms: Option<i64>,
    arguments: Fields,
    outcome: Fields,
    /// The call itself if it has an idempotency key, to recognize another attempt at the same act.
    act: Option<ToolCall>,
    /// When the outcome replaced an unknown one.
    late_ms: Option<i64>,
}

impl ToolUse {
    pub(super) fn new(tool_call: &ToolCall, at_ms: i64, made: u32) -> Self {
        Self {
            id: tool_call.id().clone(),
            tool: tool_call.name().clone(),
            state: ToolState::Running,
            made,
            called_at_ms: at_ms,
            arrived_ms: None,
            arguments: Fields::of(&json(&tool_call.clone().into(), "arguments")),
            outcome: Fields::default(),
            act: tool_call.idempotency_key().is_some().then(|| tool_call.clone()),
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

    /// Returns the `seq` of the message with the call.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// Returns whether nothing about the call is open: the caller knows its outcome, or it never ran.
    pub(super) fn is_settled(&self) -> bool {
        !self.state.is_open()
    }

    /// Returns whether the result arrived up to this time.
    pub(super) fn has_arrived_by(&self, at_ms: i64) -> bool {
        self.arrived_ms.is_some_and(|arrived_ms| arrived_ms <= at_ms)
    }

    /// Returns when the outcome replaced an unknown one.
    pub fn late_ms(&self) -> Option<i64> {
        self.late_ms
    }

    /// Returns the time of the call, in milliseconds since the Unix epoch.
    pub fn called_at_ms(&self) -> i64 {
        self.called_at_ms
    }

    /// Notes the result, which arrived at `at_ms`.
    pub(super) fn add_result(&mut self, result: &ToolResult, at_ms: i64) {
        self.arrived_ms = Some(at_ms);
        match result.outcome() {
            Err(error) if error.error_type() == Some(OUTCOME_UNKNOWN) => self.mark_unknown(),
            Err(error) if error.error_type() == Some(NOT_RUN) => {
                (self.state, self.late_ms) = (ToolState::NotRun, result.late_ms());
            }
            _ => self.finish(result),
        }
    }

    /// Forgets the result.
    pub(super) fn reopen(&mut self) {
        (self.state, self.outcome) = (ToolState::Running, Fields::default());
        (self.arrived_ms, self.late_ms) = (None, None);
    }

    fn finish(&mut self, result: &ToolResult) {
        self.late_ms = result.late_ms();
        self.outcome = Fields::default();
        match result.outcome() {
            Ok(contents) => {
                self.state = ToolState::Succeeded { reported: false };
                for content in contents {
                    match content {
                        ResultContent::Text(text) => self.outcome.add_text(text.as_str()),
                        other => self.outcome.add_json(&result_json(other)),
                    }
                }
            }
            Err(error) => {
                self.state = ToolState::Failed { reported: false };
                self.outcome.add_text(error.message());
            }
        }
    }

    /// Marks the outcome unknown if the call is still running.
    pub(super) fn mark_unknown(&mut self) {
        if self.state == ToolState::Running {
            self.state = ToolState::Unknown;
        }
    }

    /// Sets whether the caller knows the outcome, if there is one.
    pub(super) fn set_reported(&mut self, is_reported: bool) {
        if let ToolState::Succeeded { reported } | ToolState::Failed { reported } = &mut self.state {
            *reported = is_reported;
        }
    }

    /// Returns the name of the tool.
    pub fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// Returns the fields of the result.
    pub(super) fn outcome(&self) -> &Fields {
        &self.outcome
    }

    /// Returns the fields of the arguments.
    pub(super) fn arguments(&self) -> &Fields {
        &self.arguments
    }

    /// Returns the ids in the arguments, and the first id in the result.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.arguments.kept(is_id_of).chain(self.first_id())
    }

    /// Returns the first id in the result.
    fn first_id(&self) -> Option<&str> {
        self.outcome.kept(|_, value| is_id(value) && value.contains(char::is_alphabetic)).next()
    }

    /// Keeps only the ids that the shortest line contains.
    pub(super) fn shorten(&mut self) {
        let outcome = self.first_id().map(str::to_owned);
        self.arguments.retain(is_id_of);
        self.outcome = Fields::default();
        outcome.iter().for_each(|id| self.outcome.add_text(id));
    }

    /// Writes the number, the tool and the state of the call.
    pub(super) fn head(&self, number: usize) -> String {
        let untold = if self.state.reported() == Some(false) { " callerKnows=false" } else { "" };
        format!("#{number} {}", self.tool_and_state()) + untold
    }

    /// Writes the tool and the state of the call.
    pub(super) fn tool_and_state(&self) -> String {
        format!("{} {}", atom(self.tool.as_str()), self.state.as_str())
    }

    /// Iterates over the values that the shortest line has.
    pub(super) fn identifiers(&self) -> impl Iterator<Item = &str> {
        self.arguments.kept(is_identifier)
    }

    /// Returns what the fields of the arguments and of the result cost, given the values in `known`, and adds their
    /// values to `known`.
    pub(super) fn costs(&self, known: &mut HashSet<String>, age: usize) -> Costs {
        Costs { arguments: self.arguments.costs(known, age), outcome: self.outcome.costs(known, age) }
    }

    /// Iterates over the names of the fields of the arguments and of the result.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.arguments.names().chain(self.outcome.names())
    }

    /// Writes the call on one line: `#3 book succeeded: day=2024-05-20 -> id=X1`. Leaves out fields that `shown` has
    /// and those that cost more than `most`, but never the ids in the arguments.
    pub(super) fn line(&self, number: usize, most: usize, costs: &Costs, shown: &mut Shown) -> String {
        let mut line = self.head(number);
        let arguments = self.arguments.write(most, &costs.arguments, shown, is_identifier);
        if !arguments.is_empty() {
            line.extend([": ", &arguments]);
        }
        let outcome = self.outcome.write(most, &costs.outcome, shown, |_, _| false);
        match outcome.as_str() {
            "" => {}
            "…" if line.ends_with('…') => {}
            "…" => line.push_str(" …"),
            outcome => line.extend([" -> ", outcome]),
        }
        line
    }
}

/// The cost of writing the fields of a call.
#[derive(Default)]
pub(super) struct Costs {
    arguments: Vec<usize>,
    outcome: Vec<usize>,
}

impl Costs {
    /// Returns whether a field of the result costs at most `most`.
    pub fn has_outcome(&self, most: usize) -> bool {
        self.outcome.iter().any(|cost| *cost <= most)
    }

    /// Iterates over the costs of all fields.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.arguments.iter().chain(&self.outcome).copied()
    }
}

/// Shows neither arguments nor outcome, because they may hold a caller's words.
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
fn json(content: &Content, key: &str) -> Json {
    // A content always has a JSON form.
    let mut json = serde_json::to_value(content).unwrap_or_default();
    without_bytes(&mut json);
    json.get_mut(key).map(Json::take).unwrap_or_default()
}

/// Returns a content of a result, without the data of media.
fn result_json(content: &ResultContent) -> Json {
    let mut json = serde_json::to_value(content).unwrap_or_default();
    without_bytes(&mut json);
    match content {
        ResultContent::Json(_) => json.get_mut("json").map(Json::take).unwrap_or_default(),
        _ => json,
    }
}
