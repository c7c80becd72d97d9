//! The JSON Schema of a type, in the form that models accept.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::message::{MessageError, Value};

/// Returns the schema of a type, with inline definitions and without entries that only cost tokens.
pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The title is the name of the Rust type, which means nothing to a model.
    schema.remove("title");
    schema
}

/// Returns the schema of a tool's arguments, or an error if it nests too deep.
pub(super) fn schema<A: JsonSchema>() -> Result<Value, MessageError> {
    Value::try_from(schema_of::<A>().to_value())
}
