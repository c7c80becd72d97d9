//! Tool calls and tool results as blocks of Converse.

use aws_sdk_bedrockruntime::types::{ToolResultBlock, ToolResultContentBlock, ToolResultStatus, ToolUseBlock};
use aws_smithy_types::Document as SdkDocument;

use super::attachment::Attachment;
use super::document::{document_json, to_document};
use super::error::BedrockError;
use super::escape::plain_json;
use crate::message::{ResultContent, ToolCall, ToolError, ToolResult, Value, is_blank};

/// Converts a tool call. Bedrock requires an object as input: `Null` becomes `{}`, and any other value `{"arguments": …}`.
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

/// Converts a tool result. An empty result gets `{}` as its content, because some models refuse an empty list.
pub(super) fn tool_result(result: &ToolResult) -> Result<ToolResultBlock, BedrockError> {
    let (status, content) = match result.outcome() {
        Ok(contents) => {
            let contents = contents.iter().filter(|content| !is_blank_text(content));
            let blocks = contents.map(result_content).collect::<Result<Vec<_>, _>>()?;
            let mut blocks: Vec<_> = blocks.into_iter().flatten().collect();
            if blocks.is_empty() {
                blocks.push(ToolResultContentBlock::Json(SdkDocument::Object([].into())));
            }
            (ToolResultStatus::Success, blocks)
        }
        Err(error) => (ToolResultStatus::Error, vec![ToolResultContentBlock::Text(error_text(error))]),
    };
    ToolResultBlock::builder()
        .tool_use_id(result.tool_call_id().as_str())
        .status(status)
        .set_content(Some(content))
        .build()
        .map_err(BedrockError::build("a tool result block"))
}

fn is_blank_text(content: &ResultContent) -> bool {
    matches!(content, ResultContent::Text(text) if is_blank(text))
}

/// Returns no block for contents of a kind unknown to this version.
fn result_content(content: &ResultContent) -> Result<Vec<ToolResultContentBlock>, BedrockError> {
    Ok(vec![match content {
        ResultContent::Text(text) => ToolResultContentBlock::Text(text.as_str().to_owned()),
        ResultContent::Json(value) => match to_document(value) {
            object @ SdkDocument::Object(_) => ToolResultContentBlock::Json(object),
            // Bedrock refuses JSON that is not an object.
            other => ToolResultContentBlock::Text(plain_json(&document_json(&other))),
        },
        ResultContent::Media(media) => {
            return Ok(Attachment::media(media)?.into_iter().map(ToolResultContentBlock::from).collect());
        }
        ResultContent::Unknown(_) => return Ok(Vec::new()),
    }])
}

/// Formats an error: `Timeout: no answer (trying again may help)`.
fn error_text(error: &ToolError) -> String {
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
