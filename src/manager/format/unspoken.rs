//! Writes tool calls, tool results and media as a line of text.

use crate::message::{Content, ResultContent, Source, ToolCall, ToolResult};

/// Writes `name (id) arguments`.
pub(super) fn call(tool_call: &ToolCall) -> String {
    format!("{} ({}) {}", tool_call.name(), tool_call.id(), json(tool_call.arguments()))
}

/// Writes `name (id) "text" {"json":1}`, or `name (id) failed: type: message`.
pub(super) fn result(result: &ToolResult) -> String {
    let mut out = format!("{} ({})", result.name(), result.tool_call_id());
    match result.outcome() {
        Ok(contents) if contents.is_empty() => out.push_str(" done"),
        Ok(contents) => {
            for content in contents {
                out.push(' ');
                out.push_str(&match content {
                    ResultContent::Text(text) => json(text),
                    ResultContent::Json(value) => json(value),
                    ResultContent::Media(media) => described(&Content::Media(media.clone())),
                    ResultContent::Unknown(map) => described(&Content::Unknown(map.clone())),
                });
            }
        }
        Err(error) => {
            out.push_str(" failed: ");
            out.extend(error.error_type().into_iter().flat_map(|kind| [kind, ": "]));
            out.push_str(&json(&error.message()));
        }
    }
    out
}

fn json(value: &impl serde::Serialize) -> String {
    // Texts and values always have a JSON form.
    serde_json::to_string(value).unwrap_or_default()
}

/// Describes a content that is not text.
pub(super) fn described(content: &Content) -> String {
    let (kind, label, source) = match content {
        Content::Media(media) => {
            (media.kind.as_str(), media.label.as_ref().or(media.mime_type.as_ref()), &media.source)
        }
        _ => return "(a content of a type unknown to this version)".to_owned(),
    };
    let size = match source {
        Source::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Source::Url(_) => "at a URL".to_owned(),
        Source::ContentId(_) => "stored".to_owned(),
    };
    match label {
        Some(label) => format!("({kind}: {}, {size})", label.as_str()),
        None => format!("({kind}, {size})"),
    }
}
