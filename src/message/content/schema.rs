//! The JSON Schema of contents in a record.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::{Content, Media, MediaKind, ResultContent, ToolCall, ToolError, ToolResult};
use crate::message::schemas::{list, object, schema, text, with_one_of};
use crate::message::value::{Value, bytes_schema};

const DOCUMENT: &str = "document";
const TOOL_CALL: &str = "toolCall";
const TOOL_RESULT: &str = "toolResult";
const JSON: &str = "json";

schema!(Content, |generator| json_schema!({
    "description": "A content of a message: a plain string for a text, else a map with `type`.",
    "oneOf": [
        {"type": "string"},
        generator.subschema_for::<Media>(),
        generator.subschema_for::<Document>(),
        generator.subschema_for::<ToolCall>(),
        generator.subschema_for::<ToolResult>(),
        unknown(&[DOCUMENT, TOOL_CALL, TOOL_RESULT], generator),
    ],
}));

schema!(ResultContent, |generator| {
    let json = json!({"type": {"const": JSON}, "json": generator.subschema_for::<Value>()});
    json_schema!({
        "description": "A content of a tool's result: a plain string for a text, else a map with `type`.",
        "oneOf": [
            {"type": "string"},
            object("Structured data.", &["type", "json"], json, generator),
            generator.subschema_for::<Media>(),
            generator.subschema_for::<Document>(),
            unknown(&[DOCUMENT, JSON], generator),
        ],
    })
});

/// The schema of contents that a newer version wrote, and of texts in a content store.
fn unknown(known: &[&str], generator: &mut SchemaGenerator) -> Schema {
    let known: Vec<&str> = media_kinds().into_iter().chain(known.iter().copied()).collect();
    object(
        "A content that a newer version wrote, which is kept; or a `text` in a content store, with `contentId`, `mimeType` \
         and `size` in bytes.",
        &["type"],
        json!({"type": {"type": "string", "not": {"enum": known}}}),
        generator,
    )
}

/// The kinds whose label is a `promptHint`.
fn media_kinds() -> Vec<&'static str> {
    MediaKind::ALL.iter().filter(|kind| **kind != MediaKind::Document).map(|kind| kind.as_str()).collect()
}

/// [`Media`] of the kind [`MediaKind::Document`], whose label is a `title`.
enum Document {}

schema!(Media, |generator| attachment(
    "An image, audio or video.",
    &json_schema!({"enum": media_kinds()}),
    ("promptHint", "A label for the prompt. It has no other meaning."),
    generator,
));

schema!(Document, |generator| attachment(
    "A reference document. In a result, one with `standsFor` is the text or JSON that is in a content store.",
    &json_schema!({"const": DOCUMENT}),
    ("title", "The title."),
    generator,
));

fn attachment(
    description: &str,
    of_type: &Schema,
    (label, label_description): (&str, &str),
    generator: &mut SchemaGenerator,
) -> Schema {
    let properties = json!({
        "type": of_type,
        "bytes": bytes_schema(),
        "url": {"type": "string"},
        "contentId": text("The id in a content store, such as `sha256:…`."),
        "mimeType": text("The MIME type, such as `image/png`."),
        label: text(label_description),
    });
    with_one_of(object(description, &["type"], properties, generator), &["bytes", "url", "contentId"])
}

schema!(ToolCall, |generator| {
    let properties = json!({
        "type": {"const": TOOL_CALL},
        "id": call_id("Pairs the call with its result."),
        "name": identifier("The name of the tool."),
        "arguments": generator.subschema_for::<Value>(),
        "idempotencyKey": text("The key of a call that may act. Attempts at the same act share it."),
    });
    let required = ["type", "id", "name", "arguments"];
    object("A tool call, in assistant messages.", &required, properties, generator)
});

schema!(ToolResult, |generator| {
    let properties = json!({
        "type": {"const": TOOL_RESULT},
        "toolCallId": call_id("The `id` of the call."),
        "name": identifier("The name of the tool."),
        "content": list::<ResultContent>("The contents that the tool returned.", generator),
        "error": generator.subschema_for::<ToolError>(),
        "lateMs": {
            "description": "When the result replaced an unknown outcome, in milliseconds since the Unix epoch.",
            "type": "integer",
        },
    });
    let required = ["type", "toolCallId", "name"];
    let result = object("The result of a tool call, in user messages.", &required, properties, generator);
    with_one_of(result, &["content", "error"])
});

schema!(ToolError, |generator| {
    let properties = json!({
        "type": text("The type of the error, such as `Timeout`."),
        "message": {"description": "The text for the model. It is not blank.", "type": "string", "pattern": r"\S"},
        "retryable": {"description": "Whether a retry may help.", "type": "boolean"},
    });
    object("The reason why a tool call failed.", &["message"], properties, generator)
});

/// The id of a tool call.
fn call_id(description: &str) -> Schema {
    json_schema!({"description": description, "type": "string", "pattern": "^[a-zA-Z0-9_.:-]{1,64}$"})
}

/// The name of a tool.
fn identifier(description: &str) -> Schema {
    json_schema!({"description": description, "type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"})
}
