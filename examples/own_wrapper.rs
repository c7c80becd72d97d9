//! A wrapper for a provider that the library does not support: messages in the JSON of OpenAI's chat API.
//!
//! `cargo run --example own_wrapper` needs no network. It prints the messages that a service would send.

mod shared;

use std::io::{self, Write};
use std::ops::{Deref, DerefMut};
use std::process::ExitCode;

use serde_json::{Value as Json, json};
use verbale::message::ResultContent;
use verbale::{Content, Message, MessageId, MessageWrapper, MessagesManager, ToolCall, ToolResult, Value};

const ABOUT: &str = "Prints the messages of a call as JSON for a chat API, one per line, through a wrapper of its own";

/// A message for the chat API. The API wants each tool result as a message of its own, so one message may become several.
#[derive(Debug, Clone)]
struct ChatMessage(Message);

/// This example supports only text and tool calls.
#[derive(Debug, thiserror::Error)]
#[error("message {0} cannot be sent to the chat API: it is not spoken, or holds more than text and tool calls")]
struct Unsupported(MessageId);

impl MessageWrapper for ChatMessage {
    type Raw = Vec<Json>;
    type Error = Unsupported;

    fn to_raw(&self) -> Result<Vec<Json>, Unsupported> {
        let unsupported = || Unsupported(self.id());
        let role = Some(self.role()).filter(|role| role.is_spoken()).ok_or_else(unsupported)?.to_string();
        let (mut raw, mut texts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for content in self.contents() {
            match content {
                Content::Text(text) => texts.push(text.as_str()),
                Content::ToolCall(call) => calls.push(tool_call(call)),
                // In the window, results come first in a message, directly after their calls, as the API requires.
                Content::ToolResult(result) => raw.push(tool_result(result).ok_or_else(unsupported)?),
                _ => return Err(unsupported()),
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

impl From<Message> for ChatMessage {
    fn from(message: Message) -> Self {
        Self(message)
    }
}

impl Deref for ChatMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.0
    }
}

impl DerefMut for ChatMessage {
    fn deref_mut(&mut self) -> &mut Message {
        &mut self.0
    }
}

fn tool_call(call: &ToolCall) -> Json {
    // The API takes arguments as JSON in a string.
    let arguments = serde_json::to_string(call.arguments()).unwrap_or_default();
    json!({"id": call.id().as_str(), "type": "function", "function": {"name": call.name().as_str(), "arguments": arguments}})
}

/// Returns `None` if the result holds anything but text and data.
fn tool_result(result: &ToolResult) -> Option<Json> {
    let text_of = |content: &ResultContent| match content {
        ResultContent::Text(text) => Some(text.as_str().to_owned()),
        ResultContent::Json(value) => serde_json::to_string(value).ok(),
        _ => None,
    };
    let content = match result.outcome() {
        Err(error) => format!("Error: {}", error.message()),
        Ok(contents) => contents.iter().map(text_of).collect::<Option<String>>()?,
    };
    Some(json!({"role": "tool", "tool_call_id": result.tool_call_id().as_str(), "content": content}))
}

fn main() -> ExitCode {
    shared::run(ABOUT, print_messages)
}

fn print_messages() -> Result<(), Box<dyn std::error::Error>> {
    let mut manager = MessagesManager::<ChatMessage>::new();
    manager.add_system("You answer the phone of a parcel service.")?; // logged, never in the window
    manager.add_assistant("Good morning, what can I do for you?")?; // gets a fake user message before it
    manager.add_user("Where is my parcel?")?;
    manager.add_user("It has number 17.")?; // merged

    let call = ToolCall::new("call_1", "find_parcel", Value::map([("number", 17)])?)?;
    let found = call.success([Value::map([("city", "Milan"), ("arrives", "today")])?]);
    manager.add_assistant([Content::from("One moment."), call.into()])?;
    manager.add_user([Content::from(found), "Hello?".into()])?;

    let mut out = io::stdout();
    for message in manager.to_raw()?.concat() {
        writeln!(out, "{message}")?;
    }
    writeln!(out, "\nLook at `to_raw` in this example: it turns each message of the window into these lines.")?;
    Ok(())
}
