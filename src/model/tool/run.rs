//! Running a tool, and what the model is told of a call that gave no result.

use std::time::Duration;

use tokio::task::AbortHandle;

use crate::message::{ResultContent, ResultContents, ToolCall, ToolCallError, ToolResult};

/// The [type](ToolCallError::error_type) of an error result that says: the outcome is not known, and the tool may have
/// acted.
pub const OUTCOME_UNKNOWN: &str = "OutcomeUnknown";

/// The [type](ToolCallError::error_type) of an error result that says: the tool was never run.
pub const NOT_RUN: &str = "NotRun";

/// Runs a tool, in a task of its own, to its end, to a panic, or out of time. Whether it acted is not known in the last
/// two cases. Dropping this stops the tool.
pub(super) async fn run_tool(
    call: &ToolCall,
    tool: impl Future<Output = Result<Vec<ResultContent>, ToolCallError>> + Send + 'static,
    within: Duration,
) -> ToolResult {
    let running = tokio::spawn(tool);
    let _stops = Stops(running.abort_handle());
    match tokio::time::timeout(within, running).await {
        Ok(Ok(Ok(contents))) => call.success(contents),
        Ok(Ok(Err(error))) => call.failure(error),
        Ok(Err(_)) => {
            failed(call, OUTCOME_UNKNOWN, "The tool failed in an unexpected way; whether it acted is not known.")
        }
        Err(_) => failed(call, OUTCOME_UNKNOWN, "The tool did not answer in time; whether it acted is not known."),
    }
}

/// What the model is told of a call that gave no result; `kind` tells whether the tool may have acted.
pub(crate) fn failed(call: &ToolCall, kind: &str, message: &str) -> ToolResult {
    match ToolCallError::new(message) {
        Ok(error) => call.failure(error.with_type(kind).with_retryable(false)),
        // The messages are ours, and not blank.
        Err(_) => call.success(ResultContents::default()),
    }
}

struct Stops(AbortHandle);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.abort();
    }
}
