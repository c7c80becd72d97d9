//! The JSON Schema of a [`Value`].

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::json::{BYTES, MAP, NUMBER};
use super::number::MAX_DIGITS;
use super::{MAX_DEPTH, Value};

impl JsonSchema for Value {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<Self>();
        let bytes = bytes();
        let long_number = tagged(
            NUMBER,
            "A number that a double cannot hold exactly.",
            &json_schema!({"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?([Ee][+-]?[0-9]+)?$"}),
        );
        let number = json_schema!({"type": "number", "exclusiveMinimum": -1e126, "exclusiveMaximum": 1e126});
        json_schema!({
            "description": format!("A value that DynamoDB can store. Lists and maps nest at most {MAX_DEPTH} deep, numbers have \
                at most {MAX_DIGITS} significant digits. Values without a plain JSON form are tagged."),
            "oneOf": [
                {"type": ["null", "boolean", "string"]},
                number,
                {"type": "array", "items": value},
                {
                    "description": "A map. A map that looks like a tag is written in `$map`.",
                    "type": "object",
                    "additionalProperties": value,
                    "not": {
                        "minProperties": 1,
                        "maxProperties": 1,
                        "propertyNames": {"enum": [BYTES, NUMBER, MAP]},
                    },
                },
                bytes,
                long_number,
                tagged(
                    MAP,
                    "A map whose only key begins with `$`.",
                    &json_schema!({"type": "object", "additionalProperties": value}),
                ),
            ],
        })
    }
}

/// The schema of binary data.
pub(in crate::message) fn bytes() -> Schema {
    tagged(BYTES, "Binary data, in base64.", &base64())
}

fn base64() -> Schema {
    json_schema!({
        "type": "string",
        "contentEncoding": "base64",
        "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    })
}

fn tagged(tag: &str, description: &str, value: &Schema) -> Schema {
    json_schema!({
        "description": description,
        "type": "object",
        "properties": {tag: value},
        "required": [tag],
        "additionalProperties": false,
    })
}
