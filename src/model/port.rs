//! [`Model`]: the port to a language model, and what it is asked.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use super::{Inference, ModelError, ModelEvent};
use crate::message::{IntoValue, Message, MessageError, Text, ToolName, Value, is_blank};

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

    /// Returns the id under which the provider knows the model, such as `eu.anthropic.claude-sonnet-5`, where there is one.
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

/// One request to a model, in the order in which the model reads it.
///
/// Tools and `system` are the same in every request of a call, and the messages grow at their end, so a provider can cache
/// what it has read of them.
///
/// ```
/// use verbale::model::{Inference, ModelRequest};
///
/// let request = ModelRequest::new(Vec::new())
///     .with_system(["You answer the phone of a bank."])
///     .with_late_system(["The caller was transferred from the branch in Milan."])
///     .with_memory("The caller is Mia. She lost her card.")
///     .with_inference(Inference::default().with_max_tokens(300));
/// assert_eq!(request.system.len(), 1);
/// ```
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The tools that the model may call.
    pub tools: Arc<[ToolSpec]>,
    /// Instructions that are the same in every request of a call. A provider may cache them with the tools.
    pub system: Vec<Text>,
    /// Instructions that were added later. They follow the cached prefix.
    pub late_system: Vec<Text>,
    /// What the model should know of turns that left the window: data, never instructions.
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

    /// Replaces the tools.
    #[must_use]
    pub fn with_tools(self, tools: impl Into<Arc<[ToolSpec]>>) -> Self {
        Self { tools: tools.into(), ..self }
    }

    /// Replaces the instructions that a provider may cache. Blank texts are dropped.
    #[must_use]
    pub fn with_system<T: Into<Text>>(self, instructions: impl IntoIterator<Item = T>) -> Self {
        Self { system: not_blank(instructions).collect(), ..self }
    }

    /// Replaces the instructions that follow the cached prefix. Blank texts are dropped.
    #[must_use]
    pub fn with_late_system<T: Into<Text>>(self, instructions: impl IntoIterator<Item = T>) -> Self {
        Self { late_system: not_blank(instructions).collect(), ..self }
    }

    /// Replaces the memory. A blank text is none.
    #[must_use]
    pub fn with_memory(self, memory: impl Into<Text>) -> Self {
        Self { memory: not_blank([memory]).next(), ..self }
    }

    /// Replaces the inference settings.
    #[must_use]
    pub fn with_inference(self, inference: Inference) -> Self {
        Self { inference, ..self }
    }
}

fn not_blank<T: Into<Text>>(texts: impl IntoIterator<Item = T>) -> impl Iterator<Item = Text> {
    texts.into_iter().map(Into::into).filter(|text: &Text| !is_blank(text))
}

/// Shows counts and lengths, not the words.
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
    /// Errors: a name that Bedrock refuses; a schema whose `type` is not `object`.
    pub fn new(
        name: impl Into<Text>,
        description: impl Into<Text>,
        input_schema: impl IntoValue,
    ) -> Result<Self, MessageError> {
        let input_schema = input_schema.into_value()?;
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
    fn schema_of_arguments_is_an_object_schema() {
        assert!(ToolSpec::new("now", "Tells the time.", json!({"type": "object", "properties": {}})).is_ok());
        for schema in [json!({}), json!({"properties": {}}), json!({"type": "string"}), json!(null), json!([])] {
            assert_eq!(ToolSpec::new("now", "Tells the time.", schema), Err(MessageError::NO_OBJECT_SCHEMA));
        }
    }
}
