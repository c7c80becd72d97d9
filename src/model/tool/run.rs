//! Runs the handler of a tool.

use super::no_result::NoResult;
use crate::message::{ResultContent, ToolCall, ToolError, ToolResult};

/// Runs a handler in its own task, which nothing cancels. A panic is an unknown outcome.
pub(super) async fn run_tool(
    call: ToolCall,
    handling: impl Future<Output = Result<Vec<ResultContent>, ToolError>> + Send + 'static,
) -> ToolResult {
    match tokio::spawn(handling).await {
        Ok(Ok(contents)) => call.success(contents),
        Ok(Err(error)) => call.failure(error.or_type("ToolFailed")),
        Err(_) => NoResult::Panicked.of(&call),
    }
}
