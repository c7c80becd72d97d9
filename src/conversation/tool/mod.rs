//! [`Tool`]: a Rust function that a model may call.
//!
//! Owns the schema of its arguments, and what the model is told of what it gives or of why it gives nothing. Knows no
//! conversation.

mod error;
mod schema;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use error::{InvalidTool, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::message::{Invocation, InvocationError, InvocationResult, ResultContent, Text, ToolName, Value};
use crate::model::{OUTCOME_UNKNOWN, ToolSpec, run_tool};

/// A Rust function that a model may call. Clones are the same one.
///
/// Its arguments are a struct with named fields, whose JSON Schema the model gets, with the comments on the fields. What it
/// gives is anything that serde can write: a text stays a text, the rest is JSON. What goes wrong is a result too, which
/// tells the model what to do, with a type:
///
/// | type | what happened | is it worth another try? |
/// | --- | --- | --- |
/// | `ToolFailed`, or the [error's own](ToolError::with_type) | the function gave an error | as the error says |
/// | `InvalidArguments` | the arguments do not fit; the function did not run | yes |
/// | `NotRun` | there is no such tool, or the answer was cut off | no |
/// | `OutcomeUnknown` | a panic, no answer in time, the run was dropped, or a result that cannot be told | no |
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use verbale::conversation::Tool;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Weather {
///     /// A town, without its country.
///     town: String,
/// }
/// let tool = Tool::new("get_weather", "The weather of today.", |weather: Weather| async move {
///     if weather.town.is_empty() {
///         return Err("say which town".into());
///     }
///     Ok(format!("Sunny in {}", weather.town))
/// })?;
/// assert_eq!(
///     serde_json::to_string(&tool.spec().input_schema)?,
///     r#"{"properties":{"town":{"description":"A town, without its country.","type":"string"}},"required":["town"],"type":"object"}"#
/// );
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Tool {
    spec: Arc<ToolSpec>,
    within: Option<Duration>,
    function: Arc<dyn Fn(Json) -> Running + Send + Sync>,
}

type Running = Pin<Box<dyn Future<Output = Result<Vec<ResultContent>, InvocationError>> + Send>>;

impl Tool {
    /// A tool by its name, what it does and when to call it, and the function.
    ///
    /// The function runs in a task of its own, beside the other calls of one answer. It has to be safe to stop where it
    /// waits: at its deadline, and when the run is dropped.
    ///
    /// Errors: a name that Bedrock refuses; arguments that are no object.
    pub fn new<A, F, R, T>(
        name: impl Into<Text>,
        description: impl Into<Text>,
        function: F,
    ) -> Result<Self, InvalidTool>
    where
        A: DeserializeOwned + JsonSchema + Send,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, ToolError>> + Send + 'static,
        T: Serialize,
    {
        let spec = ToolSpec::new(name, description, schema::schema::<A>()?).map_err(InvalidTool::Name)?;
        let function = Arc::new(function);
        let run = move |arguments: Json| -> Running {
            let function = function.clone();
            Box::pin(async move {
                let running = match serde_json::from_value::<A>(arguments) {
                    Ok(arguments) => function(arguments),
                    Err(error) => return Err(invalid_arguments(&error)),
                };
                told(&running.await?)
            })
        };
        Ok(Self { spec: Arc::new(spec), within: None, function: Arc::new(run) })
    }

    /// The same with a deadline of its own.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Self { within: Some(within), ..self }
    }

    /// Its name.
    pub fn name(&self) -> &ToolName {
        &self.spec.name
    }

    /// The tool as it is told to the model.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Runs it to its end, to a panic, or out of time.
    pub(super) async fn run(self, call: Invocation, within: Duration) -> InvocationResult {
        let arguments = match call.arguments() {
            // So it comes where a tool takes none.
            Value::Null => Ok(Json::Object(serde_json::Map::new())),
            arguments => Json::try_from(arguments),
        };
        match arguments {
            Ok(arguments) => {
                let function = self.function;
                run_tool(&call, async move { function(arguments).await }, self.within.unwrap_or(within)).await
            }
            Err(error) => call.failure(invalid_arguments(&error)),
        }
    }
}

fn invalid_arguments(why: &dyn fmt::Display) -> InvocationError {
    let message = format!("The arguments do not fit the schema of the tool: {why}. Call it again with ones that do.");
    ToolError::new(message).with_type("InvalidArguments").with_retryable(true).into()
}

/// What the model is told of what a function gave.
fn told(given: &impl Serialize) -> Result<Vec<ResultContent>, InvocationError> {
    let as_text = || serde_json::to_string(given).map(|json| vec![json.into()]);
    let contents = match serde_json::to_value(given) {
        Ok(Json::Null) => Ok(Vec::new()),
        Ok(Json::String(text)) => Ok(vec![text.into()]),
        // What is no value of ours, such as one that nests too deep, is still JSON.
        Ok(json) => Value::try_from(json).map(|value| vec![value.into()]).or_else(|_| as_text()),
        Err(_) => as_text(),
    };
    let unsayable = |_| {
        let message = "The tool ran to its end, but what it gave cannot be told; it may have acted.";
        ToolError::new(message).with_type(OUTCOME_UNKNOWN).with_retryable(false).into()
    };
    contents.map_err(unsayable)
}

/// Its name, and its deadline.
impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", self.name()).field("within", &self.within).finish_non_exhaustive()
    }
}
