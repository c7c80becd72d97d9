//! [`Reading`]: what Bedrock sends, as the events of a model.

use std::collections::BTreeMap;

use aws_sdk_bedrockruntime::operation::converse::ConverseOutput;
use aws_sdk_bedrockruntime::types::{
    self, ContentBlock, ContentBlockDelta, ContentBlockStart, ConverseStreamOutput as Event, TokenUsage,
    ToolUseBlockStart,
};
use aws_smithy_types::Document;
use serde_json::Value as Json;

use crate::bedrock::document::from_document;
use crate::message::{Text, ToolCall, Value};
use crate::model::{Failure, ModelEvent, Partial, StopReason, Usage};

/// What was read of an answer so far.
///
/// Reasoning is left out, for it is neither spoken nor kept; so is what a newer Bedrock sends that nobody asked for.
#[derive(Default)]
pub(super) struct Reading {
    open: BTreeMap<i32, OpenCall>,
    /// Why a tool call could not be read. It only counts once it is known that the answer was not cut there.
    unreadable: Option<String>,
    received: Partial,
    has_begun: bool,
}

struct OpenCall {
    start: ToolUseBlockStart,
    input: String,
}

impl Reading {
    pub(super) fn received(&self) -> Partial {
        self.received
    }

    /// Whether a piece of the answer has come.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// What one event of the stream brings. Errors: an answer that cannot be read.
    pub(super) fn read(&mut self, event: Event) -> Result<Option<ModelEvent>, Failure> {
        self.has_begun |= matches!(event, Event::ContentBlockStart(_) | Event::ContentBlockDelta(_));
        Ok(match event {
            Event::ContentBlockStart(event) => {
                if let Some(ContentBlockStart::ToolUse(start)) = event.start {
                    self.open.insert(event.content_block_index, OpenCall { start, input: String::new() });
                }
                None
            }
            Event::ContentBlockDelta(event) => match event.delta {
                Some(ContentBlockDelta::Text(text)) => self.text(text),
                Some(ContentBlockDelta::ToolUse(delta)) => {
                    let Some(call) = self.open.get_mut(&event.content_block_index) else {
                        return Err(Failure::Malformed("arguments without their tool call".to_owned()));
                    };
                    call.input.push_str(&delta.input);
                    None
                }
                _ => None,
            },
            Event::ContentBlockStop(event) => self.open.remove(&event.content_block_index).and_then(|call| {
                let OpenCall { start, input } = call;
                self.call(start.tool_use_id, start.name, arguments(&input))
            }),
            Event::MessageStop(event) => Some(self.stop(&event.stop_reason)?),
            Event::Metadata(event) => event.usage.as_ref().map(usage).map(ModelEvent::Usage),
            _ => None,
        })
    }

    /// What a whole answer brings. Errors: an answer that cannot be read.
    pub(super) fn read_whole(&mut self, output: ConverseOutput) -> Result<Vec<ModelEvent>, Failure> {
        let Some(types::ConverseOutput::Message(message)) = output.output else {
            return Err(Failure::Malformed("an answer without a message".to_owned()));
        };
        let mut events = Vec::with_capacity(message.content.len() + 2);
        for block in message.content {
            events.extend(match block {
                ContentBlock::Text(text) => self.text(text),
                ContentBlock::ToolUse(call) => {
                    let arguments = match &call.input {
                        // What the model wrote and is no JSON, nothing included.
                        Document::String(input) => arguments(input),
                        input => from_document(input).map_err(|error| error.to_string()),
                    };
                    self.call(call.tool_use_id, call.name, arguments)
                }
                _ => None,
            });
        }
        // Texts and calls count as received once they are handed on, and here that is with the rest.
        events.push(self.stop(&output.stop_reason).inspect_err(|_| self.received = Partial::default())?);
        events.extend(output.usage.as_ref().map(usage).map(ModelEvent::Usage));
        Ok(events)
    }

    fn text(&mut self, text: String) -> Option<ModelEvent> {
        self.received.text_bytes += text.len();
        (!text.is_empty()).then(|| ModelEvent::Text(Text::from(text)))
    }

    fn call(&mut self, id: String, name: String, arguments: Result<Value, String>) -> Option<ModelEvent> {
        let call = arguments.and_then(|arguments| ToolCall::new(id, name, arguments).map_err(|why| why.to_string()));
        match call {
            Ok(call) => {
                self.received.tool_calls += 1;
                Some(ModelEvent::ToolCall(call))
            }
            Err(why) => {
                self.unreadable.get_or_insert(why);
                None
            }
        }
    }

    fn stop(&mut self, reason: &types::StopReason) -> Result<ModelEvent, Failure> {
        let reason = match reason {
            types::StopReason::EndTurn => StopReason::EndTurn,
            types::StopReason::ToolUse => StopReason::ToolUse,
            types::StopReason::MaxTokens => StopReason::MaxTokens,
            types::StopReason::StopSequence => StopReason::StopSequence,
            types::StopReason::GuardrailIntervened | types::StopReason::ContentFiltered => StopReason::Filtered,
            types::StopReason::ModelContextWindowExceeded => StopReason::ContextFull,
            types::StopReason::MalformedToolUse | types::StopReason::MalformedModelOutput => {
                return Err(Failure::Malformed(format!("the model stopped with `{}`", reason.as_str())));
            }
            other => StopReason::Other(other.as_str().into()),
        };
        // An answer that is cut may end within a call, which then never was one.
        let is_cut = matches!(reason, StopReason::MaxTokens | StopReason::ContextFull | StopReason::Filtered);
        match self.unreadable.take() {
            Some(why) if !is_cut => Err(Failure::Malformed(format!("a tool call: {why}"))),
            None if !is_cut && !self.open.is_empty() => {
                Err(Failure::Malformed("a tool call without an end".to_owned()))
            }
            _ => Ok(ModelEvent::Stop(reason)),
        }
    }
}

/// Nothing is no arguments. Errors: what is wrong, in words that tell nothing of them.
fn arguments(input: &str) -> Result<Value, String> {
    if input.is_empty() {
        return Value::map::<String, Value>([]).map_err(|error| error.to_string());
    }
    let json: Json = serde_json::from_str(input).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("arguments of {} bytes are no JSON from line {line}, column {column} on", input.len())
    })?;
    Value::try_from(json).map_err(|error| error.to_string())
}

/// Bedrock counts what its cache read and wrote apart from the input.
fn usage(tokens: &TokenUsage) -> Usage {
    let count = |tokens: i32| u64::try_from(tokens).unwrap_or(0);
    let cache_read_tokens = tokens.cache_read_input_tokens.map_or(0, count);
    let cache_write_tokens = tokens.cache_write_input_tokens.map_or(0, count);
    Usage {
        input_tokens: count(tokens.input_tokens) + cache_read_tokens + cache_write_tokens,
        cache_read_tokens,
        cache_write_tokens,
        output_tokens: count(tokens.output_tokens),
    }
}

#[cfg(test)]
mod tests;
