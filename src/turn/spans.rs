//! The `tracing` spans of requests and tools, named by OpenTelemetry's
//! [conventions for generative AI](https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/).
//!
//! They contain ids, counts and reasons, and no words of the call.

use tracing::Span;
use tracing::field::Empty;

use crate::log::CallId;
use crate::message::ToolCall;
use crate::model::{StopReason, Usage};

/// Returns the span of a request to the model.
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

/// Returns the span of a tool call.
pub(super) fn execute_tool(call_id: &CallId, tool_call: &ToolCall) -> Span {
    tracing::info_span!(
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.conversation.id = call_id.as_str(),
        gen_ai.tool.name = tool_call.name().as_str(),
        gen_ai.tool.call.id = tool_call.id().as_str(),
    )
}

/// Records in the current span whether a summary replaces a part of the conversation.
pub(super) fn record_compacted(is_compacted: bool) {
    Span::current().record("gen_ai.conversation.compacted", is_compacted);
}

/// Records the tokens of a request in the current span.
pub(super) fn record_usage(usage: Usage) {
    let span = Span::current();
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    span.record("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens);
    span.record("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens);
}

/// Records in the current span why the model stopped.
pub(super) fn record_stop(reason: &StopReason) {
    let reason = match reason {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::ContextFull => "length",
        StopReason::Filtered => "content_filter",
        StopReason::Other(_) => "other",
    };
    Span::current().record("gen_ai.response.finish_reasons", reason);
}

/// Records in the current span why the request failed.
pub(super) fn record_failure(kind: &str) {
    Span::current().record("error.type", kind);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Returns the names of fields in a text.
    fn fields(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '_' || c == '.'));
        words.filter(|word| word.starts_with("gen_ai.") || *word == "error.type").collect()
    }

    #[test]
    fn documentation_names_each_field_and_no_other() {
        let (code, _) = include_str!("spans.rs").split_once("#[cfg(test)]").unwrap();
        assert_eq!(fields(code), fields(include_str!("../../docs/telemetry.md")));
    }
}
