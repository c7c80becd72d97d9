//! [`Offload`]: takes large and binary contents out of a record and leaves references.

use std::sync::Arc;

use super::Blob;
use super::heard::{shares, text_content, text_reference};
use super::reference::{ARGUMENTS, ERROR_MESSAGE, JSON, JSON_TYPE, Reference, SIZE, STANDS_FOR, TEXT, TEXT_TYPE, with};
use super::rewrite::Rewrite;
use crate::message::{
    Content, Contents, Map, Media, MediaKind, PLACEHOLDER, Record, ResultContent, Role, Source, Text, ToolCall,
    ToolResult, Value,
};

/// The rule that selects contents for the store: large texts and JSON values, system instructions of any size, and all
/// bytes of media and documents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offload {
    threshold: usize,
}

impl Default for Offload {
    fn default() -> Self {
        Self { threshold: 1_024 }
    }
}

impl Offload {
    /// Sets the size from which texts and JSON values are taken out, in bytes. The default is 1,024. A reference takes about
    /// 150 bytes, so lower values save nothing.
    pub fn with_threshold(self, bytes: usize) -> Self {
        Self { threshold: bytes }
    }

    /// Returns the record with references, and the contents that they name, in order and with duplicates. Put the contents
    /// before the record is written.
    ///
    /// References of an earlier run stay as they are.
    pub fn detach(&self, record: &Record) -> (Record, Vec<Blob>) {
        // The heard part is counted over all texts, so either all of them are offloaded or none. If an earlier run
        // offloaded some, none are.
        let heard = record.heard();
        let was_offloaded =
            record.contents().iter().any(|content| matches!(text_reference(content), Some((_, Some(_)))));
        let keeps_texts = heard.is_some() && was_offloaded;
        let is_system = record.role() == Role::System;
        let is_offloaded = |text: &Text| !keeps_texts && (is_system || text.len() >= self.threshold);
        let heard = heard.filter(|_| record.contents().texts().any(is_offloaded));
        let mut shares = heard.map(|heard| shares(heard, record.contents().texts()));

        let mut detaching = Detaching { threshold: self.threshold, blobs: Vec::new() };
        let contents: Contents = record
            .contents()
            .iter()
            .map(|content| match content {
                Content::Text(text) if heard.is_some() || is_offloaded(text) => {
                    text_content(detaching.keep(text.as_bytes()), shares.as_mut().and_then(Iterator::next))
                }
                other => detaching.other(other),
            })
            .collect();
        if detaching.blobs.is_empty() {
            return (record.clone(), Vec::new());
        }
        let mut message = record.rewritten(contents, None, record.metadata().clone());
        message.set_heard(record.heard().filter(|_| heard.is_none()));
        (message.into(), detaching.blobs)
    }
}

struct Detaching {
    threshold: usize,
    blobs: Vec<Blob>,
}

impl Rewrite for Detaching {
    fn source(&mut self, source: &mut Source, beside: &mut Option<Map>) {
        // If a newer writer uses one of the keys, the bytes stay.
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
            // An empty map is valid as arguments for every provider.
            tool_call = tool_call.with_arguments(with(None, []).into());
        }
        tool_call
    }

    fn result(&mut self, result: &ToolResult) -> ToolResult {
        let mut unknown = result.unknown.clone();
        let outcome = match result.outcome() {
            Ok(parts) => Ok(parts.iter().map(|part| self.part(part)).collect()),
            Err(error) => Err(if error.message().len() >= self.threshold && !has(&unknown, ERROR_MESSAGE) {
                let reference = self.keep(error.message().as_bytes());
                unknown = Some(beside(&unknown, ERROR_MESSAGE, reference, TEXT_TYPE));
                error.with_message(PLACEHOLDER)
            } else {
                error.clone()
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
        let replacement = match part {
            ResultContent::Text(text) if text.len() >= self.threshold => {
                Some((self.keep(text.as_bytes()), TEXT, TEXT_TYPE))
            }
            ResultContent::Text(_) | ResultContent::Unknown(_) => None,
            ResultContent::Json(value) => self.json(value).map(|reference| (reference, JSON, JSON_TYPE)),
            ResultContent::Media(media) => return ResultContent::Media(Box::new(self.media(media))),
        };
        match replacement {
            Some((reference, stands_for, mime_type)) => {
                let source = Source::ContentId(reference.id.to_string().into());
                let mut document = Media::new(MediaKind::Document, source).with_mime_type(mime_type);
                document.unknown = Some(with(None, [reference.size_entry(), (STANDS_FOR, stands_for.into())]));
                ResultContent::Media(Box::new(document))
            }
            None => part.clone(),
        }
    }

    /// Takes out a value whose JSON is large. Equal values have the same JSON.
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
