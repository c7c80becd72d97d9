//! [`ToolContext`]: which call a handler runs for.

use crate::message::{Text, ToolCallId};

/// Which call a handler runs for.
#[derive(Debug, Clone)]
pub struct ToolContext {
    call_id: Text,
    tool_call_id: ToolCallId,
}

impl ToolContext {
    /// Creates a context, for a handler that is tested by itself.
    pub fn new(call_id: impl Into<Text>, tool_call_id: ToolCallId) -> Self {
        Self { call_id: call_id.into(), tool_call_id }
    }

    /// The id of the phone call, or of the conversation.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The id of the tool call; no other call in the conversation has it.
    pub fn tool_call_id(&self) -> &ToolCallId {
        &self.tool_call_id
    }
}
