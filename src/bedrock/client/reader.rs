//! [`AnswerReader`]: converts Bedrock's events to the events of a model.

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

/// The part of an answer that was read so far.
///
/// Reasoning is dropped, because it is neither spoken nor kept. Unknown events are dropped too.
#[derive(Default)]
pub(crate) struct AnswerReader {
    open: BTreeMap<i32, OpenCall>,
    /// The error of a malformed tool call. It is reported at the stop, because a truncated answer may end within a call.
    malformed: Option<String>,
    received: Partial,
    has_begun: bool,
}

struct OpenCall {
    start: ToolUseBlockStart,
    input: String,
}

impl AnswerReader {
    pub(crate) fn received(&self) -> Partial {
        self.received
    }

    /// Returns whether a text or a tool call has started.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Converts an event of the stream.
    ///
    /// Returns [`Failure::Malformed`] if the answer cannot be read.
    pub(crate) fn read(&mut self, event: Event) -> Result<Option<ModelEvent>, Failure> {
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
                        return Err(Failure::Malformed("arguments without a tool call".to_owned()));
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

    /// Converts an answer in one piece.
    ///
    /// Returns [`Failure::Malformed`] if the answer cannot be read.
    pub(crate) fn read_whole(&mut self, output: ConverseOutput) -> Result<Vec<ModelEvent>, Failure> {
        let Some(types::ConverseOutput::Message(message)) = output.output else {
            return Err(Failure::Malformed("an answer without a message".to_owned()));
        };
        let mut events = Vec::with_capacity(message.content.len() + 2);
        for block in message.content {
            events.extend(match block {
                ContentBlock::Text(text) => self.text(text),
                ContentBlock::ToolUse(call) => {
                    let arguments = match &call.input {
                        // Bedrock sends arguments that are not JSON as a string, which may be empty.
                        Document::String(input) => arguments(input),
                        input => from_document(input).map_err(|error| error.to_string()),
                    };
                    self.call(call.tool_use_id, call.name, arguments)
                }
                _ => None,
            });
        }
        // If the answer fails, no event is emitted, so nothing counts as received.
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
                self.malformed.get_or_insert(why);
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
        // A truncated answer may end within a call, which is dropped.
        let is_truncated = matches!(reason, StopReason::MaxTokens | StopReason::ContextFull | StopReason::Filtered);
        match self.malformed.take() {
            Some(why) if !is_truncated => Err(Failure::Malformed(format!("a tool call: {why}"))),
            None if !is_truncated && !self.open.is_empty() => {
                Err(Failure::Malformed("a tool call without an end".to_owned()))
            }
            _ => Ok(ModelEvent::Stop(reason)),
        }
    }
}

/// Parses arguments. An empty text is an empty object. The error quotes no arguments.
fn arguments(input: &str) -> Result<Value, String> {
    if input.is_empty() {
        return Value::map::<String, Value>([]).map_err(|error| error.to_string());
    }
    let json: Json = serde_json::from_str(input).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("arguments of {} bytes are not JSON: error at line {line}, column {column}", input.len())
    })?;
    Value::try_from(json).map_err(|error| error.to_string())
}

/// Bedrock's input tokens exclude the tokens that its cache read and wrote.
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
