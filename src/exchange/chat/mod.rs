//! Chat messages: each with its id, its conversation, its role, its content, its time and its metadata.
//!
//! ```json
//! [ {"message_id": "01JRZJ166J2WRMF990535EVSQS", "conversation_id": "default", "role": "user",
//!    "content": "What's in this image?", "timestamp": "2024-03-15T10:30:00Z", "metadata": {"confidence": 0.93}},
//!   {"message_id": "m-2", "conversation_id": "default", "role": "user",
//!    "content": [{"type": "image", "source": "url", "url": "https://example.com/image.jpg"}],
//!    "timestamp": "2024-03-15T10:30:02Z"} ]
//! ```
//!
//! - A text holds messages of several conversations. They are read in the order of their times, those of one time in the
//!   order of their ids. Each stays a message of its own, also after one of the same role: the window shows both as one.
//! - A message may also be a submitted input: `modality_type` is `chat`; the `input_id` is its id where it has no
//!   `message_id`, and is kept under [`INPUT_ID`] where it has one; without a `timestamp` it has the time of the import,
//!   and keeps its place among such messages. An event has its input under `data`, and its time under `scheduled_time`.
//! - A `message_id` that is a ULID becomes the message's id. Any other is kept in the custom data, under
//!   [`MESSAGE_ID`], and exported from there. A message that has none is given one.
//! - `conversation_id` is `default` where there is none. `metadata` is the custom data of the message.
//! - `content` is a text, or a list of blocks: `text`; `image`, `audio` and `video` with the `source` `url`, `base64`
//!   (under `data`), or `content_id` (in a content store), and `mime_type`, `id` and `prompt_hint` where known; `document`
//!   the same, with a `title`.
//! - `timestamp` is when the message was added, as in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339), in
//!   milliseconds: what is finer is cut off.
//!
//! ```
//! use verbale::exchange::chat;
//! use verbale::{MessagesManager, PlainMessage};
//!
//! # fn main() -> Result<(), verbale::exchange::ExchangeError> {
//! let json = r#"[{"message_id":"m-1","conversation_id":"c-7","role":"user","content":"Is it open?","timestamp":"2024-03-15T10:30:00Z"}]"#;
//! let conversations: Vec<(String, MessagesManager<PlainMessage>)> = chat::import(json)?;
//! let export = chat::export(conversations.iter().map(|(id, manager)| (id.as_str(), manager)));
//! assert_eq!(export.text, json);
//! assert!(export.losses.is_empty());
//! # Ok(()) }
//! ```

mod ids;
mod read;
mod write;

use super::error::ExchangeError;
use super::export::Export;
use super::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// The key of the custom data that keeps the `message_id` of elsewhere.
pub const MESSAGE_ID: &str = "chatMessageId";

/// The key of the custom data that keeps the `input_id` of a message that has a `message_id` too.
pub const INPUT_ID: &str = "chatInputId";

/// The conversation of a message that names none.
const DEFAULT_CONVERSATION: &str = "default";

/// Exports the messages of conversations, by their ids, as one list.
///
/// Always left out are times but the first, marks, decisions and fakes. [Losses](Export::losses) are what chat messages
/// have no words for: instructions, summaries, tool calls and their results; what was not heard; bytes in custom
/// data.
pub fn export<'a, W: MessageWrapper + 'a>(
    conversations: impl IntoIterator<Item = (&'a str, &'a MessagesManager<W>)>,
) -> Export {
    write::conversations(conversations)
}

/// Imports the conversations of chat messages, in the order of their ids: of a list, of an object that has the list under
/// `messages` and whose other keys are skipped, or of one message.
///
/// Returns an error if a message lacks a key or has an unknown one, if a role or the type of a block is unknown, if an id
/// appears twice in one conversation, or if a message says nothing.
pub fn import<W: MessageWrapper>(json: impl AsRef<[u8]>) -> Result<Vec<(String, MessagesManager<W>)>, ExchangeError> {
    import_with(json, &ImportOptions::default())
}

/// Imports as [`import`] does, with options.
pub fn import_with<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<Vec<(String, MessagesManager<W>)>, ExchangeError> {
    options.read(json.as_ref(), |node| read::conversations(&node, options))
}
