//! [`ToolContext`]: the phone call and the tool call for which a handler runs.

use crate::message::{Text, ToolCallId};

/// The ids of the phone call and of the tool call for which a handler runs.
#[derive(Debug, Clone)]
pub struct ToolContext {
    call_id: Text,
    tool_call_id: ToolCallId,
}

impl ToolContext {
    /// Creates a context, for tests of a handler.
    pub fn new(call_id: impl Into<Text>, tool_call_id: ToolCallId) -> Self {
        Self { call_id: call_id.into(), tool_call_id }
    }

    /// Returns the id of the phone call or conversation.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the id of the tool call, which is unique in the conversation. Use it as an idempotency key.
    pub fn tool_call_id(&self) -> &ToolCallId {
        &self.tool_call_id
    }
}
