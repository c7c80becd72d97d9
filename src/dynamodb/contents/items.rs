//! The items of contents: heads, chunks and uses.

use aws_sdk_dynamodb::primitives::Blob as Bytes;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::contents::{Blob, ContentError, ContentId, Owner};
use crate::dynamodb::{Item, item, names};

/// The most bytes of a content in one item. Leaves room for the keys within the 400 KB of an item.
const CHUNK_BYTES: usize = 350 * 1024;

pub(super) fn partition_of(id: ContentId) -> String {
    format!("{}{id}", names::CONTENT_PREFIX)
}

pub(super) fn partition_of_owner(owner: &Owner) -> String {
    format!("{}{}", names::OWNER_PREFIX, owner.as_str())
}

/// Returns the keys of an item in the partition of a content.
pub(super) fn keys(id: ContentId, sort_key: impl Into<String>) -> Item {
    item::keys(partition_of(id), sort_key)
}

/// Returns the keys of a use in the partition of the content.
pub(super) fn keys_of_use(id: ContentId, owner: &Owner) -> Item {
    keys(id, format!("{}{}", names::USE_PREFIX, owner.as_str()))
}

/// Returns the keys of a use in the partition of the owner.
pub(super) fn keys_of_used(id: ContentId, owner: &Owner) -> Item {
    item::keys(partition_of_owner(owner), partition_of(id))
}

/// The head of a content. It is written last and deleted first, so a content without a head does not exist.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub generation: String,
    /// The number of puts that found this head. A release deletes the head only if the number has not changed since the
    /// release looked for uses.
    pub puts: u64,
}

pub(super) fn head(id: ContentId, size: usize, generation: &str) -> Item {
    let attributes = [
        (names::SIZE, item::number(size)),
        (names::GENERATION, item::text(generation)),
        (names::PUTS, item::number(1)),
    ];
    to_item(keys(id, names::CONTENT_HEAD), names::ENTITY_CONTENT, attributes)
}

/// Returns the chunks of a content with their sort keys. An empty content has none.
pub(super) fn chunks<'a>(blob: &'a Blob, generation: &'a str) -> impl Iterator<Item = (String, Item)> + 'a {
    blob.bytes().chunks(CHUNK_BYTES).enumerate().map(move |(at, bytes)| {
        let sort_key = format!("{}{at:04}", prefix_of_chunks(generation));
        let attributes = [(names::BYTES, AttributeValue::B(Bytes::new(bytes)))];
        let item = to_item(keys(blob.id(), sort_key.as_str()), names::ENTITY_CHUNK, attributes);
        (sort_key, item)
    })
}

/// Returns the two items of a use: in the partition of the content, and in that of the owner.
pub(super) fn uses(id: ContentId, owner: &Owner, put_id: &str) -> [Item; 2] {
    [keys_of_use(id, owner), keys_of_used(id, owner)]
        .map(|keys| to_item(keys, names::ENTITY_USE, [(names::PUT_ID, item::text(put_id))]))
}

/// The head and the chunks in the partition of a content.
#[derive(Default)]
pub(super) struct Found {
    pub head: Option<Head>,
    /// The chunks of the head's generation, and of writes that never finished.
    chunks: Vec<Item>,
}

impl Found {
    pub fn add(&mut self, item: Item) {
        if item::sort_key(&item) == Some(names::CONTENT_HEAD) {
            // A head without a generation counts as one whose chunks are missing.
            let generation = generation(&item).unwrap_or_default().to_owned();
            self.head = Some(Head { generation, puts: item::read_number(&item, names::PUTS).unwrap_or_default() });
        } else {
            self.chunks.push(item);
        }
    }

    /// Assembles the content from the chunks of the head.
    pub fn blob(&self, id: ContentId, head: &Head) -> Result<Blob, ContentError> {
        let bytes = |chunk: &Item| Some(chunk.get(names::BYTES)?.as_b().ok()?.as_ref().to_vec());
        let prefix = prefix_of_chunks(&head.generation);
        let own = self.chunks.iter().filter(|chunk| item::sort_key(chunk).is_some_and(|key| key.starts_with(&prefix)));
        Blob::verified(id, own.filter_map(bytes).flatten().collect::<Vec<u8>>())
    }

    pub fn sort_keys_of(&self, generation: &str) -> impl Iterator<Item = &str> {
        let prefix = prefix_of_chunks(generation);
        self.sort_keys().filter(move |key| key.starts_with(&prefix))
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
