//! [`Reference`]: the name of a stored content in a record.

use std::collections::BTreeMap;

use super::{Blob, ContentError, ContentId, ContentProblem};
use crate::message::{Map, Text, Value};

pub(super) const CONTENT_ID: &str = "contentId";
pub(super) const MIME_TYPE: &str = "mimeType";
pub(super) const SIZE: &str = "size";
pub(super) const TYPE: &str = "type";
/// The kind of part, text or JSON, that a document in a tool's result replaces.
pub(super) const STANDS_FOR: &str = "standsFor";
pub(super) const ARGUMENTS: &str = "argumentsContent";
pub(super) const ERROR_MESSAGE: &str = "messageContent";

pub(super) const TEXT: &str = "text";
pub(super) const JSON: &str = "json";
pub(super) const TEXT_TYPE: &str = "text/plain";
pub(super) const JSON_TYPE: &str = "application/json";

/// A reference to a content in the store.
#[derive(Clone, Copy)]
pub(super) struct Reference {
    pub id: ContentId,
    /// The size in bytes. `None` if the service, not the library, named the content.
    pub size: Option<u64>,
}

impl Reference {
    pub fn to(blob: &Blob) -> Self {
        Self { id: blob.id(), size: Some(blob.bytes().len() as u64) }
    }

    /// Reads the reference from a source and the `size` beside it. Returns `None` for the service's own ids.
    pub fn of_source(content_id: &Text, beside: Option<&Map>) -> Option<Self> {
        let Value::Number(size) = beside?.get(SIZE)? else { return None };
        Some(Self { id: content_id.parse().ok()?, size: Some(size.as_u64()?) })
    }

    /// Reads a content id that the service wrote, without a size.
    pub fn bare(content_id: &Text) -> Option<Self> {
        Some(Self { id: content_id.parse().ok()?, size: None })
    }

    /// Reads the reference from a map with this MIME type. Returns `None` if the map has keys other than those of a
    /// reference and `others`: a newer writer added them, and this version would lose them.
    pub fn of_map(map: &Map, mime_type: &str, others: &[&str]) -> Option<Self> {
        let known = |key: &str| [CONTENT_ID, MIME_TYPE, SIZE].contains(&key) || others.contains(&key);
        if map.get(MIME_TYPE)?.as_str() != Some(mime_type) || !map.iter().all(|(key, _)| known(key)) {
            return None;
        }
        Self::of_source(&map.get(CONTENT_ID)?.as_str()?.into(), Some(map))
    }

    // The size is `None` only in references that are read, never in those that are written.
    pub fn size_entry(self) -> (&'static str, Value) {
        (SIZE, self.size.map_or(Value::Null, Value::from))
    }

    pub fn entries(self, mime_type: &str) -> [(&'static str, Value); 3] {
        [(CONTENT_ID, self.id.to_string().into()), (MIME_TYPE, mime_type.into()), self.size_entry()]
    }

    /// Returns [`ContentProblem::NotAsReferred`] if the content has another size than the record states.
    pub fn check(self, blob: Blob) -> Result<Blob, ContentError> {
        if self.size.is_none_or(|size| blob.bytes().len() as u64 == size) {
            Ok(blob)
        } else {
            Err(ContentProblem::NotAsReferred { id: self.id, expected: "of the size" }.into())
        }
    }
}

/// Returns a copy of `map` with more entries.
pub(super) fn with<const N: usize>(map: Option<&Map>, entries: [(&'static str, Value); N]) -> Map {
    let before = map.into_iter().flat_map(|map| map.iter()).map(|(key, value)| (key.clone(), value.clone()));
    let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value));
    valid(before.chain(entries).collect())
}

/// Returns a copy of `map` without some keys, or `None` if nothing is left.
pub(super) fn without(map: Option<&Map>, keys: &[&str]) -> Option<Map> {
    let left = map?.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
    let left: BTreeMap<_, _> = left.map(|(key, value)| (key.clone(), value.clone())).collect();
    (!left.is_empty()).then(|| valid(left))
}

#[expect(clippy::expect_used, reason = "added entries are flat, or maps of flat entries")]
fn valid(entries: BTreeMap<String, Value>) -> Map {
    Map::new(entries).expect("added entries have two levels at most, so the map is not too deep")
}
