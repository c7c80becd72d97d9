//! Helpers for the JSON Schemas of a record and its contents.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value as Json;

use super::Value;

/// Implements `JsonSchema` under the name of the type.
macro_rules! schema {
    ($type:ident, |$generator:ident| $schema:expr) => {
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}

pub(super) use schema;

/// Returns the schema of an object. Other keys were added by a newer version.
pub(super) fn object(
    description: &str,
    required: &[&str],
    properties: Json,
    generator: &mut SchemaGenerator,
) -> Schema {
    json_schema!({
        "description": description,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": generator.subschema_for::<Value>(),
    })
}

/// Returns the schema of an object that has exactly one of these keys besides the required ones.
pub(super) fn with_one_of(mut object: Schema, keys: &[&str]) -> Schema {
    let one_of: Vec<Json> = keys.iter().map(|key| serde_json::json!({"required": [key]})).collect();
    object.insert("oneOf".to_owned(), one_of.into());
    object
}

/// Returns the schema of an integer.
pub(super) fn integer(description: &str, minimum: u32, maximum: u32) -> Schema {
    json_schema!({"description": description, "type": "integer", "minimum": minimum, "maximum": maximum})
}

/// Returns the schema of a text.
pub(super) fn text(description: &str) -> Schema {
    json_schema!({"description": description, "type": "string"})
}

/// Returns the schema of a list.
pub(super) fn list<T: JsonSchema>(description: &str, generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"description": description, "type": "array", "items": generator.subschema_for::<T>()})
}
