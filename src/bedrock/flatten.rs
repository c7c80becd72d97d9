//! Tool calls and results as texts for requests without tools, and unique names of documents.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::types::{
    ContentBlock, DocumentBlock, Message, ToolResultBlock, ToolResultContentBlock, ToolUseBlock,
};

use super::escape::plain_json;
use super::json::{tool_result_block, tool_use_block};
use super::profile::service::MAX_DOCUMENT_NAME;

/// Replaces tool calls and results with texts: `[tool call: {…}]` and `[tool result: {…}]`, with the JSON of the block on
/// one line. Images, videos and documents of a result follow it as separate blocks.
pub(super) fn tools_as_texts(messages: &mut [Message]) {
    for message in messages {
        for block in &mut message.content {
            if let ContentBlock::Text(text) = block {
                escape_markers(text);
            }
        }
        if message.content.iter().any(is_of_tool) {
            message.content = std::mem::take(&mut message.content).into_iter().flat_map(as_texts).collect();
        }
    }
}

/// The starts of the texts that replace calls and results.
const MARKERS: [&str; 2] = ["[tool call:", "[tool result:"];

/// Puts a backslash before each marker in spoken text, so that no caller can imitate a tool.
pub(super) fn escape_markers(text: &mut String) {
    let is_marker = |at: usize| {
        let start = |marker: &str| text.as_bytes().get(at..at + marker.len());
        MARKERS.iter().any(|marker| start(marker).is_some_and(|start| start.eq_ignore_ascii_case(marker.as_bytes())))
    };
    let markers: Vec<usize> = text.match_indices('[').map(|(at, _)| at).filter(|at| is_marker(*at)).collect();
    for at in markers.into_iter().rev() {
        text.insert(at, '\\');
    }
}

/// Returns whether the block needs a request with tools.
pub(super) fn is_of_tool(block: &ContentBlock) -> bool {
    block.is_tool_use() || block.is_tool_result()
}

/// Converts a block of a tool to a text, followed by its attachments. Returns other blocks unchanged.
pub(super) fn as_texts(block: ContentBlock) -> Vec<ContentBlock> {
    match block {
        ContentBlock::ToolUse(call) => vec![call_as_text(&call)],
        ContentBlock::ToolResult(result) => result_as_texts(result),
        other => vec![other],
    }
}

fn call_as_text(call: &ToolUseBlock) -> ContentBlock {
    ContentBlock::Text(format!("[tool call: {}]", plain_json(&tool_use_block(call))))
}

fn result_as_texts(mut result: ToolResultBlock) -> Vec<ContentBlock> {
    let (mut parts, mut attached) = (Vec::new(), Vec::new());
    for block in result.content {
        match block {
            ToolResultContentBlock::Image(image) => attached.push(ContentBlock::Image(image)),
            ToolResultContentBlock::Video(video) => attached.push(ContentBlock::Video(video)),
            ToolResultContentBlock::Document(document) => attached.push(ContentBlock::Document(document)),
            other => parts.push(other),
        }
    }
    result.content = parts;
    let text = ContentBlock::Text(format!("[tool result: {}]", plain_json(&tool_result_block(&result))));
    std::iter::once(text).chain(attached).collect()
}

/// Appends a number to repeated document names, which Bedrock refuses: `report (2)`. Returns the number of renamed documents.
pub(super) fn number_duplicate_names(messages: &mut [Message]) -> usize {
    let (mut taken, mut renamed) = (HashSet::new(), 0);
    for document in messages.iter_mut().flat_map(|message| &mut message.content).flat_map(documents) {
        let name = std::mem::take(&mut document.name);
        let numbered = (2..).map(|number| {
            let suffix = format!(" ({number})");
            let base: String = name.chars().take(MAX_DOCUMENT_NAME - suffix.len()).collect();
            format!("{}{suffix}", base.trim_end())
        });
        let unique = std::iter::once(name.clone()).chain(numbered).find(|name| taken.insert(name.to_lowercase()));
        let unique = unique.unwrap_or_else(|| name.clone());
        renamed += usize::from(unique != name);
        document.name = unique;
    }
    renamed
}

/// Returns the document of the block, or the documents in a tool result.
pub(super) fn documents(block: &mut ContentBlock) -> Vec<&mut DocumentBlock> {
    match block {
        ContentBlock::Document(document) => vec![document],
        ContentBlock::ToolResult(result) => {
            let blocks = result.content.iter_mut();
            let documents = blocks.filter_map(|block| match block {
                ToolResultContentBlock::Document(document) => Some(document),
                _ => None,
            });
            documents.collect()
        }
        _ => Vec::new(),
    }
}
