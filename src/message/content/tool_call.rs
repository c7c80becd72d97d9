//! [`ToolCall`] and [`ToolResult`]: a tool call and its result, paired by a [`ToolCallId`].

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::codec::{not_empty, present};
use super::identifier::{ToolCallId, ToolName};
use super::{ResultContent, ResultContents};
use crate::message::error::MessageError;
use crate::message::text::{Text, is_blank};
use crate::message::value::{Map, Value};

/// A request of the model to run a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    id: ToolCallId,
    name: ToolName,
    arguments: Value,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<Text>,
    /// Entries that a newer version wrote.
    #[serde(flatten, deserialize_with = "not_empty", skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<Map>,
}

impl ToolCall {
    /// Creates a call of tool `name`.
    ///
    /// Returns a [`MessageError`] if the id is not a [`ToolCallId`], if the name is not a [`ToolName`], or if the arguments
    /// do not fit a [`Value`].
    pub fn new(
        id: impl Into<Text>,
        name: impl Into<Text>,
        arguments: impl TryInto<Value, Error: Into<MessageError>>,
    ) -> Result<Self, MessageError> {
        Ok(Self::of(ToolCallId::new(id)?, ToolName::new(name)?, Value::checked(arguments)?))
    }

    /// Creates a call of checked parts.
    pub(crate) fn of(id: ToolCallId, name: ToolName, arguments: Value) -> Self {
        Self { id, name, arguments, idempotency_key: None, unknown: None }
    }

    /// Returns the id that pairs the call with its result.
    pub fn id(&self) -> &ToolCallId {
        &self.id
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// Returns the arguments, usually a map.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Returns the idempotency key, 32 hexadecimal digits, if the tool may act. The tool passes the key to the service
    /// that it calls.
    ///
    /// Attempts at the same act have the same key, also in another process, so that the service can refuse to act
    /// twice. [`Tool`](crate::model::Tool) states which calls share a key.
    pub fn idempotency_key(&self) -> Option<&str> {
        self.idempotency_key.as_deref()
    }

    pub(crate) fn with_idempotency_key(self, key: Text) -> Self {
        Self { idempotency_key: Some(key), ..self }
    }

    pub(crate) fn with_arguments(self, arguments: Value) -> Self {
        Self { arguments, ..self }
    }

    /// Creates the result of this call after a success.
    ///
    /// `contents` is a text, a [`Value`], a `serde_json::Value`, media, a document, or a list of one of these types.
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
        ToolResult::new(self.id.clone(), self.name.clone(), Ok(contents.into().into_vec()))
    }

    /// Creates the result of this call after a failure.
    pub fn failure(&self, error: ToolError) -> ToolResult {
        ToolResult::new(self.id.clone(), self.name.clone(), Err(error))
    }
}

/// The result of a [`ToolCall`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    tool_call_id: ToolCallId,
    name: ToolName,
    #[serde(flatten, with = "stored_outcome")]
    outcome: Outcome,
    /// The time at which the result replaced an unknown outcome, in milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    late_ms: Option<i64>,
    /// Entries that a newer version wrote.
    #[serde(flatten, deserialize_with = "not_empty", skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<Map>,
}

impl ToolResult {
    /// Creates the result of call `tool_call_id` of tool `name`: the contents that the tool returned, possibly none, or the
    /// reason why the call failed.
    ///
    /// [`ToolCall::success`] and [`ToolCall::failure`] copy the id and the name from the call.
    pub fn new(tool_call_id: ToolCallId, name: ToolName, outcome: Result<Vec<ResultContent>, ToolError>) -> Self {
        Self { tool_call_id, name, outcome, late_ms: None, unknown: None }
    }

    /// Returns the id of the call.
    pub fn tool_call_id(&self) -> &ToolCallId {
        &self.tool_call_id
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// Returns the contents that the tool returned, possibly none, or the reason why the call failed.
    ///
    /// A call with an unknown outcome has failed, too.
    pub fn outcome(&self) -> &Result<Vec<ResultContent>, ToolError> {
        &self.outcome
    }

    /// Returns the time at which the result replaced an unknown outcome, in milliseconds since the Unix epoch.
    pub(crate) fn late_ms(&self) -> Option<i64> {
        self.late_ms
    }

    pub(crate) fn with_late_ms(self, at_ms: i64) -> Self {
        Self { late_ms: Some(at_ms), ..self }
    }

    pub(crate) fn with_outcome(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }
}

/// The outcome of a tool call.
pub(crate) type Outcome = Result<Vec<ResultContent>, ToolError>;

/// The outcome in a record: `content` or `error`.
mod stored_outcome {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Outcome, ResultContent, ToolError};

    pub fn serialize<S: Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
        let stored: Stored<&Vec<ResultContent>, &ToolError> = match outcome {
            Ok(content) => Stored::Content(content),
            Err(error) => Stored::Error(error),
        };
        stored.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Outcome, D::Error> {
        Ok(match Stored::<Vec<ResultContent>, ToolError>::deserialize(deserializer)? {
            Stored::Content(content) => Ok(content),
            Stored::Error(error) => Err(error),
        })
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Stored<C, E> {
        Content(C),
        Error(E),
    }
}

/// The failure of a tool call, as the model gets it.
///
/// `?` converts any error that implements [`Display`](fmt::Display).
///
/// ```
/// use verbale::message::ToolError;
///
/// fn seats(text: &str) -> Result<u8, ToolError> {
///     let seats: u8 = text.parse()?;
///     if seats > 9 {
///         return Err(ToolError::new("at most 9 seats; book twice").with_type("TooManySeats").with_retryable(true));
///     }
///     Ok(seats)
/// }
/// assert!(seats("ten").is_err() && seats("10").is_err() && seats("9").is_ok());
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    #[serde(rename = "type", default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    kind: Option<Text>,
    #[serde(deserialize_with = "not_blank")]
    message: Text,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    /// Entries that a newer version wrote.
    #[serde(flatten, deserialize_with = "not_empty", skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<Map>,
}

fn not_blank<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
    let message = Text::deserialize(deserializer)?;
    if is_blank(&message) { Err(de::Error::custom(MessageError::BLANK_TOOL_ERROR)) } else { Ok(message) }
}

impl ToolError {
    /// Creates an error. The model reads the message, so it should say what failed and what to do next. Bedrock refuses
    /// an error without text, so a standard message replaces a blank one.
    pub fn new(message: impl Into<Text>) -> Self {
        let message = message.into();
        let message = if is_blank(&message) { "The tool failed, and did not say why.".into() } else { message };
        Self { kind: None, message, retryable: None, unknown: None }
    }

    /// Sets the type of the error, such as `NotFound`. An error that a tool returns without a type gets `ToolFailed`.
    #[must_use]
    pub fn with_type(mut self, kind: impl Into<Text>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Sets whether another attempt may succeed. By default, the model gets no hint.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = Some(retryable);
        self
    }

    /// Returns the error with this type if it has none.
    pub(crate) fn or_type(self, kind: &str) -> Self {
        if self.kind.is_some() { self } else { self.with_type(kind) }
    }

    /// Returns the error with another message.
    pub(crate) fn with_message(&self, message: impl Into<Text>) -> Self {
        Self { message: Self::new(message).message, ..self.clone() }
    }

    /// Returns the type of the error, if known.
    pub fn error_type(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// Returns the message for the model, which is not blank.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns whether a retry may help, if known.
    pub fn retryable(&self) -> Option<bool> {
        self.retryable
    }
}

impl<E: fmt::Display> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolError({} bytes)", self.message.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_message_is_replaced_but_not_read() {
        assert_eq!(ToolError::new(" \n").message(), "The tool failed, and did not say why.");
        let error = serde_json::from_str::<ToolError>(r#"{"message":" "}"#).unwrap_err();
        assert!(error.to_string().starts_with(&MessageError::BLANK_TOOL_ERROR.to_string()), "{error}");
    }
}
