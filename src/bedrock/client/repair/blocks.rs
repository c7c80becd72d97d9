//! Single blocks: texts that say nothing, and what tools were given and gave.

use aws_sdk_bedrockruntime::types::{
    ContentBlock, Message, ToolResultBlock, ToolResultContentBlock, ToolResultStatus, ToolUseBlock,
};
use aws_smithy_types::Document;

use super::Repairs;
use crate::bedrock::document::document_json;
use crate::bedrock::escape::plain_json;
use crate::bedrock::validate::Place;
use crate::message::is_blank;

pub(super) fn mend(messages: &mut [Message], repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        let blocks = message.content.len();
        message.content.retain(|block| !matches!(block, ContentBlock::Text(text) if is_blank(text)));
        if message.content.len() < blocks {
            repairs.add(Place::Message(m), "blank texts were left out");
        }
        for (c, block) in message.content.iter_mut().enumerate() {
            let place = Place::Content(m, c);
            match block {
                ContentBlock::ToolUse(call) => mend_call(call, place, repairs),
                ContentBlock::ToolResult(result) => mend_result(result, place, repairs),
                _ => {}
            }
        }
    }
}

fn mend_call(call: &mut ToolUseBlock, place: Place, repairs: &mut Repairs) {
    if !call.input.is_object() {
        let arguments = std::mem::take(&mut call.input);
        let entries = (!arguments.is_null()).then(|| ("arguments".to_owned(), arguments));
        call.input = Document::Object(entries.into_iter().collect());
        repairs.add(place, "the input of a tool call was no object, and stands in one now");
    }
}

fn mend_result(result: &mut ToolResultBlock, place: Place, repairs: &mut Repairs) {
    let parts = result.content.len();
    result.content.retain(|part| !matches!(part, ToolResultContentBlock::Text(text) if is_blank(text)));
    if result.content.len() < parts {
        repairs.add(place, "blank texts of a tool's result were left out");
    }
    for part in &mut result.content {
        if let ToolResultContentBlock::Json(json) = part
            && !json.is_object()
        {
            *part = ToolResultContentBlock::Text(plain_json(&document_json(json)));
            repairs.add(place, "JSON of a tool's result was no object, and is a text now");
        }
    }
    if result.content.is_empty() {
        if result.status == Some(ToolResultStatus::Error) {
            result.content.push(ToolResultContentBlock::Text("the tool failed without saying why".to_owned()));
            repairs.add(place, "an empty error of a tool says now that nothing is known of it");
        } else if parts > 0 {
            // Bedrock takes nothing here, but not every model does.
            result.content.push(ToolResultContentBlock::Json(Document::Object([].into())));
        }
    }
}
