//! [`ToolCallId`] and [`ToolName`]: identifiers that Bedrock accepts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::message::error::{MessageError, MessageErrorKind};
use crate::message::text::Text;

/// The id that pairs a tool call with its result: 1 to 64 characters of `[a-zA-Z0-9_-]`, as Bedrock's
/// [`toolUseId`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Text")]
pub struct ToolCallId(Text);

impl ToolCallId {
    /// Returns a [`MessageError`] if the text is not 1 to 64 characters of `[a-zA-Z0-9_-]`.
    pub(crate) fn new(id: impl Into<Text>) -> Result<Self, MessageError> {
        identifier("tool call id", id.into()).map(Self)
    }

    /// Returns the id as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns a [`MessageError`] if the text is not 1 to 64 characters of `[a-zA-Z0-9_-]`.
impl TryFrom<Text> for ToolCallId {
    type Error = MessageError;

    fn try_from(id: Text) -> Result<Self, MessageError> {
        Self::new(id)
    }
}

/// Returns a [`MessageError`] if the text is not 1 to 64 characters of `[a-zA-Z0-9_-]`.
impl FromStr for ToolCallId {
    type Err = MessageError;

    fn from_str(id: &str) -> Result<Self, MessageError> {
        Self::new(id)
    }
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

/// The name of a tool: 1 to 64 characters of `[a-zA-Z0-9_-]`, as Bedrock's
/// [`ToolSpecification`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Text")]
pub struct ToolName(Text);

impl ToolName {
    /// Returns a [`MessageError`] if the text is not 1 to 64 characters of `[a-zA-Z0-9_-]`.
    pub(crate) fn new(name: impl Into<Text>) -> Result<Self, MessageError> {
        identifier("tool name", name.into()).map(Self)
    }

    /// Returns the name as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns a [`MessageError`] if the text is not 1 to 64 characters of `[a-zA-Z0-9_-]`.
impl TryFrom<Text> for ToolName {
    type Error = MessageError;

    fn try_from(name: Text) -> Result<Self, MessageError> {
        Self::new(name)
    }
}

/// Returns a [`MessageError`] if the text is not 1 to 64 characters of `[a-zA-Z0-9_-]`.
impl FromStr for ToolName {
    type Err = MessageError;

    fn from_str(name: &str) -> Result<Self, MessageError> {
        Self::new(name)
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

/// Returns an id or name that Bedrock accepts.
fn identifier(kind: &str, text: Text) -> Result<Text, MessageError> {
    let is_valid = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_valid {
        return Ok(text);
    }
    let text = format!("a {kind} has 1 to 64 characters of [a-zA-Z0-9_-]; this one has {} bytes", text.len());
    Err(MessageError::with_details(MessageErrorKind::Identifier, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_that_bedrock_accepts() {
        let longest = "x".repeat(64);
        for good in ["a", "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q", "call-1", &longest] {
            assert!(ToolCallId::new(good).is_ok() && ToolName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "get user", "é", "a.b", &"x".repeat(65)] {
            let rule = format!("has 1 to 64 characters of [a-zA-Z0-9_-]; this one has {} bytes", bad.len());
            assert_eq!(ToolCallId::new(bad).unwrap_err().to_string(), format!("a tool call id {rule}"));
            assert_eq!(ToolName::new(bad).unwrap_err().to_string(), format!("a tool name {rule}"));
        }
    }
}
