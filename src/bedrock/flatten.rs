//! Tool calls and results as texts, for a request that has no tools; and unique names for documents.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::types::{
    ContentBlock, DocumentBlock, Message, ToolResultBlock, ToolResultContentBlock, ToolUseBlock,
};

use super::attachment::MAX_DOCUMENT_NAME;
use super::escape::plain_json;
use super::json::{tool_result_block, tool_use_block};

/// Turns tool calls and results into texts, in their places: `[tool call: {…}]` and `[tool result: {…}]`, with the
/// JSON of the block on one line. Images, videos and documents of a result follow it as blocks of their own.
pub(super) fn tools_as_texts(messages: &mut [Message]) {
    for message in messages {
        for block in &mut message.content {
            if let ContentBlock::Text(text) = block {
                keep_spoken(text);
            }
        }
        if message.content.iter().any(is_of_tool) {
            message.content = std::mem::take(&mut message.content).into_iter().flat_map(as_texts).collect();
        }
    }
}

/// What stands in front of calls and results as texts.
const MARKS: [&str; 2] = ["[tool call:", "[tool result:"];

/// A mark that is spoken gets a backslash: nobody speaks as a tool.
pub(super) fn keep_spoken(text: &mut String) {
    let is_mark = |at: usize| {
        let start = |mark: &str| text.as_bytes().get(at..at + mark.len());
        MARKS.iter().any(|mark| start(mark).is_some_and(|start| start.eq_ignore_ascii_case(mark.as_bytes())))
    };
    let marks: Vec<usize> = text.match_indices('[').map(|(at, _)| at).filter(|at| is_mark(*at)).collect();
    for at in marks.into_iter().rev() {
        text.insert(at, '\\');
    }
}

/// Whether Bedrock takes the block only in a request with tools.
pub(super) fn is_of_tool(block: &ContentBlock) -> bool {
    block.is_tool_use() || block.is_tool_result()
}

/// The block as texts, if it is of a tool, and what was attached to it; else itself.
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
    let (mut told, mut attached) = (Vec::new(), Vec::new());
    for block in result.content {
        match block {
            ToolResultContentBlock::Image(image) => attached.push(ContentBlock::Image(image)),
            ToolResultContentBlock::Video(video) => attached.push(ContentBlock::Video(video)),
            ToolResultContentBlock::Document(document) => attached.push(ContentBlock::Document(document)),
            other => told.push(other),
        }
    }
    result.content = told;
    let text = ContentBlock::Text(format!("[tool result: {}]", plain_json(&tool_result_block(&result))));
    std::iter::once(text).chain(attached).collect()
}

/// Bedrock refuses a request with two documents of one name: later ones get a number, as in `report (2)`. Returns how many.
pub(super) fn name_documents_apart(messages: &mut [Message]) -> usize {
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

/// The document that the block is, or the ones in the result of a tool.
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
