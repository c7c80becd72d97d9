//! [`redact`]: a record as it may be written.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::found::Found;
use super::{RedactionError, Redactor};
use crate::message::{Content, Contents, Heard, MessageId, Record, Text};

/// What stands between two texts of a message.
const SPACE: &str = " ";

/// The record as it may be written: the same message at the same place and revision, without what `redactor` finds.
/// Where it finds nothing, the same record, which shares its texts.
///
/// - **The texts of a message** are shown joined by a space each, for what is said in one breath often comes in pieces.
///   What was heard of them ends where it did, and before a replacement that it would end in.
/// - **One by one** are shown: titles, prompt hints, MIME types and URLs; the bytes of documents and media that are text
///   by their MIME type, or have none and are UTF-8; arguments, results and errors of tools; custom data; and what a
///   newer writer added. Of values that is each string and each key, however deep, and each number as its digits: one in
///   which something is found becomes a string.
/// - **Not shown**: ids of messages, of tool calls and of contents, and names of tools, for they hold things together;
///   roles, times and attributes; other bytes. What is in a content store is out of reach: redact first.
///
/// A message is looked at by itself. Of a number said over two messages, or written before it was said to its end, the log
/// keeps the parts.
///
/// Errors: the redactor failed, panicked, gave what is no range of its text, or made two keys of a map one; or what it
/// left is no record. Then nothing of it must be written.
pub fn redact(record: &Record, redactor: &dyn Redactor) -> Result<Record, RedactionError> {
    let redacting = Redacting { message_id: record.id(), redactor };
    let said = redacting.said(record)?;
    let metadata = redacting.metadata(record.metadata())?;
    if said.is_none() && metadata.is_none() {
        return Ok(record.clone());
    }
    let (contents, heard) = said.unwrap_or_else(|| (record.contents().clone(), record.heard()));
    let metadata = metadata.unwrap_or_else(|| record.metadata().clone());
    let redacted = Record::from(record.rewritten(contents, heard, metadata));
    // Whoever finds what a record is made of can make another one of it.
    let read = serde_json::to_value(&redacted).and_then(serde_json::from_value::<Record>);
    match read {
        Ok(read) if read == redacted => Ok(redacted),
        _ => Err(RedactionError::NotARecord { message_id: record.id() }),
    }
}

/// A record that is being redacted. What its methods give is `None` where nothing was found.
pub(super) struct Redacting<'a> {
    pub message_id: MessageId,
    pub redactor: &'a dyn Redactor,
}

impl Redacting<'_> {
    pub fn text(&self, text: &str) -> Result<Option<Text>, RedactionError> {
        let found = self.find(text)?;
        Ok((!found.is_empty()).then(|| found.visible_in(text).rewrite(text)))
    }

    fn find(&self, text: &str) -> Result<Found, RedactionError> {
        let message_id = self.message_id;
        // Nothing of ours is in its hands when it panics.
        let found = catch_unwind(AssertUnwindSafe(|| self.redactor.find(text)))
            .map_err(|_| RedactionError::Panicked { message_id })?
            .map_err(|source| RedactionError::Failed { message_id, source })?;
        Found::new(text, found).map_err(|range| RedactionError::NotARange {
            message_id,
            start: range.start,
            end: range.end,
            length: text.len(),
        })
    }

    /// The contents, and what was heard of them.
    fn said(&self, record: &Record) -> Result<Option<(Contents, Option<Heard>)>, RedactionError> {
        let texts: Vec<&Text> = record.contents().texts().collect();
        let found = self.find(&joined(&texts))?;
        let mut start = 0;
        let in_each = texts.iter().map(|text| {
            let span = start..start + text.len();
            start = span.end + SPACE.len();
            found.within(span, text)
        });
        let in_each: Vec<Found> = in_each.collect();
        let heard = record.heard().map(|heard| moved(heard, texts.iter().zip(&in_each)));

        let mut in_each = in_each.iter();
        let contents = self.each(record.contents(), |content| match content {
            Content::Text(text) => {
                let found = in_each.next().filter(|found| !found.is_empty());
                Ok(found.map(|found| Content::Text(found.rewrite(text))))
            }
            other => self.content(other),
        })?;
        Ok(contents.map(|contents| (contents.into(), heard)))
    }
}

/// What was heard of the texts, once what was found in each is replaced.
fn moved<'a>(heard: Heard, texts: impl Iterator<Item = (&'a &'a Text, &'a Found)>) -> Heard {
    let mut left = heard.len();
    let bytes = texts.map(|(text, found)| {
        let share = left.min(text.len());
        left -= share;
        found.moved(share)
    });
    Heard::bytes(bytes.sum(), heard.source())
}

fn joined<'a>(texts: &[&'a Text]) -> Cow<'a, str> {
    match texts {
        [] => Cow::Borrowed(""),
        [one] => Cow::Borrowed(one.as_str()),
        many => Cow::Owned(many.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(SPACE)),
    }
}
