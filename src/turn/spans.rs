//! What a call tells of its requests and tools to `tracing`, in the words of OpenTelemetry's
//! [conventions for generative AI](https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/).
//!
//! Never a word of what was said: ids, counts and reasons.

use tracing::Span;
use tracing::field::Empty;

use crate::log::CallId;
use crate::message::ToolCall;
use crate::model::{StopReason, Usage};

/// One request to the model.
pub(super) fn chat(call_id: &CallId) -> Span {
    tracing::info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.conversation.id = call_id.as_str(),
        gen_ai.conversation.compacted = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_creation.input_tokens = Empty,
        "error.type" = Empty,
    )
}

/// One run of a tool.
pub(super) fn execute_tool(call_id: &CallId, tool_call: &ToolCall) -> Span {
    tracing::info_span!(
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.conversation.id = call_id.as_str(),
        gen_ai.tool.name = tool_call.name().as_str(),
        gen_ai.tool.call.id = tool_call.id().as_str(),
    )
}

/// Tells the current span whether a summary stands for a part of the conversation.
pub(super) fn asked(is_compacted: bool) {
    Span::current().record("gen_ai.conversation.compacted", is_compacted);
}

/// Tells the current span what its request took.
pub(super) fn used(usage: Usage) {
    let span = Span::current();
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    span.record("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens);
    span.record("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens);
}

/// Tells the current span why the model stopped.
pub(super) fn stopped(reason: &StopReason) {
    let reason = match reason {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::ContextFull => "length",
        StopReason::Filtered => "content_filter",
        StopReason::Other(_) => "other",
    };
    Span::current().record("gen_ai.response.finish_reasons", reason);
}

/// Notes in the current span why there is no answer.
pub(super) fn failed(kind: &str) {
    Span::current().record("error.type", kind);
}
