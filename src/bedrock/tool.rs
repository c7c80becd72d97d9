//! Tool calls and their results as Converse takes them.

use aws_sdk_bedrockruntime::types::{ToolResultBlock, ToolResultContentBlock, ToolResultStatus, ToolUseBlock};
use aws_smithy_types::Document as SdkDocument;

use super::attachment::Attachment;
use super::document::{document_json, to_document};
use super::error::BedrockError;
use super::escape::plain_json;
use crate::message::{Outcome, ResultContent, ToolCall, ToolCallError, ToolResult, Value, is_blank};

/// A tool call. Bedrock takes only an object as its input: nothing becomes `{}`, and anything else `{"arguments": …}`.
pub(super) fn tool_use(tool_call: &ToolCall) -> Result<ToolUseBlock, BedrockError> {
    let input = match tool_call.arguments() {
        Value::Null => SdkDocument::Object([].into()),
        other => match to_document(other) {
            SdkDocument::Object(entries) => SdkDocument::Object(entries),
            other => SdkDocument::Object([("arguments".to_owned(), other)].into()),
        },
    };
    ToolUseBlock::builder()
        .tool_use_id(tool_call.id().as_str())
        .name(tool_call.name().as_str())
        .input(input)
        .build()
        .map_err(BedrockError::build("a tool use block"))
}

/// The result of a tool call. One that says nothing gets an empty object as its content, for not
/// every model takes an empty list.
pub(super) fn tool_result(result: &ToolResult) -> Result<ToolResultBlock, BedrockError> {
    let (status, content) = match result.outcome() {
        Outcome::Success(contents) => {
            let told = contents.iter().filter(|content| !says_nothing(content));
            let blocks = told.map(result_content).collect::<Result<Vec<_>, _>>()?;
            let mut blocks: Vec<_> = blocks.into_iter().flatten().collect();
            if blocks.is_empty() {
                blocks.push(ToolResultContentBlock::Json(SdkDocument::Object([].into())));
            }
            (ToolResultStatus::Success, blocks)
        }
        Outcome::Failure(error) => (ToolResultStatus::Error, vec![ToolResultContentBlock::Text(error_text(error))]),
    };
    ToolResultBlock::builder()
        .tool_use_id(result.tool_call_id().as_str())
        .status(status)
        .set_content(Some(content))
        .build()
        .map_err(BedrockError::build("a tool result block"))
}

fn says_nothing(content: &ResultContent) -> bool {
    matches!(content, ResultContent::Text(text) if is_blank(text))
}

/// Nothing for what only a newer version knows.
fn result_content(content: &ResultContent) -> Result<Vec<ToolResultContentBlock>, BedrockError> {
    Ok(vec![match content {
        ResultContent::Text(text) => ToolResultContentBlock::Text(text.as_str().to_owned()),
        ResultContent::Json(value) => match to_document(value) {
            object @ SdkDocument::Object(_) => ToolResultContentBlock::Json(object),
            // Bedrock refuses any other JSON than an object.
            other => ToolResultContentBlock::Text(plain_json(&document_json(&other))),
        },
        ResultContent::Media(media) => {
            return Ok(Attachment::media(media)?.into_iter().map(ToolResultContentBlock::from).collect());
        }
        ResultContent::Document(document) => Attachment::document(document)?.into(),
        ResultContent::Unknown(_) => return Ok(Vec::new()),
    }])
}

/// `Timeout: no answer (trying again may help)`.
fn error_text(error: &ToolCallError) -> String {
    let mut text = String::new();
    if let Some(kind) = error.error_type() {
        text.push_str(kind);
        text.push_str(": ");
    }
    text.push_str(error.message());
    text.push_str(match error.retryable() {
        Some(true) => " (trying again may help)",
        Some(false) => " (trying again will not help)",
        None => "",
    });
    text
}
