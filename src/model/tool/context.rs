//! [`ToolContext`]: the phone call and the tool call for which a handler runs.

use crate::message::{Text, ToolCall, ToolCallId};

/// The ids of the phone call and of the tool call for which a handler runs.
#[derive(Debug, Clone)]
pub struct ToolContext {
    call_id: Text,
    tool_call_id: ToolCallId,
    idempotency_key: Text,
}

impl ToolContext {
    /// Creates the context of a tool call.
    pub(crate) fn of(call_id: &str, call: &ToolCall) -> Self {
        let idempotency_key = call.idempotency_key().unwrap_or_default().into();
        Self { call_id: call_id.into(), tool_call_id: call.id().clone(), idempotency_key }
    }

    /// Returns the id of the phone call or conversation.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the id of the tool call, which is unique in the conversation.
    pub fn tool_call_id(&self) -> &ToolCallId {
        &self.tool_call_id
    }

    /// Returns the key to pass to the service that the tool calls, so that it acts at most once: 32 hexadecimal digits,
    /// the same for each attempt at an act. It is empty for a [read-only](super::Tool::read_only) tool.
    pub fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }
}
