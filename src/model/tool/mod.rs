//! [`Tool`]: a function that a model may call.
//!
//! Owns the schema of its arguments, how it runs, and what the model is told of its result or its failure. Knows no
//! conversation.

mod context;
mod error;
mod run;
#[cfg(feature = "tools")]
mod schema;
#[cfg(feature = "tools")]
mod typed;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use context::ToolContext;
pub use error::{InvalidTool, ToolError};
pub(crate) use run::failed;
pub use run::{NOT_RUN, OUTCOME_UNKNOWN};
#[cfg(feature = "tools")]
pub(crate) use schema::schema_of;

use super::ToolSpec;
use crate::message::{ResultContent, ToolCall, ToolCallError, ToolName, ToolResult, Value};

/// A function that a model may call, for runs and live calls alike. Clones are the same tool.
///
/// The handler takes the arguments and a [`ToolContext`]. [`new`](Self::new) types the arguments: a struct with named fields,
/// whose JSON Schema and field comments the model gets. [`raw`](Self::raw) takes a JSON Schema and gives the handler the
/// arguments as a [`Value`]. An [`external`](Self::external) tool has no handler: the service runs it and reports the result.
///
/// A handler runs in a task of its own, beside the other calls of one answer, and to its end or its deadline, even if the
/// caller interrupts or the run is dropped. A failure is a result that tells the model what to do:
///
/// | type | what happened | is another try worth it? |
/// | --- | --- | --- |
/// | `ToolFailed`, or the [error's own](ToolError::with_type) | the handler returned an error | as the error says |
/// | `InvalidArguments` | the arguments do not fit; the handler did not run | yes |
/// | `NotRun` | there is no such tool, or the answer was cut off | no |
/// | `OutcomeUnknown` | a panic, a missed deadline, or a result that cannot be written as JSON | no |
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use verbale::model::{Tool, ToolContext};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Weather {
///     /// A town, without its country.
///     town: String,
/// }
/// let tool = Tool::new("get_weather", "The weather of today.", |weather: Weather, _: ToolContext| async move {
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
    spec: ToolSpec,
    timeout: Option<Duration>,
    handler: Option<Handler>,
}

type Handler = Arc<dyn Fn(Value, ToolContext) -> Handling + Send + Sync>;
type Handling = Pin<Box<dyn Future<Output = Result<Vec<ResultContent>, ToolCallError>> + Send>>;

impl Tool {
    /// Creates a tool from its specification and a handler that takes the arguments as the model gave them: check them as
    /// you would check a stranger's.
    pub fn raw<F, R>(spec: ToolSpec, handler: F) -> Self
    where
        F: Fn(Value, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<ResultContent>, ToolError>> + Send + 'static,
    {
        let handle = move |arguments: Value, context| -> Handling {
            let handling = handler(arguments, context);
            Box::pin(async move { handling.await.map_err(Into::into) })
        };
        Self { spec, timeout: None, handler: Some(Arc::new(handle)) }
    }

    /// Creates a tool that the service runs. The service learns of a call by its reply or its run, and reports the result.
    pub fn external(spec: ToolSpec) -> Self {
        Self { spec, timeout: None, handler: None }
    }

    /// Sets a deadline for this tool, in place of the configured one.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// The tool's name.
    pub fn name(&self) -> &ToolName {
        &self.spec.name
    }

    /// The tool as the model knows it.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Whether the service runs the tool, and not a handler.
    pub fn is_external(&self) -> bool {
        self.handler.is_none()
    }

    /// The tool's own deadline, or `timeout`.
    pub(crate) fn timeout_or(&self, timeout: Duration) -> Duration {
        self.timeout.unwrap_or(timeout)
    }

    /// Runs the handler to its end, to a panic, or to its deadline. `None` if the service runs the tool.
    pub(crate) fn run(
        &self,
        call: ToolCall,
        context: ToolContext,
        timeout: Duration,
    ) -> Option<impl Future<Output = ToolResult> + Send + use<>> {
        let handler = self.handler.clone()?;
        let timeout = self.timeout_or(timeout);
        Some(async move {
            let arguments = call.arguments().clone();
            run::run_tool(&call, async move { handler(arguments, context).await }, timeout).await
        })
    }
}

/// The name and the deadline.
impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", self.name()).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
