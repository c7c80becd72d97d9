//! [`Model`]: the port to a language model, and its request.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use super::{Inference, ModelError, ModelEvent};
use crate::message::{Message, MessageError, Text, ToolName, Value};

/// The stream of events that [`Model::generate`] returns.
pub type Generation = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A language model.
///
/// An implementation guarantees:
///
/// - Nothing is sent before the stream is first polled. Dropping the stream cancels the request.
/// - The events come in this order: [`Switched`](ModelEvent::Switched) if another model is asked, and
///   [`Repaired`](ModelEvent::Repaired); texts and complete tool calls; tool calls that are
///   [unreadable or cut off](ModelEvent::UnreadableToolCall); [`Stop`](ModelEvent::Stop) once;
///   [`Usage`](ModelEvent::Usage) at most once. Then the stream ends. A stream that ends without `Stop` is an error, never
///   a short answer.
/// - An error is the last item.
/// - The caller limits each wait for an event, as the conversation's `Config` does, and drops the stream at a deadline.
/// - Ids and names of tool calls are valid. An adapter renames invalid ones, always in the same way.
/// - Requests are valid when they are sent. The adapter repairs and reports each known problem, or returns an error
///   that names it.
/// - Neither the `Debug` output of an event nor an error contains words of the call.
pub trait Model: Send + Sync {
    /// Sends a request and returns the answer as a stream.
    fn generate(&self, request: ModelRequest) -> Generation;

    /// Returns the provider's id of the model, such as `eu.anthropic.claude-sonnet-5`, if there is one.
    fn id(&self) -> Option<&str> {
        None
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn generate(&self, request: ModelRequest) -> Generation {
        (**self).generate(request)
    }

    fn id(&self) -> Option<&str> {
        (**self).id()
    }
}

/// A request to a model. The fields are in the order in which the model reads them.
///
/// A provider can cache the beginning of a request: tools and `system` usually stay the same during a call, and
/// messages are added at the end until a summary replaces the oldest ones.
///
/// ```
/// use verbale::model::ModelRequest;
///
/// let mut request = ModelRequest::default();
/// request.system.push("You answer the phone of a bank.".into());
/// request.memory = Some("The caller is Mia. She lost her card.".into());
/// request.inference.max_tokens = Some(300);
/// assert!(request.late_system.is_empty());
/// ```
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The tools that the model may call.
    pub tools: Arc<[ToolSpec]>,
    /// Instructions that were in the first request of a call and that later requests repeat. A provider may cache them
    /// together with the tools.
    pub system: Vec<Text>,
    /// Instructions that were added after the first request. They follow the cached prefix.
    pub late_system: Vec<Text>,
    /// The memory of turns that left the window. It is data, never instructions.
    pub memory: Option<Text>,
    /// The window of the conversation: [`MessagesManager::messages`](crate::MessagesManager::messages).
    pub messages: Vec<Message>,
    /// The inference settings of this request.
    pub inference: Inference,
}

impl ModelRequest {
    /// Creates a request with these messages and nothing else.
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }
}

/// Shows counts and lengths instead of the words.
impl fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest")
            .field("tools", &self.tools.len())
            .field("system", &self.system)
            .field("late_system", &self.late_system)
            .field("memory", &self.memory)
            .field("messages", &self.messages.len())
            .field("inference", &self.inference)
            .finish()
    }
}

/// A tool as the model sees it: name, description and arguments.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name of the tool.
    pub name: ToolName,
    /// The purpose of the tool, and when to call it.
    pub description: Text,
    /// The [JSON Schema](https://json-schema.org) of the arguments. Its type is `object`.
    pub input_schema: Value,
}

impl ToolSpec {
    /// Creates a specification from a name, a description, and the JSON Schema of the arguments.
    ///
    /// Returns a [`MessageError`] if Bedrock refuses the name, if the schema cannot be a [`Value`], or if its `type` is
    /// not `object`.
    pub fn new(
        name: impl Into<Text>,
        description: impl Into<Text>,
        input_schema: impl TryInto<Value, Error: Into<MessageError>>,
    ) -> Result<Self, MessageError> {
        let input_schema = Value::checked(input_schema)?;
        let of_type = input_schema.as_map().and_then(|schema| schema.get("type")).and_then(Value::as_str);
        if of_type != Some("object") {
            return Err(MessageError::NO_OBJECT_SCHEMA);
        }
        Ok(Self { name: ToolName::new(name)?, description: description.into(), input_schema })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_need_an_object_schema() {
        assert!(ToolSpec::new("now", "Tells the time.", json!({"type": "object", "properties": {}})).is_ok());
        for schema in [json!({}), json!({"properties": {}}), json!({"type": "string"}), json!(null), json!([])] {
            assert_eq!(ToolSpec::new("now", "Tells the time.", schema), Err(MessageError::NO_OBJECT_SCHEMA));
        }
    }
}
