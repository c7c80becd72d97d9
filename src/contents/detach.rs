//! [`Offload`]: what of a record goes to the content store, and what stands in its place.

use std::sync::Arc;

use super::heard::{shares, text_content, text_reference};
use super::reference::{ARGUMENTS, ERROR_MESSAGE, JSON, JSON_TYPE, Reference, SIZE, STANDS_FOR, TEXT, TEXT_TYPE, with};
use super::rewrite::Rewrite;
use super::{Blob, ContentError, ContentStore, Owner};
use crate::message::{
    Content, Contents, Document, Map, Outcome, PLACEHOLDER, Record, ResultContent, Role, Source, Text, ToolCall,
    ToolResult, Value,
};

/// What goes to the content store: large texts, system instructions of any size, and all bytes of media and documents.
///
/// ```
/// # use verbale::contents::{MemoryStore, Offload, Owner, hydrate};
/// # use verbale::{MessagesManager, PlainMessage};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("terms and conditions ".repeat(100))?;
/// let records = manager.records();
///
/// let (store, call) = (MemoryStore::default(), Owner::new("CA1")?);
/// let small = Offload::default().offload(&records[0], &store, &call).await?;
/// assert!(serde_json::to_string(&small)?.len() < 500 && store.len() == 1);
/// assert_eq!(hydrate([small], &store).await.records, records);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offload {
    threshold: usize,
}

/// A record with references in place of what goes to the content store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detached {
    /// The record, with its id, revision and metadata.
    pub record: Record,
    /// What it refers to, in its order; what it refers to twice comes twice.
    pub blobs: Vec<Blob>,
}

impl Default for Offload {
    fn default() -> Self {
        Self { threshold: 1_024 }
    }
}

impl Offload {
    /// The same for texts and values of JSON of `bytes` bytes and more; 1,024 by default. A reference takes about 150
    /// bytes, so that nothing is won below.
    #[must_use]
    pub const fn with_threshold(self, bytes: usize) -> Self {
        Self { threshold: bytes }
    }

    /// Puts to the store what belongs there, for the owner, which is the record's call; then gives the record that
    /// refers to it: write the record behind it.
    ///
    /// What is offloaded already stays as it is. Errors: the store failed. What was put by then is there, and no
    /// record refers to it.
    pub async fn offload<S: ContentStore + ?Sized>(
        &self,
        record: &Record,
        store: &S,
        owner: &Owner,
    ) -> Result<Record, ContentError> {
        let Detached { record, blobs } = self.detach(record);
        for blob in &blobs {
            store.put(blob, owner).await?;
        }
        Ok(record)
    }

    /// The same without a store: the record must not be written before the blobs are put.
    pub fn detach(&self, record: &Record) -> Detached {
        // What was heard is counted over all texts: all go or none, and none where some went before.
        let heard = record.heard();
        let went_before = record.contents().iter().any(|content| matches!(text_reference(content), Some((_, Some(_)))));
        let stay = heard.is_some() && went_before;
        let always = record.role() == Role::System;
        let goes = |text: &Text| !stay && (always || text.len() >= self.threshold);
        let heard = heard.filter(|_| record.contents().texts().any(goes));
        let mut shares = heard.map(|heard| shares(heard, record.contents().texts()));

        let mut detaching = Detaching { threshold: self.threshold, blobs: Vec::new() };
        let contents: Contents = record
            .contents()
            .iter()
            .map(|content| match content {
                Content::Text(text) if heard.is_some() || goes(text) => {
                    text_content(detaching.keep(text.as_bytes()), shares.as_mut().and_then(Iterator::next))
                }
                other => detaching.other(other),
            })
            .collect();
        if detaching.blobs.is_empty() {
            return Detached { record: record.clone(), blobs: Vec::new() };
        }
        let mut message = record.rewritten(contents, None, record.metadata().clone());
        message.set_heard(record.heard().filter(|_| heard.is_none()));
        Detached { record: message.into(), blobs: detaching.blobs }
    }
}

struct Detaching {
    threshold: usize,
    blobs: Vec<Blob>,
}

impl Rewrite for Detaching {
    fn source(&mut self, source: &mut Source, beside: &mut Option<Map>) {
        // Where one of the keys has another meaning, the bytes stay.
        let is_taken = beside.as_ref().is_some_and(|map| [SIZE, STANDS_FOR].iter().any(|key| map.get(key).is_some()));
        if let Source::Bytes(bytes) = source
            && !is_taken
        {
            let reference = self.keep(bytes.clone());
            *source = Source::ContentId(reference.id.to_string().into());
            *beside = Some(with(beside.as_ref(), [reference.size_entry()]));
        }
    }

    fn tool_call(&mut self, tool_call: &ToolCall) -> ToolCall {
        let mut tool_call = tool_call.clone();
        if !has(&tool_call.unknown, ARGUMENTS)
            && let Some(reference) = self.json(tool_call.arguments())
        {
            tool_call.unknown = Some(beside(&tool_call.unknown, ARGUMENTS, reference, JSON_TYPE));
            // What every provider takes for arguments.
            tool_call = tool_call.with_arguments(with(None, []).into());
        }
        tool_call
    }

    fn result(&mut self, result: &ToolResult) -> ToolResult {
        let mut unknown = result.unknown.clone();
        let outcome = match result.outcome() {
            Outcome::Success(parts) => Outcome::Success(parts.iter().map(|part| self.part(part)).collect()),
            Outcome::Failure(error) => Outcome::Failure(match error.with_message(PLACEHOLDER) {
                Ok(placeholder) if error.message().len() >= self.threshold && !has(&unknown, ERROR_MESSAGE) => {
                    let reference = self.keep(error.message().as_bytes());
                    unknown = Some(beside(&unknown, ERROR_MESSAGE, reference, TEXT_TYPE));
                    placeholder
                }
                _ => error.clone(),
            }),
        };
        let mut detached = ToolResult::new(result.tool_call_id().clone(), result.name().clone(), outcome);
        detached.unknown = unknown;
        detached
    }
}

impl Detaching {
    fn keep(&mut self, bytes: impl Into<Arc<[u8]>>) -> Reference {
        let blob = Blob::new(bytes);
        let reference = Reference::to(&blob);
        self.blobs.push(blob);
        reference
    }

    fn part(&mut self, part: &ResultContent) -> ResultContent {
        let stand_in = match part {
            ResultContent::Text(text) if text.len() >= self.threshold => {
                Some((self.keep(text.as_bytes()), TEXT, TEXT_TYPE))
            }
            ResultContent::Text(_) | ResultContent::Unknown(_) => None,
            ResultContent::Json(value) => self.json(value).map(|reference| (reference, JSON, JSON_TYPE)),
            ResultContent::Media(media) => return ResultContent::Media(Box::new(self.media(media))),
            ResultContent::Document(document) => return ResultContent::Document(Box::new(self.document(document))),
        };
        match stand_in {
            Some((reference, stands_for, mime_type)) => {
                let source = Source::ContentId(reference.id.to_string().into());
                let mut document = Document::new(source).with_mime_type(mime_type);
                document.unknown = Some(with(None, [reference.size_entry(), (STANDS_FOR, stands_for.into())]));
                ResultContent::Document(Box::new(document))
            }
            None => part.clone(),
        }
    }

    /// A value whose JSON is large, or that cannot be said here; equal values have the same JSON.
    fn json(&mut self, value: &Value) -> Option<Reference> {
        let json = serde_json::to_vec(value).ok().filter(|json| json.len() >= self.threshold)?;
        Some(self.keep(json))
    }
}

fn has(map: &Option<Map>, key: &str) -> bool {
    map.as_ref().is_some_and(|map| map.get(key).is_some())
}

fn beside(unknown: &Option<Map>, key: &'static str, reference: Reference, mime_type: &str) -> Map {
    with(unknown.as_ref(), [(key, with(None, reference.entries(mime_type)).into())])
}
