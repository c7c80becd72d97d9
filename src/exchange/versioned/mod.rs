//! The versioned JSON of a list of messages: a text, an instruction, or a tool call with its result, each with its `type`.
//!
//! ```json
//! { "messages": [
//!     {"type": "AgentMessage", "text": "You answer the phone.", "role": "system"},
//!     {"type": "TextMessage", "text": "What's the weather in Paris?", "role": "user"},
//!     {"type": "ToolCallMessage", "message": "I'll check", "tool_name": "get_weather", "tool_call_id": "call_123",
//!      "arguments": {"location": "Paris"}, "result": "Sunny, 22°C", "error": null, "role": "assistant"}],
//!   "version": "1.0" }
//! ```
//!
//! The `message` of a tool call is the assistant's text before it. Further keys:
//!
//! - `"continues": true` marks an item of the same message as the item before it: the second of several parallel calls, a
//!   text after a call, another part of an instruction.
//! - A call without a result has neither `result` nor `error`. A result that comes later, or among words, is a
//!   `ToolResultMessage`: `tool_name`, `tool_call_id`, `result`, `error`, and `role` `user`.
//! - `result` is one text, or data, or `null` for nothing. Of anything else it is `null`, and `result_contents` lists the
//!   parts: each with a `type` that is `text` (with `text`), `json` (with `json`), or one of media and documents.
//! - `error` is the message for the model, with `error_type` and `retryable` where these are known. A `result` beside it is
//!   appended to it.
//! - `ImageMessage`, `AudioMessage`, `VideoMessage` and `DocumentMessage` have one of `url`, `data` (base64) and
//!   `content_id` (in a content store), `mime_type`, `id` and `prompt_hint` or `title` where known, and a `role`.
//!
//! Always left out are ids, times, marks, decisions and custom data: only records have them.
//!
//! ```
//! use verbale::exchange::versioned;
//! use verbale::{MessagesManager, PlainMessage};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut manager = MessagesManager::<PlainMessage>::new();
//! manager.add_user("Hi, there")?;
//! let export = versioned::export(&manager);
//! assert_eq!(export.text, r#"{"messages":[{"type":"TextMessage","text":"Hi, there","role":"user"}],"version":"1.0"}"#);
//! assert!(export.losses.is_empty());
//! let imported: MessagesManager<PlainMessage> = versioned::import(&export.text)?;
//! assert_eq!(versioned::export(&imported), export);
//! # Ok(()) }
//! ```

mod inline;
mod read;
mod write;

use super::error::ExchangeError;
use super::export::{Export, Losses, each_said};
use super::json::Json;
use super::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// Exports the conversation.
///
/// [Losses](Export::losses) are summaries, what was not heard, the ids, times and confidence of the parts of merged messages,
/// and bytes in data.
pub fn export<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    let mut items = write::Items::new(inline::results(manager));
    each_said(manager, &mut losses, |message, contents, losses| items.write(message, &contents, losses));
    let messages = Json::Written(items.into_list());
    losses.beside(Json::object([("messages", Some(messages)), ("version", Some("1.0".into()))]).to_string())
}

/// Imports a conversation.
///
/// Returns an error if the version is another one, if an item has an unknown type, lacks a key or has an unknown one, or if
/// the conversation refuses a message: one that says nothing, or a result without a call.
pub fn import<W: MessageWrapper>(json: impl AsRef<[u8]>) -> Result<MessagesManager<W>, ExchangeError> {
    import_with(json, &ImportOptions::default())
}

/// Imports as [`import`] does, with options.
pub fn import_with<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    options.read(json.as_ref(), |node| read::list(&node, options))
}
