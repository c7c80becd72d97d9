//! Conversations as JSON Lines of role, content and time: [`export`] and [`import`].

use std::fmt::Write;
use std::io::{self, BufRead};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use crate::clock::{IdSource, ManualClock, read_moment, write_moment};
use crate::manager::{ManagerError, MessagesManager};
use crate::message::{Content, Media, MediaKind, MessageId, PlainMessage, Record, Role, Source, Text, Timing};

/// Why a conversation cannot be read from JSON Lines, or written as such. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The lines cannot be read.
    #[error("line {line} cannot be read")]
    Read {
        /// Its number, from 1.
        line: usize,
        /// Why.
        source: io::Error,
    },
    /// A line that has not the form of a message.
    #[error("line {line} is not a message: {reason}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A message that cannot stand where it stands.
    #[error("the message of line {line} cannot be added")]
    Refused {
        /// Its number, from 1.
        line: usize,
        /// Why.
        source: ManagerError,
    },
    /// A content that the format has no words for.
    #[error("message {id} has {what}, which this format cannot say; export it as records")]
    NotInFormat {
        /// The message.
        id: MessageId,
        /// What kind of content.
        what: &'static str,
    },
}

/// The conversation of records as JSON Lines, one for each content:
///
/// ```json
/// {"role": "user", "content": {"type": "text", "text": "Hi, there"}, "timestamp": "2025-11-18T10:30:00Z"}
/// ```
///
/// `role` is `user`, `assistant` or `supervisor`; `type` is `text`, `image`, `audio` or `video`; media have a
/// `content_id` in place of `text`, and a `mime_type` where it is known; `timestamp` is when the message was added.
/// Fakes and summaries, which nobody said, are left out, and so is what only records can say: ids, timings, marks,
/// custom data, and what was not heard.
///
/// Errors: a content that the format has no words for: a tool call or its result, a document, media that are not in a
/// content store.
pub fn export<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<String, TranscriptError> {
    let mut lines = String::new();
    for record in records.into_iter().filter(|record| record.role() != Role::Summary && !record.is_fake()) {
        let at = write_moment(record.metadata().timing(Timing::Creation).unwrap_or_default());
        for content in record.contents() {
            let content =
                write_content(content).map_err(|what| TranscriptError::NotInFormat { id: record.id(), what })?;
            // By hand, for a map would order its keys by name.
            let role = record.role();
            let written = writeln!(lines, r#"{{"role": "{role}", "content": {content}, "timestamp": "{at}"}}"#);
            debug_assert!(written.is_ok(), "a text takes all that is written to it");
        }
    }
    Ok(lines)
}

fn write_content(content: &Content) -> Result<String, &'static str> {
    let media = match content {
        Content::Text(text) => return Ok(format!(r#"{{"type": "text", "text": {}}}"#, json!(text.as_str()))),
        Content::Media(media) => media,
        Content::Document(_) => return Err("a document"),
        Content::Invocation(_) => return Err("a tool call"),
        Content::InvocationResult(_) => return Err("the result of a tool call"),
        Content::Unknown(_) => return Err("a content of a newer version"),
    };
    let Source::ContentId(id) = &media.source else {
        return Err("media that are not in a content store");
    };
    let mut entries = json!({"type": media.kind.as_str(), "content_id": id.as_str()});
    if let (Some(mime_type), Some(entries)) = (&media.mime_type, entries.as_object_mut()) {
        entries.insert("mime_type".to_owned(), mime_type.as_str().into());
    }
    Ok(entries.to_string())
}

/// The records of a conversation in the form of [`export`], as a manager would have made them: messages of the same
/// role that follow each other are merged, a fake user message opens where an assistant begins. A manager is restored
/// from them, and the call goes on. Empty lines are none.
///
/// Errors: a line that cannot be read or is no message of this form; a text that is in a content store, which is to
/// be put in its place first; a message that says nothing.
pub fn import(lines: impl BufRead, ids: Arc<dyn IdSource>) -> Result<Vec<Record>, TranscriptError> {
    let clock = ManualClock::new(0);
    let mut manager = MessagesManager::<PlainMessage>::with_clock(Arc::new(clock.clone()), ids);
    for (number, text) in (1..).zip(lines.lines()) {
        let text = text.map_err(|source| TranscriptError::Read { line: number, source })?;
        if text.trim().is_empty() {
            continue;
        }
        let (role, at_ms, content) =
            read_line(&text).map_err(|reason| TranscriptError::Line { line: number, reason })?;
        clock.set(at_ms);
        manager.add_message(role, content).map_err(|source| TranscriptError::Refused { line: number, source })?;
    }
    Ok(manager.records())
}

#[derive(Deserialize)]
struct Line {
    role: String,
    content: LineContent,
    timestamp: String,
}

#[derive(Deserialize)]
struct LineContent {
    r#type: String,
    text: Option<Text>,
    content_id: Option<Text>,
    mime_type: Option<Text>,
}

fn read_line(text: &str) -> Result<(Role, i64, Content), &'static str> {
    // The error of serde would quote what it found.
    let line: Line = serde_json::from_str(text)
        .map_err(|_| "it is a JSON object with `role`, `content` (an object with a `type`) and `timestamp`")?;
    let role = match line.role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "supervisor" => Role::Supervisor,
        _ => return Err("`role` is user, assistant or supervisor; others cannot be imported"),
    };
    let at_ms = read_moment(&line.timestamp).ok_or("`timestamp` is as 2025-11-18T10:30:00Z")?;
    let content = line.content;
    let kind = match content.r#type.as_str() {
        "text" => {
            // The document has an empty text beside an id.
            let text = content.text.filter(|_| content.content_id.is_none());
            let text = text.ok_or("its text is in a content store, or missing; put it in the line as `text`")?;
            return Ok((role, at_ms, Content::Text(text)));
        }
        "image" => MediaKind::Image,
        "audio" => MediaKind::Audio,
        "video" => MediaKind::Video,
        _ => return Err("`content.type` is text, image, audio or video"),
    };
    let id = content.content_id.ok_or("media have a `content_id`")?;
    let mut media = Media::new(kind, Source::ContentId(id));
    media.mime_type = content.mime_type;
    Ok((role, at_ms, media.into()))
}

#[cfg(test)]
mod tests;
