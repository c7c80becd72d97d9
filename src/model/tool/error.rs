//! [`ToolError`]: the failure of a tool, as the model gets it.

use std::fmt;

use crate::message::{Text, ToolCallError, is_blank};

/// The failure of a tool, as the model gets it.
///
/// `?` converts any error that implements [`Display`](fmt::Display).
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
    /// Creates an error. The model reads the message, so it should say what failed and what to do next.
    pub fn new(message: impl Into<Text>) -> Self {
        Self { kind: None, message: message.into(), retryable: None }
    }

    /// Sets the type, such as `NotFound`. The default is `ToolFailed`.
    #[must_use]
    pub fn with_type(self, kind: impl Into<Text>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// Sets whether another attempt may succeed. By default the model is not told.
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

#[expect(clippy::expect_used, reason = "neither text is blank")]
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

/// Shows the length of the message instead of its words.
impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError").field("message", &self.message).field("retryable", &self.retryable).finish()
    }
}
