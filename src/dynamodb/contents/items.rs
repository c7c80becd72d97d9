//! The items of contents: heads, chunks and uses.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::primitives::Blob as Bytes;
use aws_sdk_dynamodb::types::AttributeValue;

use super::stored::{Stored, decompressed};
use crate::contents::{Blob, ContentError, ContentId, ContentProblem};
use crate::dynamodb::{Item, item, names};

pub(super) fn partition_of(id: ContentId) -> String {
    format!("{}{id}", names::CONTENT_PREFIX)
}

pub(super) fn partition_of_owner(owner: &str) -> String {
    format!("{}{}", names::OWNER_PREFIX, owner)
}

/// Returns the keys of an item in the partition of a content.
pub(super) fn keys(id: ContentId, sort_key: impl Into<String>) -> Item {
    item::keys(partition_of(id), sort_key)
}

/// Returns the keys of a use in the partition of the content.
pub(super) fn keys_of_use(id: ContentId, owner: &str) -> Item {
    keys(id, format!("{}{}", names::USE_PREFIX, owner))
}

/// Returns the keys of a use in the partition of the owner.
pub(super) fn keys_of_used(id: ContentId, owner: &str) -> Item {
    item::keys(partition_of_owner(owner), partition_of(id))
}

/// The head of a content. It is deleted before its chunks. A content without a head does not exist, and one whose head is
/// uploading is not complete yet.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub generation: String,
    /// The number of puts that found this head. A release deletes the head only if this number has not changed since
    /// the release looked for uses.
    pub puts: u64,
    pub is_uploading: bool,
    /// The hash of the chunks' bytes if they are compressed.
    pub digest: Option<String>,
    /// The number of plain bytes.
    size: usize,
}

impl Head {
    pub fn of_item(item: &Item) -> Self {
        Self {
            // A head without a generation counts as one whose chunks are missing.
            generation: generation(item).unwrap_or_default().to_owned(),
            puts: item::read_number(item, names::PUTS).unwrap_or_default(),
            is_uploading: item.contains_key(names::UPLOADING),
            digest: item::read_text(item, names::ZSTD).map(str::to_owned),
            size: item::read_number(item, names::SIZE).unwrap_or_default(),
        }
    }
}

/// Whether the chunks of a head are all stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    Stored,
    Uploading,
}

pub(super) fn head(blob: &Blob, stored: &Stored, generation: &str, chunks: Chunks) -> Item {
    let attributes = [
        (names::SIZE, item::number(blob.bytes().len())),
        (names::GENERATION, item::text(generation)),
        (names::PUTS, item::number(1)),
    ];
    let mut head = to_item(keys(blob.id(), names::CONTENT_HEAD), names::ENTITY_CONTENT, attributes);
    head.extend(stored.digest().map(|digest| (names::ZSTD.to_owned(), item::text(digest))));
    if chunks == Chunks::Uploading {
        head.insert(names::UPLOADING.to_owned(), AttributeValue::Bool(true));
    }
    head
}

/// Returns the sort key of a chunk.
pub(super) fn sort_key_of_chunk(generation: &str, at: usize) -> String {
    format!("{}{at:04}", prefix_of_chunks(generation))
}

pub(super) fn chunk(id: ContentId, sort_key: &str, bytes: &[u8]) -> Item {
    to_item(keys(id, sort_key), names::ENTITY_CHUNK, [(names::BYTES, AttributeValue::B(Bytes::new(bytes)))])
}

/// Returns the two items of a use: in the partition of the content, and in that of the owner.
pub(super) fn uses(id: ContentId, owner: &str, put_id: &str) -> [Item; 2] {
    [keys_of_use(id, owner), keys_of_used(id, owner)]
        .map(|keys| to_item(keys, names::ENTITY_USE, [(names::PUT_ID, item::text(put_id))]))
}

/// Returns the item of an ended use, in the partition of its owner. It lasts until a sweep, or until it expires.
pub(super) fn ended_use(used: &Used, owner: &str, expires_at_s: i64) -> Item {
    let attributes =
        [(names::PUT_ID, item::text(used.put_id.as_str())), (names::EXPIRES_AT, item::number(expires_at_s))];
    to_item(keys_of_used(used.id, owner), names::ENTITY_USE, attributes)
}

/// The head and the chunks in the partition of a content.
#[derive(Default)]
pub(super) struct Found {
    pub head: Option<Head>,
    /// The chunks of the head's generation, and those of puts that never finished.
    chunks: Vec<Item>,
}

impl Found {
    pub fn add(&mut self, item: Item) {
        if item::sort_key(&item) == Some(names::CONTENT_HEAD) {
            self.head = Some(Head::of_item(&item));
        } else {
            self.chunks.push(item);
        }
    }

    /// Assembles the content from the chunks of the head.
    pub fn blob(&self, id: ContentId, head: &Head) -> Result<Blob, ContentError> {
        let bytes = |chunk: &Item| Some(chunk.get(names::BYTES)?.as_b().ok()?.as_ref().to_vec());
        let prefix = prefix_of_chunks(&head.generation);
        let own = self.chunks.iter().filter(|chunk| item::sort_key(chunk).is_some_and(|key| key.starts_with(&prefix)));
        let stored: Vec<u8> = own.filter_map(bytes).flatten().collect();
        if head.digest.is_none() {
            return Blob::verified(id, stored);
        }
        let corrupt = ContentProblem::Corrupt { id, size: stored.len() };
        decompressed(&stored, head.size).ok_or_else(|| corrupt.into()).and_then(|plain| Blob::verified(id, plain))
    }

    /// Returns the head if the content is complete and intact.
    pub fn complete(&self, id: ContentId) -> Option<&Head> {
        self.head.as_ref().filter(|head| !head.is_uploading && self.blob(id, head).is_ok())
    }

    /// Returns the sort keys of the chunks of a generation, and those of all other chunks, which no head names.
    pub fn split(&self, generation: &str) -> (BTreeSet<String>, BTreeSet<String>) {
        let prefix = prefix_of_chunks(generation);
        self.sort_keys().map(str::to_owned).partition(|key| key.starts_with(&prefix))
    }

    pub fn sort_keys(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().filter_map(item::sort_key)
    }
}

/// A use of a content by an owner.
#[derive(Debug)]
pub(super) struct Used {
    pub id: ContentId,
    /// The last put that wrote the use.
    pub put_id: String,
}

/// Reads a use from an item in the partition of the owner.
pub(super) fn used(item: &Item) -> Option<Used> {
    let id = item::sort_key(item)?.strip_prefix(names::CONTENT_PREFIX)?.parse().ok()?;
    Some(Used { id, put_id: put_id(item)?.to_owned() })
}

pub(super) fn put_id(item: &Item) -> Option<&str> {
    item::read_text(item, names::PUT_ID)
}

pub(super) fn generation(item: &Item) -> Option<&str> {
    item::read_text(item, names::GENERATION)
}

fn prefix_of_chunks(generation: &str) -> String {
    format!("{}{generation}#", names::CHUNK_PREFIX)
}

fn to_item<const N: usize>(keys: Item, entity: &str, attributes: [(&str, AttributeValue); N]) -> Item {
    let mut item = item::of_entity(keys, entity);
    item.extend(attributes.map(|(name, value)| (name.to_owned(), value)));
    item
}
