//! [`ToolCall`] and [`ToolResult`]: a tool call and its result, paired by an [`ToolCallId`].

use std::fmt;

use super::{ResultContent, ResultContents};
use crate::message::error::MessageError;
use crate::message::text::{Text, is_blank};
use crate::message::value::{IntoValue, Map, Value};

/// What pairs a tool call with its result: 1 to 64 of `[a-zA-Z0-9_-]`, as Bedrock's
/// [`toolUseId`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolCallId(Text);

/// The name of a tool: 1 to 64 of `[a-zA-Z0-9_-]`, as Bedrock's
/// [`ToolSpecification`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Text);

impl ToolCallId {
    /// Errors: not 1 to 64 of `[a-zA-Z0-9_-]`.
    pub fn new(id: impl Into<Text>) -> Result<Self, MessageError> {
        let id = id.into();
        if is_identifier(&id) { Ok(Self(id)) } else { Err(MessageError::InvalidToolCallId { length: id.len() }) }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ToolName {
    /// Errors: not 1 to 64 of `[a-zA-Z0-9_-]`.
    pub fn new(name: impl Into<Text>) -> Result<Self, MessageError> {
        let name = name.into();
        if is_identifier(&name) { Ok(Self(name)) } else { Err(MessageError::InvalidToolName { length: name.len() }) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_identifier(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

impl fmt::Display for ToolCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ToolCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The model asks for a tool to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    id: ToolCallId,
    name: ToolName,
    arguments: Value,
    pub(crate) unknown: Option<Map>,
}

impl ToolCall {
    /// A call of tool `name`.
    ///
    /// Errors: an id or a name that Bedrock refuses; arguments that are no [`Value`].
    pub fn new(id: impl Into<Text>, name: impl Into<Text>, arguments: impl IntoValue) -> Result<Self, MessageError> {
        Ok(Self::of(ToolCallId::new(id)?, ToolName::new(name)?, arguments.into_value()?))
    }

    /// A call whose id and name are known to be good.
    pub(crate) fn of(id: ToolCallId, name: ToolName, arguments: Value) -> Self {
        Self { id, name, arguments, unknown: None }
    }

    /// What pairs the call with its result.
    pub fn id(&self) -> &ToolCallId {
        &self.id
    }

    /// The tool.
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What the model gives to the tool: usually a map.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    pub(crate) fn with_arguments(self, arguments: Value) -> Self {
        Self { arguments, ..self }
    }

    /// Returns the result of this call: a text, a value, `serde_json::json!`, media, or a list of them.
    ///
    /// ```
    /// # use verbale::ToolCall;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let call = ToolCall::new("call_1", "balance", serde_json::json!({"account": 7}))?;
    /// call.success("12.50 euros");
    /// call.success(serde_json::json!({"amount": 12.5, "currency": "EUR"}));
    /// call.success(["as of today", "12.50 euros"]);
    /// # Ok(()) }
    /// ```
    pub fn success(&self, contents: impl Into<ResultContents>) -> ToolResult {
        ToolResult::new(self.id.clone(), self.name.clone(), Outcome::Success(contents.into().into_vec()))
    }

    /// The result of this call, which failed.
    pub fn failure(&self, error: ToolCallError) -> ToolResult {
        ToolResult::new(self.id.clone(), self.name.clone(), Outcome::Failure(error))
    }
}

/// What came of an [`ToolCall`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    tool_call_id: ToolCallId,
    name: ToolName,
    outcome: Outcome,
    pub(crate) unknown: Option<Map>,
}

impl ToolResult {
    /// The outcome of the call `tool_call_id` of tool `name`. [`ToolCall::success`] and
    /// [`ToolCall::failure`] copy both from the call.
    pub fn new(tool_call_id: ToolCallId, name: ToolName, outcome: Outcome) -> Self {
        Self { tool_call_id, name, outcome, unknown: None }
    }

    /// The call that this is the result of.
    pub fn tool_call_id(&self) -> &ToolCallId {
        &self.tool_call_id
    }

    /// The tool that was called.
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What came of it.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    pub(crate) fn with_outcome(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }
}

/// Success, with what the tool gave back; or failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// What the tool gave back, which may be nothing.
    Success(Vec<ResultContent>),
    /// Why it failed.
    Failure(ToolCallError),
}

/// Why a tool call failed.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolCallError {
    kind: Option<Text>,
    message: Text,
    retryable: Option<bool>,
    pub(crate) unknown: Option<Map>,
}

impl ToolCallError {
    /// An error that tells the model `message`. Errors: blank, for Bedrock takes no empty error result.
    pub fn new(message: impl Into<Text>) -> Result<Self, MessageError> {
        let message = message.into();
        if is_blank(&message) {
            return Err(MessageError::BlankToolCallError);
        }
        Ok(Self { kind: None, message, retryable: None, unknown: None })
    }

    /// The same with a type, such as `Timeout`.
    #[must_use]
    pub fn with_type(mut self, kind: impl Into<Text>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// The same, saying whether another try may help.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = Some(retryable);
        self
    }

    /// The same with another message. Errors: blank.
    pub(crate) fn with_message(&self, message: impl Into<Text>) -> Result<Self, MessageError> {
        let Self { message, .. } = Self::new(message)?;
        Ok(Self { message, ..self.clone() })
    }

    /// The type of the error, where one was given.
    pub fn error_type(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// What the model is told; never blank.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether another try may help, where that is known.
    pub fn retryable(&self) -> Option<bool> {
        self.retryable
    }
}

impl fmt::Debug for ToolCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolCallError({} bytes)", self.message.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_those_that_bedrock_takes() {
        let longest = "x".repeat(64);
        for good in ["a", "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q", "call-1", &longest] {
            assert!(ToolCallId::new(good).is_ok() && ToolName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "get user", "é", "a.b", &"x".repeat(65)] {
            assert_eq!(ToolCallId::new(bad), Err(MessageError::InvalidToolCallId { length: bad.len() }));
            assert_eq!(ToolName::new(bad), Err(MessageError::InvalidToolName { length: bad.len() }));
        }
    }

    #[test]
    fn an_error_says_something() {
        assert_eq!(ToolCallError::new(" \n"), Err(MessageError::BlankToolCallError));
    }
}
