//! The JSON Schema of a [`Record`].
// By hand, as reading and writing are; tests/record_schema.rs holds it to both.

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
            "description": "A message as the log keeps it. A key whose value is not set is absent; what is not named \
                here was added by a newer writer, and is kept.",
            "type": "object",
            "properties": {
                "id": generator.subschema_for::<MessageId>(),
                "seq": {
                    "description": "The number of the message in its conversation, from 0, in the order in which \
                        messages were added.",
                    "type": "integer", "minimum": 0, "maximum": Position::MAX_SEQ,
                },
                "after": {
                    "description": "Of a summary, in place of `seq`: the `seq` of the last message that it covers.",
                    "type": "integer", "minimum": 0, "maximum": Position::MAX_SEQ,
                },
                "summary": {
                    "description": "Of a summary: its number among those of the conversation, from 1.",
                    "type": "integer", "minimum": 1, "maximum": Position::MAX_SUMMARIES,
                },
                "revision": {
                    "description": "How often the message changed, from 1. Of two records of one message, that with \
                        the greater revision counts.",
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
        "description": "What was said, or generated.",
        "type": "object",
        "properties": {
            "role": generator.subschema_for::<Role>(),
            "contents": {
                "description": "In their order.",
                "type": "array",
                "items": generator.subschema_for::<Content>(),
            },
            "heard": {
                "description": "Of an assistant message of which not all was heard: what was.",
                "type": "object",
                "properties": {
                    "contents": {
                        "description": "The beginning of the texts in `contents` of the message: each in full but the \
                            last one, and none of which nothing was heard.",
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
            "description": "The id of a message: a ULID, unique, in Crockford's base 32. It orders nothing.",
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
            "description": "What is known about a message beside its contents.",
            "type": "object",
            "properties": {
                "attribute": {
                    "description": "The marks on the message: `merged` once for each merge.",
                    "type": "array",
                    "items": {"type": "string", "examples": Attribute::ALL.map(Attribute::as_str)},
                },
                "coversFrom": {
                    "description": "Of a summary: the `seq` of the first message that it covers; `after` is the last.",
                    "type": "integer", "minimum": 0, "maximum": u32::MAX,
                },
                "previousSummary": generator.subschema_for::<MessageId>(),
                "step": {
                    "description": "The number of the decision that made it: what was made in one has one.",
                    "type": "integer", "minimum": 0, "maximum": u32::MAX,
                },
                "policy": {"description": "Which part of the service made it.", "type": "string"},
                "roleHint": {
                    "description": "Which role an adapter to a provider may give it.",
                    "type": "string", "examples": RoleHint::ALL.map(RoleHint::as_str),
                },
                "forkedFrom": {
                    "description": "That the conversation left another one: behind this message, or, where `behind` is \
                        absent, in front of it.",
                    "type": "object",
                    "properties": {
                        "conversation": {"description": "The id of the conversation that was left.", "type": "string"},
                        "behind": generator.subschema_for::<MessageId>(),
                    },
                    "required": ["conversation"],
                    "additionalProperties": generator.subschema_for::<Value>(),
                },
                "turn": generator.subschema_for::<TurnRecord>(),
                "parts": {
                    "description": "What arrived at one time each and was merged; or the whole message, with its \
                        confidence. A key with the name of a timing is that of the part.",
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
        "description": "In milliseconds since the Unix epoch, what happened to it. The first part has the `id` and \
            `creation` of the message.",
        "type": "object",
        "properties": {
            "id": generator.subschema_for::<MessageId>(),
            "contents": {
                "description": "How many of the contents of the message are its own, behind those of the part before it.",
                "type": "integer", "minimum": 1, "maximum": u32::MAX,
            },
            "confidence": {
                "description": "How sure the speech recognition was, from 0 to 1.",
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
        "description": "When what happened, in milliseconds since the Unix epoch.",
        "type": "object",
        "properties": moments(),
        "required": [Timing::Creation.as_str()],
        "additionalProperties": generator.subschema_for::<Value>(),
    })
}

const fn means(timing: Timing) -> &'static str {
    match timing {
        Timing::Creation => "The message was added.",
        Timing::ListenStart => "The caller began to be listened to.",
        Timing::ListenEnd => "The caller had finished.",
        Timing::LlmStart => "The model was asked.",
        Timing::LlmFirstToken => "The model's first token arrived.",
        Timing::LlmEnd => "The model's answer was complete.",
        Timing::PlayStart => "Playback began.",
        Timing::PlayEnd => "Playback ended.",
    }
}
