//! [`Map`]: values by their keys.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::ser::{Serialize, Serializer};
use serde::{Deserialize, Deserializer, de};

use super::{Value, checked_depth, depth_around};
use crate::message::error::MessageError;

/// Values by their keys, in the order of the keys.
// Not a `BTreeMap`, which allocates room for 11 entries: 600 bytes for each part of a tool's result.
#[derive(Clone)]
pub struct Map {
    entries: Vec<(String, Value)>,
    depth: u8,
}

impl Map {
    pub(crate) const fn empty() -> Self {
        Self { entries: Vec::new(), depth: 1 }
    }

    /// Creates a map. Returns a [`MessageError`] if it nests more than 32 deep.
    pub fn new(entries: BTreeMap<String, Value>) -> Result<Self, MessageError> {
        Self::data(entries).checked()
    }

    /// Creates the custom data of a message. Its values may nest 32 deep, so the map itself may nest 33 deep.
    pub(crate) fn data(entries: BTreeMap<String, Value>) -> Self {
        Self::from_sorted(entries.into_iter().collect())
    }

    /// Creates a map of entries in any order, whatever its depth. Returns `None` if a key occurs twice.
    pub(crate) fn from_pairs(mut entries: Vec<(String, Value)>) -> Option<Self> {
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        entries.is_sorted_by(|(a, _), (b, _)| a < b).then(|| Self::from_sorted(entries))
    }

    fn from_sorted(entries: Vec<(String, Value)>) -> Self {
        Self { depth: depth_around(entries.iter().map(|(_, value)| value)), entries }
    }

    /// Returns a [`MessageError`] if the map nests more than 32 deep.
    pub(crate) fn checked(self) -> Result<Self, MessageError> {
        checked_depth(self.depth)?;
        Ok(self)
    }

    /// Returns the value of a key, if any.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    /// Returns these entries, and the entries of `defaults` whose keys are not in this map.
    pub(crate) fn or(self, defaults: &Self) -> Self {
        let mut entries: BTreeMap<_, _> = defaults.clone().into_iter().collect();
        entries.extend(self);
        Self::data(entries)
    }

    /// Sets the value of a key and returns the previous one.
    pub(crate) fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        let depth = 1 + value.depth();
        match self.find(&key) {
            Ok(at) => {
                let before = self.entries.get_mut(at).map(|(_, before)| std::mem::replace(before, value));
                self.depth = depth_around(self.entries.iter().map(|(_, value)| value));
                before
            }
            Err(at) => {
                self.entries.reserve_exact(1);
                self.entries.insert(at, (key, value));
                self.depth = self.depth.max(depth);
                None
            }
        }
    }

    pub(super) fn depth(&self) -> u8 {
        self.depth
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(known, _)| known.as_str().cmp(key))
    }
}

/// The entries in the order of their keys.
impl Deref for Map {
    type Target = [(String, Value)];

    fn deref(&self) -> &[(String, Value)] {
        &self.entries
    }
}

/// A map without entries.
impl Default for Map {
    fn default() -> Self {
        Self::empty()
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Map {}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// The entries in the order of their keys.
impl<'a> IntoIterator for &'a Map {
    type Item = (&'a String, &'a Value);
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (String, Value)>, fn(&'a (String, Value)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter().map(|(key, value)| (key, value))
    }
}

/// Writes a map without a tag, even if it looks like one.
impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

/// Reads a map without a tag, even if it looks like one.
impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(BTreeMap::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Shows the number of entries, because the data may be a caller's.
impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map({} entries)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MAX_DEPTH;

    fn map(key: &str, value: impl Into<Value>) -> Map {
        Map::new([(key.to_owned(), value.into())].into()).unwrap()
    }

    fn entries(keys: &[&str]) -> Vec<(String, Value)> {
        keys.iter().map(|key| ((*key).to_owned(), Value::from(*key))).collect()
    }

    #[test]
    fn merged_map_is_as_deep_as_its_deepest_value() {
        let deep = (1..MAX_DEPTH).fold(Value::Null, |inner, _| Value::list([inner]).unwrap());
        for merged in [map("a", 1).or(&map("b", deep.clone())), map("b", deep.clone()).or(&map("a", 1))] {
            let expected = Map::new([("a".to_owned(), 1.into()), ("b".to_owned(), deep.clone())].into()).unwrap();
            assert!(merged == expected);
            assert_eq!(merged.depth(), expected.depth());
        }
        assert!(Map::default() == Map::new(BTreeMap::new()).unwrap());
    }

    #[test]
    fn merged_map_keeps_its_own_values() {
        let merged = map("a", 1).or(&Map::data(BTreeMap::from([("a".into(), 2.into()), ("b".into(), 3.into())])));
        assert!(merged.get("a") == Some(&1.into()) && merged.get("b") == Some(&3.into()));
    }

    #[test]
    fn depth_follows_changes() {
        let list = Value::list([1]).unwrap();
        let mut map = map("a", list.clone());
        assert_eq!(map.depth(), 2);
        map.insert("a".to_owned(), Value::Null);
        assert_eq!(map.depth(), 1);
        map.insert("b".to_owned(), list);
        assert_eq!(map.depth(), 2);
    }

    #[test]
    fn entries_are_in_the_order_of_their_keys() {
        let mut all = Map::from_pairs(entries(&["b", "", "é", "a", "B"])).unwrap();
        let keys: Vec<_> = all.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect();
        assert_eq!(keys, [("", ""), ("B", "B"), ("a", "a"), ("b", "b"), ("é", "é")]);
        assert!(all == Map::data(entries(&["a", "b", "é", "B", ""]).into_iter().collect()));
        assert_eq!((all.get("c"), all.get("é")), (None, Some(&"é".into())));
        assert_eq!(Map::from_pairs(entries(&["a", "b", "a"])), None);

        assert_eq!(all.insert("aa".to_owned(), Value::Null), None);
        assert_eq!(all.insert("b".to_owned(), Value::Null), Some("b".into()));
        let left: Vec<_> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(
            left,
            [("", Some("")), ("B", Some("B")), ("a", Some("a")), ("aa", None), ("b", None), ("é", Some("é"))]
        );
    }
}
