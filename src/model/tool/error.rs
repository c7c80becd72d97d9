//! Why there is no tool, and why a tool has no result: [`InvalidTool`] and [`ToolError`].

use std::fmt;

use crate::message::{MessageError, Text, ToolCallError, is_blank};

/// Why something cannot be a [`Tool`](super::Tool).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTool {
    /// Bedrock refuses the name.
    #[error(transparent)]
    Name(MessageError),
    /// A model gives arguments by name.
    #[error(
        "the arguments of a tool are a struct with named fields, or a map, so that their schema is of type `object`"
    )]
    NotAnObject,
    /// The schema cannot be told to a model.
    #[error("the schema of the arguments cannot be told to a model: {0}")]
    Schema(MessageError),
}

/// Why a tool has no result: what the model is told.
///
/// Whatever can be displayed becomes one with `?`.
///
/// ```
/// use verbale::model::ToolError;
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
#[derive(Clone, PartialEq, Eq)]
pub struct ToolError {
    kind: Option<Text>,
    message: Text,
    retryable: Option<bool>,
}

impl ToolError {
    /// An error that tells the model `message`: what went wrong, and what to do.
    pub fn new(message: impl Into<Text>) -> Self {
        Self { kind: None, message: message.into(), retryable: None }
    }

    /// The same with a type, such as `NotFound`; without one it is `ToolFailed`.
    #[must_use]
    pub fn with_type(self, kind: impl Into<Text>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// The same, saying whether another try may help.
    #[must_use]
    pub fn with_retryable(self, retryable: bool) -> Self {
        Self { retryable: Some(retryable), ..self }
    }
}

impl<E: fmt::Display> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

#[expect(clippy::expect_used, reason = "the one text is not blank, the other one is ours")]
impl From<ToolError> for ToolCallError {
    fn from(ToolError { kind, message, retryable }: ToolError) -> Self {
        let message = if is_blank(&message) { "The tool failed, and did not say why.".into() } else { message };
        let error = Self::new(message).expect("not blank").with_type(kind.unwrap_or_else(|| "ToolFailed".into()));
        match retryable {
            Some(retryable) => error.with_retryable(retryable),
            None => error,
        }
    }
}

/// The type and the length, not the words.
impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError").field("message", &self.message).field("retryable", &self.retryable).finish()
    }
}
