//! Runs the handler of a tool.

use std::time::Duration;

use tokio::task::AbortHandle;

use super::no_result::NoResult;
use crate::message::{ResultContent, ToolCall, ToolCallError, ToolResult};

/// Runs a handler in its own task until it ends, panics, or misses the deadline. Dropping the future stops the handler.
pub(super) async fn run_tool(
    call: &ToolCall,
    handling: impl Future<Output = Result<Vec<ResultContent>, ToolCallError>> + Send + 'static,
    timeout: Duration,
) -> ToolResult {
    let running = tokio::spawn(handling);
    let _guard = AbortOnDrop(running.abort_handle());
    match tokio::time::timeout(timeout, running).await {
        Ok(Ok(Ok(contents))) => call.success(contents),
        Ok(Ok(Err(error))) => call.failure(error),
        Ok(Err(_)) => NoResult::Panicked.of(call),
        Err(_) => NoResult::TimedOut.of(call),
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
