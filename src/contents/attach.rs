//! Replacement of references by the contents that they name.

use super::heard::text_reference;
use super::reference::{
    ARGUMENTS, ERROR_MESSAGE, JSON, JSON_TYPE, Reference, SIZE, STANDS_FOR, TEXT, TEXT_TYPE, without,
};
use super::rewrite::Rewrite;
use super::{Blob, ContentError, ContentId, ContentProblem};
use crate::message::{
    Content, Contents, Heard, Map, Media, MediaKind, Record, ResultContent, Source, Text, ToolCall, ToolResult, Value,
    is_blank,
};

/// Loads the content of a reference.
pub(super) type Load<'a> = dyn FnMut(Reference) -> Result<Blob, ContentError> + 'a;

/// The treatment of media and documents that name a content without a size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BareIds {
    /// The ids belong to the service and stay.
    Keep,
    /// The bytes replace the ids.
    Resolve,
}

/// Returns the record with contents in place of references, and the contents that could not be loaded, whose references
/// stay.
///
/// Every reference is loaded, even if an earlier one fails.
pub(super) fn attach(
    record: &Record,
    bare_ids: BareIds,
    load: &mut Load<'_>,
) -> (Record, Vec<(ContentId, ContentError)>) {
    let mut attaching = Attaching { bare_ids, load, failed: Vec::new() };
    let texts: Vec<Option<(Text, Option<Heard>)>> =
        record.contents().iter().map(|text| attaching.text_at(text)).collect();
    let is_marked = |content: &Content| matches!(text_reference(content), Some((_, Some(_))));
    let marked = record.contents().iter().filter(|content| is_marked(content)).count();
    let shares: Vec<Heard> = texts.iter().flatten().filter_map(|(_, heard)| *heard).collect();
    // The heard part is counted over all texts, so it would be wrong if one of them is missing.
    let all_marked = shares.len() == marked;

    let attached = record.contents().iter().zip(texts).map(|(content, text)| match text {
        Some((text, heard)) if all_marked || heard.is_none() => Content::Text(text),
        _ => attaching.other(content),
    });
    let contents: Contents = attached.collect();
    if contents == *record.contents() {
        return (record.clone(), attaching.failed);
    }
    let heard = shares
        .last()
        .filter(|_| all_marked)
        .map(|last| Heard::new(shares.iter().map(|share| share.bytes()).sum(), last.source()));
    let mut message = record.rewritten(contents, None, record.metadata().clone());
    message.set_heard(heard.or(record.heard()));
    (message.into(), attaching.failed)
}

/// Returns the references of a record, in order.
pub(super) fn references(record: &Record, bare_ids: BareIds) -> Vec<Reference> {
    let mut references = Vec::new();
    attach(record, bare_ids, &mut |reference| {
        references.push(reference);
        Err(ContentProblem::Missing { id: reference.id }.into())
    });
    references
}

struct Attaching<'a, 'b> {
    bare_ids: BareIds,
    load: &'a mut Load<'b>,
    failed: Vec<(ContentId, ContentError)>,
}

impl Rewrite for Attaching<'_, '_> {
    fn source(&mut self, source: &mut Source, beside: &mut Option<Map>) {
        if let Source::ContentId(id) = source
            && let Some(reference) = self.of_source(id, beside.as_ref())
            && let Some(blob) = self.blob(reference)
        {
            *source = Source::Bytes(blob.bytes().clone());
            *beside = without(beside.as_ref(), &[SIZE]);
        }
    }

    fn tool_call(&mut self, tool_call: &ToolCall) -> ToolCall {
        let mut tool_call = tool_call.clone();
        if let Some(reference) = beside(&tool_call.unknown, ARGUMENTS, JSON_TYPE)
            && let Some(arguments) = self.json(reference)
        {
            tool_call.unknown = without(tool_call.unknown.as_ref(), &[ARGUMENTS]);
            tool_call = tool_call.with_arguments(arguments);
        }
        tool_call
    }

    fn result(&mut self, result: &ToolResult) -> ToolResult {
        let mut unknown = result.unknown.clone();
        let mut outcome = result.outcome().clone();
        match &mut outcome {
            Ok(parts) => parts.iter_mut().for_each(|part| self.part(part)),
            Err(error) => {
                if let Some(reference) = beside(&unknown, ERROR_MESSAGE, TEXT_TYPE)
                    && let Some(whole) = self.read(reference, |blob| {
                        let text = std::str::from_utf8(blob.bytes()).ok();
                        let text = text.filter(|text| !is_blank(text));
                        text.map(|text| error.with_message(text)).ok_or("text that is not blank")
                    })
                {
                    *error = whole;
                    unknown = without(unknown.as_ref(), &[ERROR_MESSAGE]);
                }
            }
        }
        let mut attached = ToolResult::new(result.tool_call_id().clone(), result.name().clone(), outcome);
        attached.unknown = unknown;
        attached
    }
}

impl Attaching<'_, '_> {
    fn blob(&mut self, reference: Reference) -> Option<Blob> {
        self.read(reference, Ok)
    }

    fn text(&mut self, reference: Reference) -> Option<Text> {
        self.read(reference, |blob| std::str::from_utf8(blob.bytes()).map(Text::from).map_err(|_| "text in UTF-8"))
    }

    fn json(&mut self, reference: Reference) -> Option<Value> {
        self.read(reference, |blob| serde_json::from_slice(blob.bytes()).map_err(|_| "a value in JSON"))
    }

    fn read<T>(&mut self, reference: Reference, as_type: impl FnOnce(Blob) -> Result<T, &'static str>) -> Option<T> {
        let id = reference.id;
        let loaded = (self.load)(reference).and_then(|blob| reference.check(blob));
        let read = loaded
            .and_then(|blob| as_type(blob).map_err(|expected| ContentProblem::NotAsReferred { id, expected }.into()));
        read.map_err(|error| self.failed.push((id, error))).ok()
    }

    /// Returns the text and its heard part, if the content is a reference to a text.
    fn text_at(&mut self, content: &Content) -> Option<(Text, Option<Heard>)> {
        let (reference, heard) = text_reference(content)?;
        Some((self.text(reference)?, heard))
    }

    fn of_source(&self, id: &Text, beside: Option<&Map>) -> Option<Reference> {
        let bare = || Reference::bare(id).filter(|_| self.bare_ids == BareIds::Resolve);
        Reference::of_source(id, beside).or_else(bare)
    }

    fn part(&mut self, part: &mut ResultContent) {
        match part {
            ResultContent::Media(media) => {
                let stands_for = media.unknown.as_ref().and_then(|map| map.get(STANDS_FOR));
                let Some(stands_for) = stands_for.filter(|_| media.kind == MediaKind::Document) else {
                    **media = self.media(media);
                    return;
                };
                let whole = match (stands_for.as_str(), replacement(media)) {
                    (Some(TEXT), Some(reference)) => self.text(reference).map(ResultContent::Text),
                    (Some(JSON), Some(reference)) => self.json(reference).map(ResultContent::Json),
                    _ => None,
                };
                if let Some(whole) = whole {
                    *part = whole;
                }
            }
            ResultContent::Text(_) | ResultContent::Json(_) | ResultContent::Unknown(_) => {}
        }
    }
}

/// Returns the reference in a document that only replaces another part and has no data of its own.
fn replacement(document: &Media) -> Option<Reference> {
    let Source::ContentId(id) = &document.source else { return None };
    let has_no_more = document.label.is_none() && document.unknown.as_ref()?.len() == 2;
    Reference::of_source(id, document.unknown.as_ref()).filter(|_| has_no_more)
}

fn beside(unknown: &Option<Map>, key: &str, mime_type: &str) -> Option<Reference> {
    Reference::of_map(unknown.as_ref()?.get(key)?.as_map()?, mime_type, &[])
}
