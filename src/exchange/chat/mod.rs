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
//!   order of their ids. Each stays a message of its own, also behind one of the same role: the window shows both as one.
//! - A `message_id` that is a ULID becomes the message's id. Any other is kept in the custom data, under
//!   [`MESSAGE_ID`], and exported from there. A message that has none is given one.
//! - `conversation_id` is `default` where there is none. `metadata` is the custom data of the message.
//! - `content` is a text, or a list of blocks: `text`; `image`, `audio` and `video` with the `source` `url`, `base64`
//!   (under `data`), or `content_id` (in a content store), and `mime_type` and `prompt_hint` where known; `document` the
//!   same, with a `title`.
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

use std::sync::Arc;

use super::export::Export;
use super::{ExchangeError, intake};
use crate::clock::{IdSource, SystemIds};
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// The key of the custom data that keeps the `message_id` of elsewhere.
pub const MESSAGE_ID: &str = "chatMessageId";

/// The conversation of a message that names none.
const DEFAULT_CONVERSATION: &str = "default";

/// The messages of conversations, by their ids, as one list.
///
/// Always left out are times but the first, marks, decisions and fakes. [Losses](Export::losses) are what chat messages
/// have no words for: instructions, summaries, tool calls and their results; what was not heard; bytes and sets in custom
/// data.
pub fn export<'a, W: MessageWrapper + 'a>(
    conversations: impl IntoIterator<Item = (&'a str, &'a MessagesManager<W>)>,
) -> Export {
    write::conversations(conversations)
}

/// The conversations of chat messages, in the order of their ids: of a list, or of an object that has the list under
/// `messages` and whose other keys are not read.
///
/// Errors: no JSON; a message without a key that it needs, or with one that is not known; an unknown role or type of a
/// block; an id twice in one conversation; a message that says nothing; too deep, or too dense. Each names its
/// place.
pub fn import<W: MessageWrapper>(json: impl AsRef<[u8]>) -> Result<Vec<(String, MessagesManager<W>)>, ExchangeError> {
    import_with_ids(json, Arc::new(SystemIds))
}

/// As [`import`], with ids from elsewhere for messages that have none of their own.
pub fn import_with_ids<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    ids: Arc<dyn IdSource>,
) -> Result<Vec<(String, MessagesManager<W>)>, ExchangeError> {
    intake::read_all(json.as_ref(), |reader| read::conversations(reader, ids))
}
