//! The JSON Schema of a [`Record`].
// Not derived, because reading and writing are not; tests/records compares it with both.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};

use super::Record;
use crate::message::schemas::{integer, list, object, schema, text};
use crate::message::{
    Attribute, Content, HeardSource, MessageId, Metadata, Position, RequestRecord, Role, RoleHint, Text, Timing,
    TurnRecord, Value,
};

schema!(Record, |generator| {
    let properties = json!({
        "id": generator.subschema_for::<MessageId>(),
        "seq": integer(
            "The number of the message in its conversation, from 0, in the order in which messages were added.",
            0,
            Position::MAX_SEQ,
        ),
        "after": integer(
            "In a summary, instead of `seq`: the `seq` of the last message that it covers.",
            0,
            Position::MAX_SEQ,
        ),
        "summary": integer("In a summary: its number in the conversation, from 1.", 1, Position::MAX_SUMMARIES),
        "revision": integer(
            "The number of the revision, from 1. The record of a message with the greatest revision replaces the others.",
            1,
            u32::MAX,
        ),
        "message": said(generator),
        "metadata": generator.subschema_for::<Metadata>(),
    });
    let mut record = object(
        "A message in the log. A key without a value is absent. Keys that are not named here were added by a newer \
         version, and are kept.",
        &["id", "revision", "message", "metadata"],
        properties,
        generator,
    );
    let of_role = |roles: &[Role]| json!({"properties": {"role": {"enum": roles}}});
    let one_of = json!([
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
    ]);
    record.insert("oneOf".to_owned(), one_of);
    record
});

/// The `message` of a record.
fn said(generator: &mut SchemaGenerator) -> Schema {
    let heard = json!({
        "contents": list::<Text>(
            "The heard texts: the texts of the message in order, of which the last may be cut.",
            generator,
        ),
        "by": generator.subschema_for::<HeardSource>(),
    });
    let heard_description = "The heard prefix of an assistant message that was not heard to its end.";
    let properties = json!({
        "role": generator.subschema_for::<Role>(),
        "contents": list::<Content>("The contents in order.", generator),
        "heard": object(heard_description, &["contents", "by"], heard, generator),
    });
    let description = "The text as it was said or generated, and its speaker.";
    object(description, &["role", "contents"], properties, generator)
}

schema!(MessageId, |_generator| json_schema!({
    "description": "The id of a message: a ULID in Crockford's base 32. It does not order messages.",
    "type": "string",
    "pattern": "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$",
}));

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

schema!(Metadata, |generator| {
    let fork = json!({
        "conversation": text("The id of the source conversation."),
        "after": generator.subschema_for::<MessageId>(),
    });
    let properties = json!({
        "attribute": {
            "description": "The marks on the message. `merged` is repeated for each merge.",
            "type": "array",
            "items": {"type": "string", "examples": Attribute::ALL.iter().map(|mark| mark.as_str()).collect::<Vec<_>>()},
        },
        "coversFrom": integer(
            "In a summary: the `seq` of the first message that it covers. `after` is the last.",
            0,
            u32::MAX,
        ),
        "previousSummary": generator.subschema_for::<MessageId>(),
        "step": integer("The step that made the message. All messages of one decision share it.", 0, u32::MAX),
        "policy": text("The part of the service that made the message."),
        "roleHint": {
            "description": "A role that an adapter to a provider may give the message.",
            "type": "string",
            "examples": RoleHint::ALL.iter().map(|hint| hint.as_str()).collect::<Vec<_>>(),
        },
        "forkedFrom": object(
            "The source of a fork. The conversations share the messages up to `after`, or none if `after` is absent.",
            &["conversation"],
            fork,
            generator,
        ),
        "turn": generator.subschema_for::<TurnRecord>(),
        "request": generator.subschema_for::<RequestRecord>(),
        "parts": {
            "description": "The merged parts of the message, or the whole message with its confidence. A part has \
                its own times under the names of the timings.",
            "type": "array",
            "minItems": 1,
            "items": part(generator),
        },
        "timing": object(
            "The times of the message: `creation` in milliseconds since the Unix epoch, the others in milliseconds after it.",
            &[Timing::Creation.as_str()],
            moments().into(),
            generator,
        ),
        "redacted": {
            "description": "The kinds of text that were removed before the message was stored, sorted.",
            "type": "array",
            "items": {"type": "string", "examples": ["card", "email", "iban", "nationalId", "phone", "name"]},
        },
        "aux": {
            "description": "Custom data.",
            "type": "object",
            "additionalProperties": generator.subschema_for::<Value>(),
        },
    });
    object("The data of a message besides its contents.", &["timing"], properties, generator)
});

fn part(generator: &mut SchemaGenerator) -> Schema {
    let mut properties = moments();
    properties.extend([
        ("id".to_owned(), generator.subschema_for::<MessageId>().to_value()),
        (
            "contents".to_owned(),
            integer("The number of contents of the part, after those of the previous part.", 1, u32::MAX).to_value(),
        ),
        (
            "confidence".to_owned(),
            json!({
                "description": "The confidence of the speech recognition, from 0 to 1.",
                "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "object", "required": ["$number"]}],
            }),
        ),
    ]);
    object(
        "A part of the message. `creation` is in milliseconds since the Unix epoch, other times are in milliseconds after it. \
         The first part has the `id` and `creation` of the message, which are left out.",
        &["contents"],
        properties.into(),
        generator,
    )
}

fn moments() -> serde_json::Map<String, Json> {
    let moment = |timing: Timing| json!({"description": means(timing), "type": "integer", "format": "int64"});
    Timing::ALL.iter().map(|timing| (timing.as_str().to_owned(), moment(*timing))).collect()
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
