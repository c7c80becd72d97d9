//! The JSON Schema of a tool's arguments, as models take it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use super::error::InvalidTool;
use crate::message::Value;

/// The schema of `A`: of type `object`, with its parts in their places, and without what only costs tokens.
///
/// Errors: the arguments are no object with names, or nest too deep.
pub(super) fn schema<A: JsonSchema>() -> Result<Value, InvalidTool> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    // The name of a Rust type says nothing to a model.
    schema.remove("title");
    if schema.get("type").and_then(|kind| kind.as_str()) != Some("object") {
        return Err(InvalidTool::NotAnObject);
    }
    Value::try_from(schema.to_value()).map_err(InvalidTool::Schema)
}
