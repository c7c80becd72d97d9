//! [`Model`]: the port to a language model, and what it is asked.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use super::{ModelError, ModelEvent};
use crate::message::{IntoValue, Message, MessageError, Text, ToolName, Value};

/// What a model answers, event by event; made by [`Model::generate`].
pub type Generation = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A language model.
///
/// What an implementor owes:
///
/// - Nothing is sent before the stream is first polled, and dropping the stream cancels the request.
/// - The events come in this order: [`Repaired`](ModelEvent::Repaired) at most once; texts and tool calls, each
///   call whole; [`Stop`](ModelEvent::Stop) once; [`Usage`](ModelEvent::Usage) at most once. Then the stream ends. A
///   stream that ends without `Stop` is an error, never a short answer.
/// - An error is the last item.
/// - It ends: every wait in it has a deadline.
/// - What it is asked is valid when it is sent: what can be known beforehand is repaired and told, or is an error that
///   names it, and never the provider's refusal.
/// - Neither an event's `Debug` nor an error tells what was said.
pub trait Model: Send + Sync {
    /// Asks the model.
    fn generate(&self, request: ModelRequest) -> Generation;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn generate(&self, request: ModelRequest) -> Generation {
        (**self).generate(request)
    }
}

/// What a model is asked: in the order in which it reads it.
///
/// The first two change rarely and the messages grow at their end, so that a provider can keep what it has read of them.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The tools it may call.
    pub tools: Arc<[ToolSpec]>,
    /// What it is to do.
    pub system: Option<Text>,
    /// What was said before the messages and what became of tool calls: data, whatever it says.
    pub record: Option<Text>,
    /// The window of the conversation: [`MessagesManager::messages`](crate::MessagesManager::messages).
    pub messages: Vec<Message>,
}

impl ModelRequest {
    /// A request with these messages and nothing else.
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }
}

/// How many, and how long; not the words.
impl fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest")
            .field("tools", &self.tools.len())
            .field("system", &self.system)
            .field("record", &self.record)
            .field("messages", &self.messages.len())
            .finish()
    }
}

/// A tool that a model may call, as it is told to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// What it does and when to call it.
    pub description: Text,
    /// The [JSON Schema](https://json-schema.org) of its arguments, which is of type `object`.
    pub input_schema: Value,
}

impl ToolSpec {
    /// A tool by its name, what it does and when to call it, and the JSON Schema of its arguments.
    ///
    /// Errors: a name that Bedrock refuses; [`MessageError::NoObjectSchema`] if the schema's `type` is not `object`.
    pub fn new(
        name: impl Into<Text>,
        description: impl Into<Text>,
        input_schema: impl IntoValue,
    ) -> Result<Self, MessageError> {
        let input_schema = input_schema.into_value()?;
        let of_type = input_schema.as_map().and_then(|schema| schema.get("type")).and_then(Value::as_str);
        if of_type != Some("object") {
            return Err(MessageError::NoObjectSchema);
        }
        Ok(Self { name: ToolName::new(name)?, description: description.into(), input_schema })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_of_arguments_is_an_object_schema() {
        assert!(ToolSpec::new("now", "Tells the time.", json!({"type": "object", "properties": {}})).is_ok());
        for schema in [json!({}), json!({"properties": {}}), json!({"type": "string"}), json!(null), json!([])] {
            assert_eq!(ToolSpec::new("now", "Tells the time.", schema), Err(MessageError::NoObjectSchema));
        }
    }
}
