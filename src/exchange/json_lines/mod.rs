//! JSON Lines of role, content and time: one line for each content, tool call and result.
//!
//! ```json
//! {"role":"supervisor","content":{"type":"text","text":"Be brief."},"timestamp":"2025-11-18T10:29:59Z"}
//! {"role":"user","content":{"type":"text","text":"What's the weather in SF?"},"timestamp":"2025-11-18T10:30:00Z"}
//! {"role":"user","content":{"type":"image","content_id":"sha256:abc123"},"timestamp":"2025-11-18T10:30:00Z"}
//! {"role":"document","title":"Terms","content":{"type":"text","text":"…"},"timestamp":"2025-11-18T10:30:00Z"}
//! {"role":"invocation","identifier":"call_123","name":"get_weather","arguments":{"location":"SF"},"timestamp":"2025-11-18T10:30:02Z"}
//! {"role":"result","invocation_id":"call_123","content":{"type":"text","text":"62°F"},"timestamp":"2025-11-18T10:30:03Z"}
//! {"role":"assistant","content":{"type":"text","text":"It is 62°F."},"timestamp":"2025-11-18T10:30:15Z"}
//! ```
//!
//! - `timestamp` is the time at which the message was added, in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339). It
//!   is truncated to milliseconds.
//! - `message_id` is the id of the message, or of the [part](crate::message::Part) of a merged one. `confidence` is the
//!   confidence of the part. Both may be missing; the message then gets a new id. Consecutive lines with one
//!   `message_id` are the contents of one part. Consecutive messages of one role are merged again, so that an import of
//!   an export without losses returns an equal conversation.
//! - `content` is a text, or `image`, `audio` or `video` with one of `content_id` (in a content store), `url` and `data`
//!   (base64), and `mime_type`, `id` and `prompt_hint` if known. Several contents of one line, such as those of an
//!   instruction, are a list. A `content_id` beside `data` is not kept.
//! - A text may have a `mime_type`, such as `text/markdown`. The type is not kept, because the model gets only the text. A
//!   `content_id` without text means that the text is in a content store. It becomes a document, which
//!   [`resolve`](crate::contents::resolve) reads for a model.
//! - A line of role `document` is a message of the user. Its `content` is a text, whose `mime_type` defaults to
//!   `text/plain`, or `{"type":"document"}` with its data as media have it. In lines of other roles, a document is a
//!   content `{"type":"document"}` with its `title`.
//! - An `assistant` line without `content` means that the assistant only called tools. Such a line adds nothing.
//! - The `content` of a `result` is like that of a message, or `{"type":"json"}` with its data under `json`. A list
//!   holds several parts, or none. A failed result has `error`, with `error_type` and `retryable` if known. A content
//!   beside an error is appended to it, because the model gets one text of a failed call.
//! - A line of role `supervisor` or `system` is a system message. An export writes `supervisor`.
//!
//! An export always leaves out fakes, marks, decisions, custom data, and all times but the creation of each part. Only
//! records keep them.
//!
//! ```
//! use verbale::exchange::{ImportOptions, json_lines};
//! use verbale::{MessagesManager, PlainMessage};
//!
//! # fn main() -> Result<(), verbale::exchange::ExchangeError> {
//! let line = r#"{"role":"user","content":{"type":"text","text":"Is it open?"},"timestamp":"2025-11-18T10:30:00Z","message_id":"01KABDA6E06MT7YGHZPM4XYZ3S","confidence":0.93}"#;
//! let manager: MessagesManager<PlainMessage> = json_lines::import(line, &ImportOptions::default())?;
//! let export = json_lines::export(&manager);
//! assert_eq!(export.text, format!("{line}\n"));
//! assert!(export.losses.is_empty());
//! # Ok(()) }
//! ```

mod read;
mod write;

pub use read::import;
pub use write::export;
