//! [`Failure`]: a failed tool call, in the formats whose results have a key `error`.

use super::error::{ExchangeError, Problem};
use super::export::{LossKind, Losses};
use super::json::Json;
use super::node::Node;
use crate::message::{MessageError, Outcome, ResultContent, Text, ToolError, is_blank};

/// The values of `error`, `error_type` and `retryable`.
pub(super) struct Failure {
    pub message: Option<Text>,
    pub kind: Option<Text>,
    pub retryable: Option<bool>,
}

impl Failure {
    /// Returns the outcome of a call with these contents, or nothing if there are neither contents nor an error.
    ///
    /// The contents of a failed call are appended to its message, because the model gets only the message.
    pub fn outcome(
        self,
        node: &Node<'_, '_>,
        contents: Option<Vec<ResultContent>>,
    ) -> Result<Option<Outcome>, ExchangeError> {
        let Some(message) = self.message else {
            let has_details = self.kind.is_some() || self.retryable.is_some();
            node.need("error", (!has_details).then_some(()))?;
            return Ok(contents.map(Ok));
        };
        let mut whole = message.as_str().to_owned();
        for content in contents.into_iter().flatten() {
            let more = match content {
                ResultContent::Text(text) => text.as_str().to_owned(),
                ResultContent::Json(value) => Json::Plain(&value).to_string(),
                _ => return Err(node.error(Problem::not_kept("media or a document beside an error"))),
            };
            if !is_blank(&more) && more != message.as_str() {
                whole.push('\n');
                whole.push_str(&more);
            }
        }
        let error = tool_error(node, whole)?;
        let error = self.kind.into_iter().fold(error, ToolError::with_type);
        Ok(Some(Err(self.retryable.into_iter().fold(error, ToolError::with_retryable))))
    }
}

/// Returns the error of a failed tool call. Returns an error if its text is blank.
pub(super) fn tool_error(node: &Node<'_, '_>, message: impl Into<Text>) -> Result<ToolError, ExchangeError> {
    let message = message.into();
    if is_blank(&message) { Err(node.error(MessageError::BLANK_TOOL_ERROR)) } else { Ok(ToolError::new(message)) }
}

/// Returns the entries of a failed tool call.
pub(super) fn entries<'a>(error: &'a ToolError, losses: &mut Losses) -> Json<'a> {
    losses.note_if(error.unknown.is_some(), LossKind::Unknown);
    Json::object([
        ("error", Some(error.message().into())),
        ("error_type", error.error_type().map(Json::from)),
        ("retryable", error.retryable().map(Json::Bool)),
    ])
}
