//! [`redact`]: removes text from a record before it is stored.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Redactor;
use super::found::Found;
use crate::log::{CallHeader, CallId, LogError, LogErrorKind};
use crate::message::{Content, Contents, Heard, MessageId, Record, Text, ToolCall, ToolCallId};

/// Separates the texts of a message when a redactor sees them together.
const SEPARATOR: &str = " ";

const FAILED: &str = "its redactor failed; the source of this error says why";
const PANICKED: &str = "its redactor panicked; return an error instead of panicking";
pub(super) const NOT_A_RECORD: &str = "the redacted record cannot be read back; do not replace keys, types or attributes \
     of a record, and do not use them as replacements";

/// Returns the record in the form that may be stored: the same message at the same position and revision, without the
/// text that `redactor` finds. If the redactor finds nothing, the result equals the record and shares its texts.
///
/// - **The texts of a message** are passed joined by spaces, because one sentence often arrives in pieces. The heard
///   part ends after the same words as before. If it ended within a removed part, it ends before the replacement.
/// - **One by one**, the redactor gets titles, prompt hints, MIME types and URLs; bytes of documents and media that are
///   text by their MIME type or their content, in UTF-8, UTF-16 or an encoding like Latin-1; arguments, results and
///   errors of tools; custom data; and fields of newer writers. A nested value is passed in pieces: each key, each
///   string, and each number as its digits. A number with a redaction becomes a string. Keys that are equal after
///   redaction are numbered.
/// - **The redactor never gets** ids of messages, tool calls and contents, and names of tools, because records refer to
///   each other by them; roles, times and attributes; and other bytes. It cannot reach contents that are already in a
///   content store, so redact before contents are offloaded.
///
/// The [kinds](super::Redaction::new) of the redactions are reported in the record's
/// [metadata](crate::message::Metadata::redacted).
///
/// Each message is redacted alone. A number that is spread over two messages is therefore not found, nor is a number
/// whose first part was written before the caller said the rest.
///
/// ```
/// use verbale::log::{CardNumbers, Redaction, redact};
/// use verbale::{MessagesManager, PlainMessage};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("I am Nadia, my card is 4111 1111")?;
/// manager.add_user("1111 1111")?; // merged
/// let record = redact(&manager.records()[0], &CardNumbers)?;
/// assert!(record.contents().texts().eq(&["I am Nadia, my card is **** ****", "**** 1111"]));
///
/// let names = |text: &str| {
///     let found = text.match_indices("Nadia").map(|(at, name)| Redaction::new("name", at..at + name.len(), "[name]"));
///     Ok(found.collect())
/// };
/// assert!(redact(&record, &names)?.contents().texts().eq(&["I am [name], my card is **** ****", "**** 1111"]));
/// # Ok(()) }
/// ```
///
/// Returns [`Refused`](LogErrorKind::Refused) if the redactor fails, panics or returns an invalid range, or if the
/// result is not a valid record. The record must not be stored then.
pub fn redact(record: &Record, redactor: &dyn Redactor) -> Result<Record, LogError> {
    let redacting = Redacting::new(Subject::Message(record.id()), redactor);
    let contents = redacting.contents(record)?;
    let metadata = redacting.metadata(record.metadata())?;
    if contents.is_none() && metadata.is_none() {
        return Ok(record.clone());
    }
    let (contents, heard) = contents.unwrap_or_else(|| (record.contents().clone(), record.heard()));
    let mut metadata = metadata.unwrap_or_else(|| record.metadata().clone());
    metadata.add_redacted(redacting.kinds.into_inner());
    let redacted = Record::from(record.rewritten(contents, heard, metadata));
    // A redactor may have replaced a key or type of the record's JSON form.
    let read = serde_json::to_value(&redacted).and_then(serde_json::from_value::<Record>);
    match read {
        Ok(read) if read == redacted => Ok(redacted),
        _ => Err(refused(&Subject::Message(record.id()), NOT_A_RECORD)),
    }
}

/// Redacts the attributes of a header.
///
/// Errors are those of [`redact`].
pub(crate) fn redact_header(header: CallHeader, redactor: &dyn Redactor) -> Result<CallHeader, LogError> {
    let redacting = Redacting::new(Subject::Header(header.call_id().clone()), redactor);
    Ok(match redacting.map(header.attributes())? {
        Some(attributes) => header.with_attributes(attributes),
        None => header,
    })
}

/// Returns a tool call with the arguments that the log has. Returns `None` if nothing is redacted, or if the redactor
/// fails, because then the log has no record of the call.
pub(crate) fn redact_call(call: &ToolCall, redactor: &dyn Redactor) -> Option<ToolCall> {
    Redacting::new(Subject::ToolCall(call.id().clone()), redactor).tool_call(call).ok().flatten()
}

/// The redaction of one record, header or tool call. The methods return `None` if nothing changes.
pub(super) struct Redacting<'a> {
    subject: Subject,
    redactor: &'a dyn Redactor,
    /// The kinds of all redactions so far.
    kinds: RefCell<BTreeSet<Text>>,
}

/// The subject of an error.
pub(super) enum Subject {
    Message(MessageId),
    Header(CallId),
    ToolCall(ToolCallId),
}

impl<'a> Redacting<'a> {
    fn new(subject: Subject, redactor: &'a dyn Redactor) -> Self {
        Self { subject, redactor, kinds: RefCell::default() }
    }

    pub fn text(&self, text: &str) -> Result<Option<Text>, LogError> {
        let found = self.find(text)?;
        Ok((!found.is_empty()).then(|| found.visible_in(text).rewrite(text)))
    }

    pub fn find(&self, text: &str) -> Result<Found, LogError> {
        // Unwind safe: the redactor has no access to the state of this crate.
        let found = catch_unwind(AssertUnwindSafe(|| self.redactor.find(text)))
            .map_err(|_| self.refused(PANICKED))?
            .map_err(|source| self.refused(FAILED).with_source(source))?;
        let kinds = found.iter().filter(|found| !found.range.is_empty()).map(|found| found.kind.clone());
        self.kinds.borrow_mut().extend(kinds);
        Found::new(text, found).map_err(|Range { start, end }| {
            self.refused(&format!(
                "its redactor returned the range {start}..{end} for a text of {} bytes; return ranges within the text, on \
                 boundaries of characters",
                text.len()
            ))
        })
    }

    /// Returns the error for a record or header that must not be written.
    pub fn refused(&self, reason: &str) -> LogError {
        refused(&self.subject, reason)
    }

    /// Redacts the contents, and adjusts the heard part.
    fn contents(&self, record: &Record) -> Result<Option<(Contents, Option<Heard>)>, LogError> {
        let texts: Vec<&Text> = record.contents().texts().collect();
        let found = self.find(&joined(&texts))?;
        let mut start = 0;
        let by_text = texts.iter().map(|text| {
            let span = start..start + text.len();
            start = span.end + SEPARATOR.len();
            found.in_part(span, text)
        });
        let by_text: Vec<Found> = by_text.collect();
        let heard = record.heard().map(|heard| adjust_heard(heard, texts.iter().zip(&by_text)));

        let mut by_text = by_text.iter();
        let contents = self.each(record.contents(), |content| match content {
            Content::Text(text) => {
                let found = by_text.next().filter(|found| !found.is_empty());
                Ok(found.map(|found| Content::Text(found.rewrite(text))))
            }
            other => self.content(other),
        })?;
        Ok(contents.map(|contents| (contents.into(), heard)))
    }
}

fn refused(subject: &Subject, reason: &str) -> LogError {
    let text = match subject {
        Subject::Message(id) => format!("message {id} must not be written: {reason}"),
        Subject::Header(call_id) => format!("the attributes of call {call_id} must not be written: {reason}"),
        Subject::ToolCall(id) => format!("tool call {id} must not be written: {reason}"),
    };
    LogError::new(LogErrorKind::Refused, text)
}

/// Returns the heard part of the texts after their redaction.
fn adjust_heard<'a>(heard: Heard, texts: impl Iterator<Item = (&'a &'a Text, &'a Found)>) -> Heard {
    let mut left = heard.bytes();
    let bytes = texts.map(|(text, found)| {
        let share = left.min(text.len());
        left -= share;
        found.map_prefix(share)
    });
    Heard::new(bytes.sum(), heard.source())
}

fn joined<'a>(texts: &[&'a Text]) -> Cow<'a, str> {
    match texts {
        [] => Cow::Borrowed(""),
        [one] => Cow::Borrowed(one.as_str()),
        many => Cow::Owned(many.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(SEPARATOR)),
    }
}
