//! [`Reference`]: how a record names a content that is kept elsewhere, and the keys for it.

use std::collections::BTreeMap;

use super::{Blob, ContentError, ContentId};
use crate::message::{Map, Text, Value};

pub(super) const CONTENT_ID: &str = "contentId";
pub(super) const MIME_TYPE: &str = "mimeType";
pub(super) const SIZE: &str = "size";
pub(super) const TYPE: &str = "type";
/// Of a document in a tool's result: what it is a part in place of.
pub(super) const STANDS_FOR: &str = "standsFor";
pub(super) const ARGUMENTS: &str = "argumentsContent";
pub(super) const ERROR_MESSAGE: &str = "messageContent";

pub(super) const TEXT: &str = "text";
pub(super) const JSON: &str = "json";
pub(super) const TEXT_TYPE: &str = "text/plain";
pub(super) const JSON_TYPE: &str = "application/json";

/// A content that is kept elsewhere.
#[derive(Clone, Copy)]
pub(super) struct Reference {
    pub id: ContentId,
    /// Bytes; `None` where a service named the content.
    pub size: Option<u64>,
}

impl Reference {
    pub fn to(blob: &Blob) -> Self {
        Self { id: blob.id(), size: Some(blob.bytes().len() as u64) }
    }

    /// The reference in a source and in what a newer writer would have put beside it; `None` for a service's own ids.
    pub fn of_source(content_id: &Text, beside: Option<&Map>) -> Option<Self> {
        let Value::Number(size) = beside?.get(SIZE)? else { return None };
        Some(Self { id: content_id.parse().ok()?, size: Some(size.as_u64()?) })
    }

    /// The content that a service named by its id.
    pub fn bare(content_id: &Text) -> Option<Self> {
        Some(Self { id: content_id.parse().ok()?, size: None })
    }

    /// The reference in a map that has these keys, the MIME type, and of `others` what it likes: with any more, it is
    /// a newer writer's and says what this version would lose.
    pub fn of_map(map: &Map, mime_type: &str, others: &[&str]) -> Option<Self> {
        let known = |key: &str| [CONTENT_ID, MIME_TYPE, SIZE].contains(&key) || others.contains(&key);
        if map.get(MIME_TYPE)?.as_str() != Some(mime_type) || !map.iter().all(|(key, _)| known(key)) {
            return None;
        }
        Self::of_source(&map.get(CONTENT_ID)?.as_str()?.into(), Some(map))
    }

    // What is written has a size: the one of what was put.
    pub fn size_entry(self) -> (&'static str, Value) {
        (SIZE, self.size.map_or(Value::Null, Value::from))
    }

    pub fn entries(self, mime_type: &str) -> [(&'static str, Value); 3] {
        [(CONTENT_ID, self.id.to_string().into()), (MIME_TYPE, mime_type.into()), self.size_entry()]
    }

    /// Errors: the content is not as large as the record says.
    pub fn check(self, blob: Blob) -> Result<Blob, ContentError> {
        if self.size.is_none_or(|size| blob.bytes().len() as u64 == size) {
            Ok(blob)
        } else {
            Err(ContentError::NotAsReferred { id: self.id, expected: "of the size" })
        }
    }
}

/// A map with these entries too.
pub(super) fn with<const N: usize>(map: Option<&Map>, entries: [(&'static str, Value); N]) -> Map {
    let before = map.into_iter().flat_map(|map| map.iter()).map(|(key, value)| (key.clone(), value.clone()));
    let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value));
    valid(before.chain(entries).collect())
}

/// A map without these keys; none where nothing is left.
pub(super) fn without(map: Option<&Map>, keys: &[&str]) -> Option<Map> {
    let left = map?.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
    let left: BTreeMap<_, _> = left.map(|(key, value)| (key.clone(), value.clone())).collect();
    (!left.is_empty()).then(|| valid(left))
}

#[expect(clippy::expect_used, reason = "what is added is flat, or a map of what is flat")]
fn valid(entries: BTreeMap<String, Value>) -> Map {
    Map::new(entries).expect("a map is as deep as before, and what is added to it two levels at most")
}
