//! Encodes events as frames of `application/vnd.amazon.eventstream`.

use aws_sdk_bedrockruntime::types::{ContentBlockDelta, ContentBlockStart, ConverseStreamOutput as Event};
use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::events::events;
use super::exception::Exception;
use super::reply::ScriptedReply;

/// Returns the frames of a reply in order, without the last one, which is the metadata.
pub(super) fn frames(reply: &ScriptedReply) -> Vec<Bytes> {
    events(reply).iter().map(encode).collect()
}

fn encode(event: &Event) -> Bytes {
    let (kind, payload) = match event {
        Event::MessageStart(event) => ("messageStart", json!({"role": event.role.as_str()})),
        Event::ContentBlockStart(event) => {
            let start = match &event.start {
                Some(ContentBlockStart::ToolUse(call)) => {
                    json!({"toolUse": {"toolUseId": call.tool_use_id, "name": call.name}})
                }
                _ => Json::Null,
            };
            ("contentBlockStart", json!({"contentBlockIndex": event.content_block_index, "start": start}))
        }
        Event::ContentBlockDelta(event) => {
            let delta = match &event.delta {
                Some(ContentBlockDelta::Text(text)) => json!({"text": text}),
                Some(ContentBlockDelta::ToolUse(call)) => json!({"toolUse": {"input": call.input}}),
                _ => Json::Null,
            };
            ("contentBlockDelta", json!({"contentBlockIndex": event.content_block_index, "delta": delta}))
        }
        Event::ContentBlockStop(event) => ("contentBlockStop", json!({"contentBlockIndex": event.content_block_index})),
        Event::MessageStop(event) => ("messageStop", json!({"stopReason": event.stop_reason.as_str()})),
        _ => ("unknown", Json::Null),
    };
    frame("event", ":event-type", kind, &payload)
}

/// Returns the last frame of an answer.
pub(super) fn metadata(usage: &Json, latency_ms: u64) -> Bytes {
    frame("event", ":event-type", "metadata", &json!({"usage": usage, "metrics": {"latencyMs": latency_ms}}))
}

/// Returns the frame of an exception.
pub(super) fn exception(exception: Exception) -> Bytes {
    frame("exception", ":exception-type", &exception.event_name(), &json!({"message": exception.wording()}))
}

/// Returns the frame with a wrong checksum, which is in its last four bytes.
pub(super) fn malformed(frame: &Bytes) -> Bytes {
    let mut bytes = frame.to_vec();
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    bytes.into()
}

#[expect(clippy::expect_used, reason = "the headers are short, and the payload has less than 4 GB")]
fn frame(message_type: &'static str, type_header: &'static str, kind: &str, payload: &Json) -> Bytes {
    let header = |name: &'static str, value: &str| Header::new(name, HeaderValue::String(value.to_owned().into()));
    let message = Message::new(payload.to_string())
        .add_header(header(type_header, kind))
        .add_header(header(":content-type", "application/json"))
        .add_header(header(":message-type", message_type));
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).expect("the headers are short, and the payload has less than 4 GB");
    bytes.into()
}
