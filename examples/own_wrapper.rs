//! A wrapper for a provider that the library does not know: messages as OpenAI's chat API takes them, in JSON.
//!
//! `cargo run --example own_wrapper` needs no network: it prints what would be sent.

use serde_json::{Value as Json, json};
use verbale::message::{Outcome, ResultContent};
use verbale::{Content, Message, MessageId, MessageWrapper, MessagesManager, ToolCall, ToolResult, Value};

/// A message for the chat API. There, each result of a tool is a message of its own: one message becomes several.
#[derive(Debug, Clone)]
struct ChatMessage(Message);

/// The chat API of this example takes text and tool calls.
#[derive(Debug, thiserror::Error)]
#[error("message {0} cannot be said to the chat API: it is not spoken, or holds more than text and tool calls")]
struct NotSayable(MessageId);

impl MessageWrapper for ChatMessage {
    type Raw = Vec<Json>;
    type Error = NotSayable;

    fn wrap(message: Message) -> Self {
        Self(message)
    }

    fn message(&self) -> &Message {
        &self.0
    }

    fn message_mut(&mut self) -> &mut Message {
        &mut self.0
    }

    fn to_raw(&self) -> Result<Vec<Json>, NotSayable> {
        let not_sayable = || NotSayable(self.id());
        let role = Some(self.role()).filter(|role| role.is_spoken()).ok_or_else(not_sayable)?.to_string();
        let (mut raw, mut texts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for content in self.contents() {
            match content {
                Content::Text(text) => texts.push(text.as_str()),
                Content::ToolCall(call) => calls.push(tool_call(call)),
                // Results stand first in a message of the window: right behind the calls, as the API wants it.
                Content::ToolResult(result) => raw.push(tool_result(result).ok_or_else(not_sayable)?),
                _ => return Err(not_sayable()),
            }
        }
        let text = (!texts.is_empty()).then(|| texts.join(" "));
        if !calls.is_empty() {
            raw.push(json!({"role": role, "content": text, "tool_calls": calls}));
        } else if text.is_some() {
            raw.push(json!({"role": role, "content": text}));
        }
        Ok(raw)
    }
}

fn tool_call(call: &ToolCall) -> Json {
    // In this API arguments are JSON in a string.
    let arguments = serde_json::to_string(call.arguments()).unwrap_or_default();
    json!({"id": call.id().as_str(), "type": "function", "function": {"name": call.name().as_str(), "arguments": arguments}})
}

/// `None` for what is neither text nor data.
fn tool_result(result: &ToolResult) -> Option<Json> {
    let told = |content: &ResultContent| match content {
        ResultContent::Text(text) => Some(text.as_str().to_owned()),
        ResultContent::Json(value) => serde_json::to_string(value).ok(),
        _ => None,
    };
    let content = match result.outcome() {
        Outcome::Failure(error) => format!("Error: {}", error.message()),
        Outcome::Success(contents) => contents.iter().map(told).collect::<Option<String>>()?,
    };
    Some(json!({"role": "tool", "tool_call_id": result.tool_call_id().as_str(), "content": content}))
}

#[expect(clippy::print_stdout, reason = "what the example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut manager = MessagesManager::<ChatMessage>::new();
    manager.add_system("You answer the phone of a parcel service.")?; // logged, never in the window
    manager.add_assistant("Good morning, what can I do for you?")?; // a fake user message goes in front
    manager.add_user("Where is my parcel?")?;
    manager.add_user("It has number 17.")?; // merged

    let call = ToolCall::new("call_1", "find_parcel", Value::map([("number", 17)])?)?;
    let found = call.success([Value::map([("city", "Milan"), ("arrives", "today")])?]);
    manager.add_assistant([Content::from("One moment."), call.into()])?;
    manager.add_user([Content::from(found), "Hello?".into()])?;

    for message in manager.to_raw()?.concat() {
        println!("{message}");
    }
    Ok(())
}
