//! The JSON Schema of contents in a record.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Content, Document, Media, MediaKind, ResultContent, ToolCall, ToolCallError, ToolResult};
use crate::message::value::{Value, bytes_schema};

const DOCUMENT: &str = "document";
const TOOL_CALL: &str = "toolCall";
const TOOL_RESULT: &str = "toolResult";
const JSON: &str = "json";

impl JsonSchema for Content {
    fn schema_name() -> Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A content of a message: a plain string for a text, else a map with `type`.",
            "oneOf": [
                {"type": "string"},
                generator.subschema_for::<Media>(),
                generator.subschema_for::<Document>(),
                generator.subschema_for::<ToolCall>(),
                generator.subschema_for::<ToolResult>(),
                unknown(&[DOCUMENT, TOOL_CALL, TOOL_RESULT], generator),
            ],
        })
    }
}

impl JsonSchema for ResultContent {
    fn schema_name() -> Cow<'static, str> {
        "ResultContent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A content of a tool's result: a plain string for a text, else a map with `type`.",
            "oneOf": [
                {"type": "string"},
                {
                    "description": "Structured data.",
                    "type": "object",
                    "properties": {"type": {"const": JSON}, "json": generator.subschema_for::<Value>()},
                    "required": ["type", "json"],
                    "additionalProperties": generator.subschema_for::<Value>(),
                },
                generator.subschema_for::<Media>(),
                generator.subschema_for::<Document>(),
                unknown(&[DOCUMENT, JSON], generator),
            ],
        })
    }
}

/// The schema of contents that a newer version wrote, and of texts in a content store.
fn unknown(known: &[&str], generator: &mut SchemaGenerator) -> Schema {
    let known: Vec<&str> = media_kinds().iter().chain(known).copied().collect();
    json_schema!({
        "description": "A content that a newer version wrote, which is kept; or a `text` in a content store, with \
            `contentId`, `mimeType` and `size` in bytes.",
        "type": "object",
        "properties": {"type": {"type": "string", "not": {"enum": known}}},
        "required": ["type"],
        "additionalProperties": generator.subschema_for::<Value>(),
    })
}

const fn media_kinds() -> [&'static str; 3] {
    [MediaKind::Image.as_str(), MediaKind::Audio.as_str(), MediaKind::Video.as_str()]
}

impl JsonSchema for Media {
    fn schema_name() -> Cow<'static, str> {
        "Media".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        attachment(
            "An image, audio or video.",
            &json_schema!({"enum": media_kinds()}),
            ("promptHint", "A label for the prompt. It has no other meaning."),
            generator,
        )
    }
}

impl JsonSchema for Document {
    fn schema_name() -> Cow<'static, str> {
        "Document".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        attachment(
            "A reference document. In a result, one with `standsFor` is the text or JSON that is in a content store.",
            &json_schema!({"const": DOCUMENT}),
            ("title", "The title."),
            generator,
        )
    }
}

fn attachment(
    description: &str,
    of_type: &Schema,
    (label, label_description): (&str, &str),
    generator: &mut SchemaGenerator,
) -> Schema {
    json_schema!({
        "description": description,
        "type": "object",
        "properties": {
            "type": of_type,
            "bytes": bytes_schema(),
            "url": {"type": "string"},
            "contentId": {"description": "The id in a content store, such as `sha256:…`.", "type": "string"},
            "mimeType": {"description": "The MIME type, such as `image/png`.", "type": "string"},
            label: {"description": label_description, "type": "string"},
        },
        "required": ["type"],
        "oneOf": [{"required": ["bytes"]}, {"required": ["url"]}, {"required": ["contentId"]}],
        "additionalProperties": generator.subschema_for::<Value>(),
    })
}

impl JsonSchema for ToolCall {
    fn schema_name() -> Cow<'static, str> {
        "ToolCall".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A tool call, in assistant messages.",
            "type": "object",
            "properties": {
                "type": {"const": TOOL_CALL},
                "id": call_id("Pairs the call with its result."),
                "name": identifier("The name of the tool."),
                "arguments": generator.subschema_for::<Value>(),
                "idempotencyKey": {
                    "description": "The key of a call that may act. Attempts at the same act share it.",
                    "type": "string",
                },
            },
            "required": ["type", "id", "name", "arguments"],
            "additionalProperties": generator.subschema_for::<Value>(),
        })
    }
}

impl JsonSchema for ToolResult {
    fn schema_name() -> Cow<'static, str> {
        "ToolResult".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The result of a tool call, in user messages.",
            "type": "object",
            "properties": {
                "type": {"const": TOOL_RESULT},
                "toolCallId": call_id("The `id` of the call."),
                "name": identifier("The name of the tool."),
                "content": {
                    "description": "The contents that the tool returned.",
                    "type": "array",
                    "items": generator.subschema_for::<ResultContent>(),
                },
                "error": generator.subschema_for::<ToolCallError>(),
                "lateMs": {
                    "description": "When the result replaced an unknown outcome, in milliseconds since the Unix epoch.",
                    "type": "integer",
                },
            },
            "required": ["type", "toolCallId", "name"],
            "oneOf": [{"required": ["content"]}, {"required": ["error"]}],
            "additionalProperties": generator.subschema_for::<Value>(),
        })
    }
}

impl JsonSchema for ToolCallError {
    fn schema_name() -> Cow<'static, str> {
        "ToolCallError".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The reason why a tool call failed.",
            "type": "object",
            "properties": {
                "type": {"description": "The type of the error, such as `Timeout`.", "type": "string"},
                "message": {"description": "The text for the model. It is not blank.", "type": "string", "pattern": r"\S"},
                "retryable": {"description": "Whether a retry may help.", "type": "boolean"},
            },
            "required": ["message"],
            "additionalProperties": generator.subschema_for::<Value>(),
        })
    }
}

/// The id of a tool call.
fn call_id(description: &str) -> Schema {
    json_schema!({"description": description, "type": "string", "pattern": "^[a-zA-Z0-9_.:-]{1,64}$"})
}

/// The name of a tool.
fn identifier(description: &str) -> Schema {
    json_schema!({"description": description, "type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"})
}
