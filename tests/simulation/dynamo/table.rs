//! A table: its keys, indexes and items.

use std::collections::BTreeMap;
use std::ops::Bound;

use serde_json::{Value as Json, json};

use super::attribute::{Attribute, Item, MAX_ITEM_BYTES, decoded, item_bytes};
use super::error::ServiceError;
use super::number::Number;

const PARTITION_KEY_BYTES: usize = 2_048;
const SORT_KEY_BYTES: usize = 1_024;

pub struct Table {
    pub name: String,
    pub keys: Keys,
    pub indexes: Vec<Index>,
    pub attribute_definitions: Json,
    /// The attribute of the time to live. No item is deleted, because AWS takes days.
    pub time_to_live: Option<String>,
    partitions: BTreeMap<KeyValue, BTreeMap<KeyValue, Row>>,
}

pub struct Index {
    pub name: String,
    pub keys: Keys,
}

/// The names and types of keys.
#[derive(Clone)]
pub struct Keys {
    pub partition: (String, String),
    pub sort: Option<(String, String)>,
}

struct Row {
    item: Item,
    bytes: usize,
}

/// The value of a key, in the order of DynamoDB.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyValue {
    None,
    Text(String),
    Number(Number),
    Bytes(Vec<u8>),
}

pub type Key = (KeyValue, KeyValue);

impl Table {
    pub fn new(name: String, keys: Keys, indexes: Vec<Index>, attribute_definitions: Json) -> Self {
        Self { name, keys, indexes, attribute_definitions, time_to_live: None, partitions: BTreeMap::new() }
    }

    pub fn get(&self, key: &Key) -> Option<&Item> {
        self.partitions.get(&key.0)?.get(&key.1).map(|row| &row.item)
    }

    /// Writes or deletes an item. Returns the old item and the write units.
    pub fn replace(&mut self, key: Key, item: Option<Item>) -> (Option<Item>, u64) {
        let partition = self.partitions.entry(key.0.clone()).or_default();
        let new = item.map(|item| Row { bytes: item_bytes(&item), item });
        let new_bytes = new.as_ref().map_or(0, |row| row.bytes);
        let (old, new) = match new {
            None => (partition.remove(&key.1), None),
            Some(row) => (partition.insert(key.1.clone(), row), partition.get(&key.1)),
        };
        let mut units = write_units(new_bytes.max(old.as_ref().map_or(0, |row| row.bytes)));
        for index in &self.indexes {
            units += index.write_units(old.as_ref(), new);
        }
        (old.map(|row| row.item), units)
    }

    pub fn drop_partition(&mut self, partition: &str) {
        self.partitions.remove(&KeyValue::Text(partition.to_owned()));
    }

    /// Returns all items, ordered by their keys.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.partitions.values().flat_map(|partition| partition.values().map(|row| &row.item))
    }

    /// Returns the items of a partition with their sizes, ordered by sort key.
    pub fn partition(&self, partition: &KeyValue) -> impl DoubleEndedIterator<Item = (&Item, usize)> {
        let all = (Bound::<&KeyValue>::Unbounded, Bound::Unbounded);
        let rows = self.partitions.get(partition).map(|rows| rows.range::<KeyValue, _>(all));
        rows.into_iter().flatten().map(|(_, row)| (&row.item, row.bytes))
    }

    /// Returns the items of a partition of an index. Items with equal sort keys are ordered by their own keys.
    pub fn index_partition(&self, index: &Index, partition: &Attribute) -> Vec<(&Item, usize)> {
        let rows = self.partitions.values().flat_map(BTreeMap::values);
        let mut found: Vec<_> = rows
            .filter(|row| index.holds(&row.item) && row.item.get(&index.keys.partition.0) == Some(partition))
            .filter_map(|row| Some((index.keys.of(&row.item).ok()?, (&row.item, row.bytes))))
            .collect();
        found.sort_by(|one, other| one.0.1.cmp(&other.0.1));
        found.into_iter().map(|(_, row)| row).collect()
    }

    pub fn index(&self, name: &str) -> Result<&Index, ServiceError> {
        self.indexes
            .iter()
            .find(|index| index.name == name)
            .ok_or_else(|| ServiceError::validation(format!("The table does not have the specified index: {name}")))
    }

    /// Returns the key of an item, and refuses an item that is invalid in this table.
    pub fn check(&self, item: &mut Item, too_large: &str) -> Result<Key, ServiceError> {
        if item.contains_key("") {
            return Err(ServiceError::validation("One or more parameter values are not valid. Empty attribute name"));
        }
        item.values_mut().try_for_each(Attribute::check)?;
        let key = self.keys.of(item)?;
        for index in &self.indexes {
            for (name, kind) in index.keys.all() {
                if let Some(attribute) = item.get(name) {
                    check_index_key(&index.name, name, kind, attribute)?;
                }
            }
        }
        if item_bytes(item) > MAX_ITEM_BYTES {
            return Err(ServiceError::validation(too_large));
        }
        Ok(key)
    }

    pub fn describe(&self) -> Json {
        let indexes: Vec<_> = self
            .indexes
            .iter()
            .map(|index| {
                json!({"IndexName": index.name, "KeySchema": index.keys.describe(), "IndexStatus": "ACTIVE",
                    "Projection": {"ProjectionType": "ALL"}})
            })
            .collect();
        let mut table = json!({
            "TableName": self.name, "TableStatus": "ACTIVE", "KeySchema": self.keys.describe(),
            "AttributeDefinitions": self.attribute_definitions,
            "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}, "ItemCount": self.items().count(),
        });
        if !indexes.is_empty() {
            table["GlobalSecondaryIndexes"] = json!(indexes);
        }
        table
    }
}

impl Index {
    pub fn holds(&self, item: &Item) -> bool {
        self.keys.all().all(|(name, _)| item.contains_key(name))
    }

    /// Returns the units of an index. A change of the index's key is a deletion and a write.
    fn write_units(&self, old: Option<&Row>, new: Option<&Row>) -> u64 {
        let held = |row: Option<&Row>| row.filter(|row| self.holds(&row.item)).map(|row| row.bytes);
        let key = |row: &Row| self.keys.of(&row.item).ok();
        match (held(old), held(new)) {
            (None, None) => 0,
            (Some(bytes), None) | (None, Some(bytes)) => write_units(bytes),
            (Some(_), Some(_)) if old.map(|row| &row.item) == new.map(|row| &row.item) => 0,
            (Some(old_bytes), Some(new_bytes)) if old.and_then(key) == new.and_then(key) => {
                write_units(old_bytes.max(new_bytes))
            }
            (Some(old_bytes), Some(new_bytes)) => write_units(old_bytes) + write_units(new_bytes),
        }
    }
}

impl Keys {
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        [Some(&self.partition), self.sort.as_ref()]
            .into_iter()
            .flatten()
            .map(|(name, kind)| (name.as_str(), kind.as_str()))
    }

    /// Returns the key of a whole item.
    pub fn of(&self, item: &Item) -> Result<Key, ServiceError> {
        let value = |(name, kind): &(String, String), limit| {
            let attribute =
                item.get(name).ok_or_else(|| ServiceError::invalid(format!("Missing the key {name} in the item")))?;
            key_value(name, kind, attribute, limit)
        };
        let partition = value(&self.partition, PARTITION_KEY_BYTES)?;
        Ok((partition, self.sort.as_ref().map_or(Ok(KeyValue::None), |sort| value(sort, SORT_KEY_BYTES))?))
    }

    /// Returns the key of a request, which must have no other attributes.
    pub fn exactly(&self, key: &mut Item) -> Result<Key, ServiceError> {
        let mismatch = || ServiceError::validation("The provided key element does not match the schema");
        key.values_mut().try_for_each(Attribute::check)?;
        if key.len() != self.all().count()
            || !self.all().all(|(name, kind)| key.get(name).is_some_and(|value| value.type_name() == kind))
        {
            return Err(mismatch());
        }
        self.of(key)
    }

    fn describe(&self) -> Json {
        let sort = self.sort.iter().map(|(name, _)| json!({"AttributeName": name, "KeyType": "RANGE"}));
        let partition = json!({"AttributeName": self.partition.0, "KeyType": "HASH"});
        [partition].into_iter().chain(sort).collect()
    }
}

fn key_value(name: &str, kind: &str, attribute: &Attribute, limit: usize) -> Result<KeyValue, ServiceError> {
    if attribute.type_name() != kind {
        let actual = attribute.type_name();
        return Err(ServiceError::invalid(format!("Type mismatch for key {name} expected: {kind} actual: {actual}")));
    }
    let (value, bytes, what) = match attribute {
        Attribute::S(text) => (KeyValue::Text(text.clone()), text.len(), "string"),
        Attribute::N(number) => (KeyValue::Number(Number::parse(number)?), 1, "number"),
        Attribute::B(bytes) => {
            let bytes = decoded(bytes)?;
            (KeyValue::Bytes(bytes.clone()), bytes.len(), "binary")
        }
        _ => return Err(ServiceError::invalid("a key is S, N or B")),
    };
    if bytes == 0 {
        return Err(ServiceError::validation(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an \
             empty {what} value. Key: {name}"
        )));
    }
    if bytes > limit {
        return Err(ServiceError::invalid(if limit == PARTITION_KEY_BYTES {
            format!("Size of hashkey has exceeded the maximum size limit of{limit} bytes")
        } else {
            format!("Aggregated size of all range keys has exceeded the size limit of {limit} bytes")
        }));
    }
    Ok(value)
}

fn check_index_key(index: &str, name: &str, kind: &str, attribute: &Attribute) -> Result<(), ServiceError> {
    if attribute.type_name() != kind {
        let actual = attribute.type_name();
        return Err(ServiceError::invalid(format!(
            "Type mismatch for Index Key {name} Expected: {kind} Actual: {actual} IndexName: {index}"
        )));
    }
    if matches!(attribute, Attribute::S(text) | Attribute::B(text) if text.is_empty()) {
        return Err(ServiceError::validation(format!(
            "One or more parameter values are not valid. A value specified for a secondary index key is not \
             supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: \
             {index}, IndexKey: {name}"
        )));
    }
    Ok(())
}

/// Returns one unit for each started KB.
pub fn write_units(bytes: usize) -> u64 {
    bytes.div_ceil(1_024).max(1) as u64
}
