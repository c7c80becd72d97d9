//! The JSON Schema of a [`Record`].
// Not derived, because reading and writing are not; tests/records compares it with both.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value as Json;

use super::Record;
use crate::message::{
    Attribute, Content, HeardSource, MessageId, Metadata, Position, Role, RoleHint, Text, Timing, TurnRecord, Value,
};

impl JsonSchema for Record {
    fn schema_name() -> Cow<'static, str> {
        "Record".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let of_role = |roles: &[Role]| json_schema!({"properties": {"role": {"enum": roles}}});
        json_schema!({
            "description": "A message in the log. A key without a value is absent. Keys that are not named here were \
                added by a newer version, and are kept.",
            "type": "object",
            "properties": {
                "id": generator.subschema_for::<MessageId>(),
                "seq": {
                    "description": "The number of the message in its conversation, from 0, in the order in which \
                        messages were added.",
                    "type": "integer", "minimum": 0, "maximum": Position::MAX_SEQ,
                },
                "after": {
                    "description": "In a summary, instead of `seq`: the `seq` of the last message that it covers.",
                    "type": "integer", "minimum": 0, "maximum": Position::MAX_SEQ,
                },
                "summary": {
                    "description": "In a summary: its number in the conversation, from 1.",
                    "type": "integer", "minimum": 1, "maximum": Position::MAX_SUMMARIES,
                },
                "revision": {
                    "description": "The number of the revision, from 1. The record of a message with the greatest revision \
                        replaces the others.",
                    "type": "integer", "minimum": 1, "maximum": u32::MAX,
                },
                "message": said(generator),
                "metadata": generator.subschema_for::<Metadata>(),
            },
            "required": ["id", "revision", "message", "metadata"],
            "oneOf": [
                {
                    "required": ["seq"],
                    "properties": {
                        "after": false, "summary": false,
                        "message": of_role(&[Role::User, Role::Assistant, Role::System]),
                    },
                },
                {
                    "required": ["after", "summary"],
                    "properties": {"seq": false, "message": of_role(&[Role::Summary])},
                },
            ],
            "additionalProperties": generator.subschema_for::<Value>(),
        })
    }
}

/// The `message` of a record.
fn said(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The text as it was said or generated, and its speaker.",
        "type": "object",
        "properties": {
            "role": generator.subschema_for::<Role>(),
            "contents": {
                "description": "The contents in order.",
                "type": "array",
                "items": generator.subschema_for::<Content>(),
            },
            "heard": {
                "description": "The heard prefix of an assistant message that was not heard to its end.",
                "type": "object",
                "properties": {
                    "contents": {
                        "description": "The heard texts: the texts of the message in order, of which the last may be cut.",
                        "type": "array",
                        "items": {"type": "string"},
                    },
                    "by": generator.subschema_for::<HeardSource>(),
                },
                "required": ["contents", "by"],
                "additionalProperties": generator.subschema_for::<Value>(),
            },
        },
        "required": ["role", "contents"],
        "additionalProperties": generator.subschema_for::<Value>(),
    })
}

impl JsonSchema for MessageId {
    fn schema_name() -> Cow<'static, str> {
        "MessageId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The id of a message: a ULID in Crockford's base 32. It does not order messages.",
            "type": "string",
            "pattern": "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$",
        })
    }
}

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl JsonSchema for Metadata {
    fn schema_name() -> Cow<'static, str> {
        "Metadata".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The data of a message besides its contents.",
            "type": "object",
            "properties": {
                "attribute": {
                    "description": "The marks on the message. `merged` is repeated for each merge.",
                    "type": "array",
                    "items": {"type": "string", "examples": Attribute::ALL.map(Attribute::as_str)},
                },
                "coversFrom": {
                    "description": "In a summary: the `seq` of the first message that it covers. `after` is the last.",
                    "type": "integer", "minimum": 0, "maximum": u32::MAX,
                },
                "previousSummary": generator.subschema_for::<MessageId>(),
                "step": {
                    "description": "The step that made the message. All messages of one decision share it.",
                    "type": "integer", "minimum": 0, "maximum": u32::MAX,
                },
                "policy": {"description": "The part of the service that made the message.", "type": "string"},
                "roleHint": {
                    "description": "A role that an adapter to a provider may give the message.",
                    "type": "string", "examples": RoleHint::ALL.map(RoleHint::as_str),
                },
                "forkedFrom": {
                    "description": "The source of a fork. The conversations share the messages up to `behind`, or none if \
                        `behind` is absent.",
                    "type": "object",
                    "properties": {
                        "conversation": {"description": "The id of the source conversation.", "type": "string"},
                        "behind": generator.subschema_for::<MessageId>(),
                    },
                    "required": ["conversation"],
                    "additionalProperties": generator.subschema_for::<Value>(),
                },
                "turn": generator.subschema_for::<TurnRecord>(),
                "parts": {
                    "description": "The merged parts of the message, or the whole message with its confidence. A part has \
                        its own times under the names of the timings.",
                    "type": "array",
                    "minItems": 1,
                    "items": part(generator),
                },
                "timing": timing(generator),
                "aux": {
                    "description": "Custom data.",
                    "type": "object",
                    "additionalProperties": generator.subschema_for::<Value>(),
                },
            },
            "required": ["timing"],
            "additionalProperties": generator.subschema_for::<Value>(),
        })
    }
}

fn part(generator: &mut SchemaGenerator) -> Schema {
    let mut part = json_schema!({
        "description": "A part of the message. Times are in milliseconds since the Unix epoch. The first part has the \
            `id` and `creation` of the message.",
        "type": "object",
        "properties": {
            "id": generator.subschema_for::<MessageId>(),
            "contents": {
                "description": "The number of contents of the part, after those of the previous part.",
                "type": "integer", "minimum": 1, "maximum": u32::MAX,
            },
            "confidence": {
                "description": "The confidence of the speech recognition, from 0 to 1.",
                "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "object", "required": ["$number"]}],
            },
        },
        "required": ["id", "contents", Timing::Creation.as_str()],
        "additionalProperties": generator.subschema_for::<Value>(),
    });
    if let Some(properties) = part.get_mut("properties").and_then(Json::as_object_mut) {
        properties.extend(moments());
    }
    part
}

fn moments() -> serde_json::Map<String, Json> {
    let moment = |timing: Timing| json_schema!({"description": means(timing), "type": "integer", "format": "int64"});
    Timing::ALL.map(|timing| (timing.as_str().to_owned(), moment(timing).to_value())).into_iter().collect()
}

fn timing(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The times of the message, in milliseconds since the Unix epoch.",
        "type": "object",
        "properties": moments(),
        "required": [Timing::Creation.as_str()],
        "additionalProperties": generator.subschema_for::<Value>(),
    })
}

const fn means(timing: Timing) -> &'static str {
    match timing {
        Timing::Creation => "The message was added.",
        Timing::ListenStart => "The caller began to speak.",
        Timing::ListenEnd => "The caller stopped speaking.",
        Timing::LlmStart => "The request to the model was sent.",
        Timing::LlmFirstToken => "The model's first token arrived.",
        Timing::LlmEnd => "The model's answer was complete.",
        Timing::PlayStart => "Playback began.",
        Timing::PlayEnd => "Playback ended.",
    }
}
