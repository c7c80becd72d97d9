//! The items of contents: heads, chunks, uses.

use aws_sdk_dynamodb::primitives::Blob as Bytes;
use aws_sdk_dynamodb::types::AttributeValue;

use super::CHUNK_BYTES;
use crate::contents::{Blob, ContentError, ContentId, Owner};
use crate::dynamodb::{Item, item, names};

/// Where an item stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub partition: String,
    pub sort: String,
}

impl Key {
    pub fn of_head(id: ContentId) -> Self {
        Self { partition: partition_of(id), sort: names::CONTENT_HEAD.to_owned() }
    }

    pub fn of_chunk(id: ContentId, sort_key: &str) -> Self {
        Self { partition: partition_of(id), sort: sort_key.to_owned() }
    }

    /// The use, where the content finds it.
    pub fn of_use(id: ContentId, owner: &Owner) -> Self {
        Self { partition: partition_of(id), sort: format!("{}{}", names::USE_PREFIX, owner.as_str()) }
    }

    /// The use, where the owner finds it.
    pub fn of_used(id: ContentId, owner: &Owner) -> Self {
        Self { partition: partition_of_owner(owner), sort: partition_of(id) }
    }

    /// The two attributes.
    pub fn attributes(self) -> Item {
        [(names::PARTITION_KEY, self.partition), (names::SORT_KEY, self.sort)]
            .map(|(name, text)| (name.to_owned(), AttributeValue::S(text)))
            .into()
    }
}

pub(super) fn partition_of(id: ContentId) -> String {
    format!("{}{id}", names::CONTENT_PREFIX)
}

pub(super) fn partition_of_owner(owner: &Owner) -> String {
    format!("{}{}", names::OWNER_PREFIX, owner.as_str())
}

/// The head of a content, which is written last and deleted first: without it there is no content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub generation: String,
    /// Grows with each put that finds it. Who deletes it does so only where no put came since he looked for uses.
    pub puts: u64,
}

pub(super) fn head(id: ContentId, size: usize, generation: &str) -> Item {
    let more = [
        (names::SIZE, number(size)),
        (names::GENERATION, AttributeValue::S(generation.to_owned())),
        (names::PUTS, number(1)),
    ];
    to_item(Key::of_head(id), names::ENTITY_CONTENT, more)
}

/// The chunks of a content; none for one without bytes.
pub(super) fn chunks<'a>(blob: &'a Blob, generation: &'a str) -> impl Iterator<Item = (String, Item)> + 'a {
    blob.bytes().chunks(CHUNK_BYTES).enumerate().map(move |(at, bytes)| {
        let sort_key = format!("{}{at:04}", prefix_of_chunks(generation));
        let more = [(names::BYTES, AttributeValue::B(Bytes::new(bytes)))];
        let item = to_item(Key::of_chunk(blob.id(), &sort_key), names::ENTITY_CHUNK, more);
        (sort_key, item)
    })
}

/// The use under the content, and under the owner.
pub(super) fn uses(id: ContentId, owner: &Owner, put_id: &str) -> [Item; 2] {
    [Key::of_use(id, owner), Key::of_used(id, owner)].map(|key| {
        let more = [(names::PUT_ID, AttributeValue::S(put_id.to_owned()))];
        to_item(key, names::ENTITY_USE, more)
    })
}

/// What stands under the id of a content, its uses aside.
#[derive(Default)]
pub(super) struct Found {
    pub head: Option<Head>,
    /// Of all generations: of the head's, and of what was never finished.
    chunks: Vec<Item>,
}

impl Found {
    pub fn add(&mut self, item: Item) {
        match text(&item, names::SORT_KEY) {
            Some(names::CONTENT_HEAD) => {
                // A head that says nothing of itself is like one whose chunks are gone.
                let generation = self::generation(&item).unwrap_or_default().to_owned();
                self.head = Some(Head { generation, puts: item::number(&item, names::PUTS).unwrap_or_default() });
            }
            _ => self.chunks.push(item),
        }
    }

    /// The content as the head and its chunks make it.
    pub fn blob(&self, id: ContentId, head: &Head) -> Result<Blob, ContentError> {
        let bytes = |chunk: &'_ Item| Some(chunk.get(names::BYTES)?.as_b().ok()?.as_ref().to_vec());
        let bytes: Vec<u8> = self.of_generation(&head.generation).filter_map(bytes).flatten().collect();
        Blob::verified(id, bytes)
    }

    pub fn sort_keys_of(&self, generation: &str) -> impl Iterator<Item = &str> {
        self.of_generation(generation).filter_map(|chunk| text(chunk, names::SORT_KEY))
    }

    pub fn sort_keys(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().filter_map(|chunk| text(chunk, names::SORT_KEY))
    }

    fn of_generation(&self, generation: &str) -> impl Iterator<Item = &Item> {
        let prefix = prefix_of_chunks(generation);
        self.chunks.iter().filter(move |chunk| text(chunk, names::SORT_KEY).is_some_and(|key| key.starts_with(&prefix)))
    }
}

/// What an owner uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Used {
    pub id: ContentId,
    /// Of the put that said so last.
    pub put_id: String,
}

/// From the item under the owner; `None` for what is no use.
pub(super) fn used(item: &Item) -> Option<Used> {
    let id = text(item, names::SORT_KEY)?.strip_prefix(names::CONTENT_PREFIX)?.parse().ok()?;
    Some(Used { id, put_id: text(item, names::PUT_ID)?.to_owned() })
}

pub(super) fn put_id(item: &Item) -> Option<&str> {
    text(item, names::PUT_ID)
}

pub(super) fn generation(item: &Item) -> Option<&str> {
    text(item, names::GENERATION)
}

fn prefix_of_chunks(generation: &str) -> String {
    format!("{}{generation}#", names::CHUNK_PREFIX)
}

fn to_item<const N: usize>(key: Key, entity: &str, more: [(&str, AttributeValue); N]) -> Item {
    let mut item = key.attributes();
    item.insert(names::ENTITY.to_owned(), AttributeValue::S(entity.to_owned()));
    item.insert(names::VERSION.to_owned(), number(names::SCHEMA_VERSION));
    item.extend(more.map(|(name, value)| (name.to_owned(), value)));
    item
}

pub(super) fn number(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}
