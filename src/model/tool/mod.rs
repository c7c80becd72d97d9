//! [`Tool`]: a function that a model may call.
//!
//! Owns the schema of its arguments, its execution, and the result or error that the model gets. It does not depend on
//! conversations.

mod act;
mod context;
mod no_result;
mod run;
#[cfg(feature = "tools")]
mod schema;
#[cfg(feature = "tools")]
mod typed;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use act::{Acting, LookedUp};
pub use context::ToolContext;
pub(crate) use no_result::{NOT_RUN, NoResult, OUTCOME_UNKNOWN};
#[cfg(feature = "tools")]
pub(crate) use schema::schema_of;

use super::ToolSpec;
use crate::message::{ResultContent, ToolCall, ToolError, ToolName, ToolResult, Value};

/// A function that a model may call, in runs and in live calls. Clones share the handler.
///
/// There are three kinds of tools. [`new`](Self::new) takes a handler with typed arguments: a struct with named fields. The
/// model gets its JSON Schema, including the comments of the fields. [`raw`](Self::raw) takes a JSON Schema, and its handler
/// gets the arguments as a [`Value`]. An [`external`](Self::external) tool has no handler: the service runs it and reports
/// the result.
///
/// A handler runs in its own task, in parallel to the other tool calls of an answer. It runs to its end, even if the
/// caller interrupts or the run is dropped. At the deadline, only the waiting ends: the model gets an unknown outcome,
/// and a later result replaces it.
///
/// A handler must not block its thread: run such code with `tokio::task::spawn_blocking`. On a runtime with one thread, a
/// blocked handler stops all calls: callers hear nothing, not even the words before the tool call, and no deadline passes
/// until it returns.
///
/// # Tools that act
///
/// A call of a tool that may act, such as a booking, should be in the log before it runs, so that a process that takes
/// the phone call over knows about it. A tool declares its kind:
///
/// | kind | before it runs | use it for |
/// | --- | --- | --- |
/// | [`read_only`](Self::read_only) | does not wait | lookups |
/// | the default | waits up to 300 ms until the log has stored the call, then runs in any case | acts that may be repeated |
/// | [`acts_once`](Self::acts_once) | waits until the log has stored the call, or does not run | bookings, payments |
///
/// Each call of a tool that may act has an [idempotency key](ToolCall::idempotency_key), which is stored with it. A new
/// call of the same tool with the same arguments is another attempt at the same act, unless
/// [`same_act`](Self::same_act) decides otherwise:
///
/// | the earlier call | the new call |
/// | --- | --- |
/// | is running | does not run; the model gets a result that asks it to wait |
/// | has an unknown outcome, or did not run | has the same key; if the tool acts once, it runs only if the tool [`deduplicates_by_key`](Self::deduplicates_by_key) |
/// | succeeded, the tool acts once, and the caller does not know the outcome yet | does not run; gets the earlier result |
/// | otherwise | has a new key and runs: the caller may want a second ticket |
///
/// # Results
///
/// If the tool gives no result, the model gets an error result of one of these types:
///
/// | type | cause | retryable |
/// | --- | --- | --- |
/// | `ToolFailed`, or the [error's own](ToolError::with_type) | the handler returned an error | as the error states |
/// | `InvalidArguments` | the arguments do not fit the typed handler of [`new`](Self::new), which did not run | yes |
/// | `NotRun` | no such tool, an answer that was cut off, or too many rounds of tool calls | no |
/// | `NotRun` | the log did not store the call in time, the caller interrupted before it ran, or another attempt at the same act | no |
/// | `OutcomeUnknown` | a panic, a missed deadline, or a result that cannot be written as JSON | no |
/// | `OutcomeUnknown` | the phone call ended, was taken over, or was forked before the tool had a result | no |
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
    pub(crate) acting: Acting,
}

type Handler = Arc<dyn Fn(Value, ToolContext) -> Handling + Send + Sync>;
type Handling = Pin<Box<dyn Future<Output = Result<Vec<ResultContent>, ToolError>> + Send>>;

impl Tool {
    /// Creates a tool from its specification and a handler that gets the arguments as the model sent them.
    ///
    /// The arguments may not fit the schema, so the handler has to validate them.
    pub fn raw<F, R>(spec: ToolSpec, handler: F) -> Self
    where
        F: Fn(Value, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<ResultContent>, ToolError>> + Send + 'static,
    {
        let handle = move |arguments: Value, context| -> Handling {
            let handling = handler(arguments, context);
            Box::pin(handling)
        };
        Self { spec, timeout: None, handler: Some(Arc::new(handle)), acting: Acting::default() }
    }

    /// Creates a tool that the service runs.
    ///
    /// The reply or the run reports each call of the tool. The service reports the result with
    /// [`CallSession::tool_result`](crate::call::CallSession::tool_result) or
    /// [`Conversation::tool_result`](crate::conversation::Conversation::tool_result), before the deadline of the tool.
    pub fn external(spec: ToolSpec) -> Self {
        Self { spec, timeout: None, handler: None, acting: Acting::default() }
    }

    /// Sets the maximum time of a call of this tool, in place of the configured
    /// [tool timeout](crate::conversation::Config::with_tool_timeout).
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &ToolName {
        &self.spec.name
    }

    /// Returns the specification that the model gets.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Returns whether the service runs the tool.
    pub(crate) fn is_external(&self) -> bool {
        self.handler.is_none()
    }

    /// Returns the tool's own deadline, or else `timeout`.
    pub(crate) fn timeout_or(&self, timeout: Duration) -> Duration {
        self.timeout.unwrap_or(timeout)
    }

    /// Runs the handler in a task, to its end. Returns `None` for an external tool.
    pub(crate) fn run(
        &self,
        call: ToolCall,
        context: ToolContext,
    ) -> Option<impl Future<Output = ToolResult> + Send + use<>> {
        let handler = self.handler.clone()?;
        let arguments = call.arguments().clone();
        Some(run::run_tool(call, async move { handler(arguments, context).await }))
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", self.name()).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
