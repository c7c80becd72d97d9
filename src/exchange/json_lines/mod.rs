//! JSON Lines of role, content and time: a line for each thing that was said, called for, or given back.
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
//! - `timestamp` is when the message was added, as in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339), in
//!   milliseconds: what is finer is cut off.
//! - `message_id` is the id of the message, or of the [part](crate::message::Part) of a merged one, and `confidence` is
//!   that of the part, where it is known. Both may be missing: then the message gets an id. Lines with one `message_id` in
//!   a row are the contents of one part. Messages of one role in a row are merged again, so that a conversation of which
//!   nothing is lost or left out comes back equal.
//! - `content` is a text, or `image`, `audio` or `video` with one of `content_id` (in a content store), `url` and `data`
//!   (base64), and `mime_type`, `id` and `prompt_hint` where known; several of them, as of an instruction, are a list.
//!   With `data`, a `content_id` is that of the data, and is not kept.
//! - A text may have a `mime_type`, such as `text/markdown`; the model gets the words, and the type is not kept. A text
//!   with a `content_id` and no words is in a content store: it becomes a document, which
//!   [`resolve`](crate::contents::resolve) reads for a model.
//! - A `document` is one of the user's messages: a text, whose `mime_type` is `text/plain` if none is named, or
//!   `{"type":"document"}` with its data as media have it. In other messages it is such a content, with its `title`.
//! - An `assistant` line without `content` says that only tools were called, and adds nothing.
//! - The `content` of a `result` is what a message's is, or `{"type":"json"}` with its data under `json`; a list is
//!   several parts, or none. A failed one has `error`, with `error_type` and `retryable` where known. A content beside an
//!   error is appended to it, because the model gets one text of a failed call.
//!
//! Always left out are fakes, times but the creation of each part, marks, decisions and custom data: only records have
//! them.
//!
//! ```
//! use verbale::exchange::json_lines;
//! use verbale::{MessagesManager, PlainMessage};
//!
//! # fn main() -> Result<(), verbale::exchange::ExchangeError> {
//! let line = r#"{"role":"user","content":{"type":"text","text":"Is it open?"},"timestamp":"2025-11-18T10:30:00Z","message_id":"01KABDA6E06MT7YGHZPM4XYZ3S","confidence":0.93}"#;
//! let manager: MessagesManager<PlainMessage> = json_lines::import(line)?;
//! let export = json_lines::export(&manager);
//! assert_eq!(export.text, format!("{line}\n"));
//! assert!(export.losses.is_empty());
//! # Ok(()) }
//! ```

mod read;
mod write;

use super::error::ExchangeError;
use super::export::{Export, Losses, each_said};
use super::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// Exports the conversation.
///
/// [Losses](Export::losses) are summaries, what was not heard, and bytes in data.
pub fn export<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let (mut lines, mut losses) = (String::new(), Losses::default());
    each_said(manager, &mut losses, |message, contents, losses| write::message(&mut lines, message, &contents, losses));
    losses.beside(lines)
}

/// Imports the conversation of lines in this format, at their times. Empty lines are skipped.
///
/// Returns an error if a line is no JSON, has an unknown role, lacks a key or has an unknown one, if a `message_id` appears
/// twice and not in a row, if lines with one `message_id` differ in their speaker, time or confidence, if something would be
/// lost, such as an image beside an error, or if the conversation refuses a message: one that says nothing, or a result
/// without a call.
pub fn import<W: MessageWrapper>(lines: impl AsRef<[u8]>) -> Result<MessagesManager<W>, ExchangeError> {
    import_with(lines, &ImportOptions::default())
}

/// Imports as [`import`] does, with options. The lines bring their times along.
pub fn import_with<W: MessageWrapper>(
    lines: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    read::lines(options.text(lines.as_ref())?, options)
}
