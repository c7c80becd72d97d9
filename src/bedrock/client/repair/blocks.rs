//! Repairs single blocks: blank texts, inputs of tool calls, and contents of tool results.

use aws_sdk_bedrockruntime::types::{
    ContentBlock, Message, ToolResultBlock, ToolResultContentBlock, ToolResultStatus, ToolUseBlock,
};
use aws_smithy_types::Document;

use super::Repairs;
use crate::bedrock::document::document_json;
use crate::bedrock::escape::plain_json;
use crate::bedrock::validate::Place;
use crate::message::is_blank;

pub(super) fn repair(messages: &mut [Message], repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        let blocks = message.content.len();
        message.content.retain(|block| !matches!(block, ContentBlock::Text(text) if is_blank(text)));
        if message.content.len() < blocks {
            repairs.add(Place::Message(m), "removed blank texts");
        }
        for (c, block) in message.content.iter_mut().enumerate() {
            let place = Place::Content(m, c);
            match block {
                ContentBlock::ToolUse(call) => repair_call(call, place, repairs),
                ContentBlock::ToolResult(result) => repair_result(result, place, repairs),
                _ => {}
            }
        }
    }
}

fn repair_call(call: &mut ToolUseBlock, place: Place, repairs: &mut Repairs) {
    if !call.input.is_object() {
        let arguments = std::mem::take(&mut call.input);
        let entries = (!arguments.is_null()).then(|| ("arguments".to_owned(), arguments));
        call.input = Document::Object(entries.into_iter().collect());
        repairs.add(place, "wrapped the input of a tool call in an object");
    }
}

fn repair_result(result: &mut ToolResultBlock, place: Place, repairs: &mut Repairs) {
    let parts = result.content.len();
    result.content.retain(|part| !matches!(part, ToolResultContentBlock::Text(text) if is_blank(text)));
    if result.content.len() < parts {
        repairs.add(place, "removed blank texts from a tool result");
    }
    for part in &mut result.content {
        if let ToolResultContentBlock::Json(json) = part
            && !json.is_object()
        {
            *part = ToolResultContentBlock::Text(plain_json(&document_json(json)));
            repairs.add(place, "replaced JSON of a tool result with text, because it is not an object");
        }
    }
    if result.content.is_empty() {
        if result.status == Some(ToolResultStatus::Error) {
            result.content.push(ToolResultContentBlock::Text("the tool failed without a message".to_owned()));
            repairs.add(place, "added a text to an empty tool error");
        } else if parts > 0 {
            // Bedrock accepts an empty list, but some models do not.
            result.content.push(ToolResultContentBlock::Json(Document::Object([].into())));
        }
    }
}
