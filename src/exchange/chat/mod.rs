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
//! - A text holds messages of several conversations. An import orders the messages of each conversation by time, and
//!   messages of one time by `input_id` or else `message_id`. The messages are not merged, even if two of one role are
//!   consecutive; the window shows such messages as one.
//! - A message may also be a submitted input: `modality_type` is `chat`. Its `input_id` becomes its id if it has no
//!   `message_id`, and is otherwise kept in the custom data under `chatInputId`. An input may also be in an event,
//!   under `data`; the `scheduled_time` of the event is then the time of an input without a `timestamp`.
//! - A message without any time gets the time of the import, and keeps its place among such messages.
//! - A `message_id` that is a ULID becomes the id of the message. Any other `message_id` is kept in the custom data
//!   under `chatMessageId`, and exported from there. A message without a `message_id` gets a new id.
//! - A missing `conversation_id` is `default`. `metadata` is the custom data of the message.
//! - `content` is a text, or a list of blocks: `text`; `image`, `audio` and `video` with the `source` `url`, `base64`
//!   (under `data`), or `content_id` (in a content store), and `mime_type`, `id` and `prompt_hint` if known; `document`
//!   the same, with a `title`.
//! - `timestamp` is the time at which the message was added, in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339). It
//!   is truncated to milliseconds.
//!
//! ```
//! use verbale::exchange::{ImportOptions, chat};
//! use verbale::{MessagesManager, PlainMessage};
//!
//! # fn main() -> Result<(), verbale::exchange::ExchangeError> {
//! let json = r#"[{"message_id":"m-1","conversation_id":"c-7","role":"user","content":"Is it open?","timestamp":"2024-03-15T10:30:00Z"}]"#;
//! let conversations: Vec<(String, MessagesManager<PlainMessage>)> = chat::import(json, &ImportOptions::default())?;
//! let export = chat::export(conversations.iter().map(|(id, manager)| (id.as_str(), manager)));
//! assert_eq!(export.text, json);
//! assert!(export.losses.is_empty());
//! # Ok(()) }
//! ```

mod read;
mod write;

pub use read::import;
pub use write::export;

/// The key of the custom data that keeps a `message_id` that is not a ULID.
const MESSAGE_ID: &str = "chatMessageId";

/// The key of the custom data that keeps the `input_id` of a message that also has a `message_id`.
const INPUT_ID: &str = "chatInputId";

/// The conversation of a message without a `conversation_id`.
const DEFAULT_CONVERSATION: &str = "default";
