//! Versioned JSON: a list of texts, instructions and tool calls with their results, each with its `type`.
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
//! The `message` of a tool call is the assistant's text before it. More rules:
//!
//! - `"continues": true` marks an item that belongs to the same message as the item before it: the second of several
//!   parallel calls, a text after a call, another part of an instruction.
//! - A call without a result has neither `result` nor `error`. A result that comes later, or among texts, is a
//!   `ToolResultMessage`: `tool_name`, `tool_call_id`, `result`, `error`, and `role` `user`.
//! - `result` is a text if the result is one text, JSON data if the result is one JSON value, and `null` if the result
//!   is empty. For any other result, and for a JSON string or `null`, `result` is `null`, and `result_contents` lists
//!   the parts. Each has the `type` `text` (with `text`), `json` (with `json`), or that of an attachment.
//! - `error` is the message for the model, with `error_type` and `retryable` if known. A `result` beside an `error` is
//!   appended to the message.
//! - `ImageMessage`, `AudioMessage`, `VideoMessage` and `DocumentMessage` have one of `url`, `data` (base64) and
//!   `content_id` (in a content store), `mime_type`, `id` and `prompt_hint` or `title` if known, and a `role`.
//!
//! An export always leaves out ids, times, marks, decisions and custom data. Only records keep them.
//!
//! ```
//! use verbale::exchange::{ImportOptions, versioned};
//! use verbale::{MessagesManager, PlainMessage};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut manager = MessagesManager::<PlainMessage>::new();
//! manager.add_user("Hi, there")?;
//! let export = versioned::export(&manager);
//! assert_eq!(export.text, r#"{"messages":[{"type":"TextMessage","text":"Hi, there","role":"user"}],"version":"1.0"}"#);
//! assert!(export.losses.is_empty());
//! let imported: MessagesManager<PlainMessage> = versioned::import(&export.text, &ImportOptions::default())?;
//! assert_eq!(versioned::export(&imported), export);
//! # Ok(()) }
//! ```

mod inline;
mod read;
mod write;

pub use read::import;
pub use write::export;
