//! The JSON Schema of a type, as models take it.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::error::InvalidTool;
use crate::message::Value;

/// The schema of a type: its parts inline, and without what only costs tokens.
pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of a Rust type says nothing to a model.
    schema.remove("title");
    schema
}

/// The schema of a tool's arguments, which is of type `object`.
///
/// Returns an error if the arguments are no object with names, or if the schema nests too deep.
pub(super) fn schema<A: JsonSchema>() -> Result<Value, InvalidTool> {
    let schema = schema_of::<A>();
    if schema.get("type").and_then(|kind| kind.as_str()) != Some("object") {
        return Err(InvalidTool::NotAnObject);
    }
    Value::try_from(schema.to_value()).map_err(InvalidTool::Schema)
}
