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
use crate::bedrock::identifier::{call_id, tool_name};
use crate::message::{Map, Text, ToolCall, ToolCallId, ToolName, Value};
use crate::model::{Failure, ModelEvent, Partial, StopReason, Usage, note_progress};

/// The part of an answer that was read so far.
///
/// Reasoning is dropped, because it is neither spoken nor kept. Unknown events are dropped too.
#[derive(Default)]
pub(crate) struct AnswerReader {
    open: BTreeMap<i32, OpenCall>,
    /// The last call, if it has no arguments. The end of the answer may have cut it off.
    empty: Option<UnreadCall>,
    /// The calls with unreadable arguments. They are reported at the stop, because its reason shows whether they were
    /// cut off.
    unreadable: Vec<(UnreadCall, String)>,
    received: Partial,
    has_begun: bool,
}

struct OpenCall {
    start: ToolUseBlockStart,
    input: String,
}

/// A call with valid names and without arguments.
struct UnreadCall {
    id: ToolCallId,
    name: ToolName,
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
    pub(crate) fn read(&mut self, event: Event) -> Result<Vec<ModelEvent>, Failure> {
        if matches!(event, Event::ContentBlockStart(_) | Event::ContentBlockDelta(_)) {
            self.has_begun = true;
            note_progress();
        }
        let mut events = Vec::new();
        match event {
            Event::ContentBlockStart(event) => {
                events.extend(self.complete_empty());
                if let Some(ContentBlockStart::ToolUse(start)) = event.start {
                    self.open.insert(event.content_block_index, OpenCall { start, input: String::new() });
                }
            }
            Event::ContentBlockDelta(event) => match event.delta {
                Some(ContentBlockDelta::Text(text)) => {
                    events.extend(self.complete_empty());
                    events.extend(self.text(text));
                }
                Some(ContentBlockDelta::ToolUse(delta)) => {
                    let Some(call) = self.open.get_mut(&event.content_block_index) else {
                        return Err(Failure::Malformed("arguments without a tool call".to_owned()));
                    };
                    call.input.push_str(&delta.input);
                }
                _ => {}
            },
            Event::ContentBlockStop(event) => {
                if let Some(OpenCall { start, input }) = self.open.remove(&event.content_block_index) {
                    events.extend(self.call(&start.tool_use_id, &start.name, Input::Text(&input))?);
                }
            }
            Event::MessageStop(event) => events.extend(self.stop(&event.stop_reason)?),
            Event::Metadata(event) => events.extend(event.usage.as_ref().map(usage).map(ModelEvent::Usage)),
            _ => {}
        }
        Ok(events)
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
            events.extend(self.complete_empty());
            match block {
                ContentBlock::Text(text) => events.extend(self.text(text)),
                ContentBlock::ToolUse(call) => {
                    let input = match &call.input {
                        // Bedrock sends arguments that are not JSON as a string, which may be empty.
                        Document::String(input) => Input::Text(input),
                        input => Input::Json(input),
                    };
                    events.extend(self.call(&call.tool_use_id, &call.name, input)?);
                }
                _ => {}
            }
        }
        // If the answer fails, no event is emitted, so no part counts as received.
        events.extend(self.stop(&output.stop_reason).inspect_err(|_| self.received = Partial::default())?);
        events.extend(output.usage.as_ref().map(usage).map(ModelEvent::Usage));
        Ok(events)
    }

    fn text(&mut self, text: String) -> Option<ModelEvent> {
        self.received.text_bytes += text.len();
        (!text.is_empty()).then(|| ModelEvent::Text(Text::from(text)))
    }

    /// Returns the call, unless its arguments are missing or unreadable. An earlier call without arguments is returned
    /// before it.
    fn call(&mut self, id: &str, name: &str, input: Input<'_>) -> Result<Vec<ModelEvent>, Failure> {
        let (Some(id), Some(name)) = (call_id(id), tool_name(name)) else {
            return Err(Failure::Malformed("a tool call without a name".to_owned()));
        };
        let mut events: Vec<_> = self.complete_empty().into_iter().collect();
        if input.is_empty() {
            self.empty = Some(UnreadCall { id, name });
            return Ok(events);
        }
        let arguments = match input {
            Input::Text(text) => arguments(text),
            Input::Json(json) => from_document(json).map_err(|error| error.to_string()),
        };
        match arguments {
            Ok(arguments) => {
                self.received.tool_calls += 1;
                events.push(ModelEvent::ToolCall(ToolCall::of(id, name, arguments)));
            }
            Err(why) => self.unreadable.push((UnreadCall { id, name }, why)),
        }
        Ok(events)
    }

    /// Returns the call without arguments, if the answer continued after it.
    fn complete_empty(&mut self) -> Option<ModelEvent> {
        let UnreadCall { id, name } = self.empty.take()?;
        self.received.tool_calls += 1;
        Some(ModelEvent::ToolCall(ToolCall::of(id, name, Value::Map(Map::default()))))
    }

    fn stop(&mut self, reason: &types::StopReason) -> Result<Vec<ModelEvent>, Failure> {
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
        let is_cut = matches!(reason, StopReason::MaxTokens | StopReason::ContextFull | StopReason::Filtered);
        let mut events = Vec::new();
        if !is_cut {
            events.extend(self.complete_empty());
        }
        let open = std::mem::take(&mut self.open).into_values();
        let open = open.filter_map(|call| Some((call_id(&call.start.tool_use_id)?, tool_name(&call.start.name)?)));
        let open = open.map(|(id, name)| (UnreadCall { id, name }, "the call has no end".to_owned()));
        let empty = self.empty.take().map(|call| (call, String::new()));
        let unreadable = std::mem::take(&mut self.unreadable);
        events.extend(unreadable.into_iter().chain(open).chain(empty).map(|(UnreadCall { id, name }, reason)| {
            ModelEvent::UnreadableToolCall { id, name, reason: (!is_cut).then(|| reason.into()) }
        }));
        events.push(ModelEvent::Stop(reason));
        Ok(events)
    }
}

/// The arguments of a call.
enum Input<'a> {
    Text(&'a str),
    Json(&'a Document),
}

impl Input<'_> {
    /// Returns whether the call has no arguments. A call that was cut off before its arguments also has none.
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Json(json) => json.as_object().is_some_and(|entries| entries.is_empty()),
        }
    }
}

/// Parses arguments. The error does not quote them.
fn arguments(input: &str) -> Result<Value, String> {
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
