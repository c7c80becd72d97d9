//! [`Tool::new`]: a tool whose arguments have a Rust type.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::{Acting, Handling, OUTCOME_UNKNOWN, Tool, ToolContext, schema};
use crate::message::{MessageError, ResultContent, Text, ToolError, Value};
use crate::model::ToolSpec;

impl Tool {
    /// Creates a tool from a name, a description for the model, and a handler with typed arguments.
    ///
    /// The handler returns any value that serde can write. The model gets a string as text, and any other value as
    /// JSON.
    ///
    /// Returns a [`MessageError`] if Bedrock refuses the name, or if `A` is neither a struct with named fields nor a
    /// map.
    pub fn new<A, F, R, T>(
        name: impl Into<Text>,
        description: impl Into<Text>,
        handler: F,
    ) -> Result<Self, MessageError>
    where
        A: DeserializeOwned + JsonSchema + Send,
        F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, ToolError>> + Send + 'static,
        T: Serialize,
    {
        let spec = ToolSpec::new(name, description, schema::schema::<A>()?)?;
        let handler = Arc::new(handler);
        let handle = move |arguments: Value, context| -> Handling {
            let handler = handler.clone();
            Box::pin(async move {
                let handling = match read_arguments(arguments) {
                    Ok(arguments) => handler(arguments, context),
                    Err(error) => return Err(error),
                };
                contents_of(&handling.await?)
            })
        };
        Ok(Self { spec, timeout: None, handler: Some(Arc::new(handle)), acting: Acting::default() })
    }
}

fn read_arguments<A: DeserializeOwned>(arguments: Value) -> Result<A, ToolError> {
    let json = match arguments {
        // Models send no arguments if a tool takes none.
        Value::Null => Ok(Json::Object(serde_json::Map::new())),
        arguments => Json::try_from(&arguments),
    };
    let json = json.map_err(|error| invalid_arguments(&error))?;
    serde_json::from_value(json).map_err(|error| invalid_arguments(&error))
}

fn invalid_arguments(why: &dyn fmt::Display) -> ToolError {
    let message = format!("The arguments do not fit the schema of the tool: {why}. Call it again with ones that do.");
    ToolError::new(message).with_type("InvalidArguments").with_retryable(true)
}

/// Converts the value that a handler returned.
fn contents_of(returned: &impl Serialize) -> Result<Vec<ResultContent>, ToolError> {
    let as_text = || serde_json::to_string(returned).map(|json| vec![json.into()]);
    let contents = match serde_json::to_value(returned) {
        Ok(Json::Null) => Ok(Vec::new()),
        Ok(Json::String(text)) => Ok(vec![text.into()]),
        // JSON that is not a `Value`, for example because it nests too deep, is sent as text.
        Ok(json) => Value::try_from(json).map(|value| vec![value.into()]).or_else(|_| as_text()),
        Err(_) => as_text(),
    };
    contents.map_err(|_| {
        let message = "The tool ran to its end, but its result cannot be written as JSON; it may have acted.";
        ToolError::new(message).with_type(OUTCOME_UNKNOWN).with_retryable(false)
    })
}
