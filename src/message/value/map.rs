//! [`Map`]: entries that are a value.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use super::{Entries, Value, depth_around};
use crate::message::error::MessageError;

/// A map of values that is not nested too deep.
#[derive(Clone, PartialEq, Eq)]
pub struct Map {
    entries: Entries,
    depth: u8,
}

impl Map {
    /// Errors: nested too deep.
    pub fn new(entries: BTreeMap<String, Value>) -> Result<Self, MessageError> {
        Self::of(entries.into())
    }

    /// Errors: nested too deep.
    pub(crate) fn of(entries: Entries) -> Result<Self, MessageError> {
        Ok(Self { depth: depth_around(entries.values())?, entries })
    }

    /// These entries, and those of `defaults` whose keys are not here.
    pub(crate) fn or(mut self, defaults: &Self) -> Self {
        for (key, value) in defaults.iter() {
            if !self.contains_key(key) {
                self.entries.insert(key.clone(), value.clone());
                self.depth = self.depth.max(1 + value.depth());
            }
        }
        self
    }

    pub(super) fn depth(&self) -> u8 {
        self.depth
    }
}

/// No entries.
impl Default for Map {
    fn default() -> Self {
        Self { entries: Entries::default(), depth: 1 }
    }
}

impl Deref for Map {
    type Target = Entries;

    fn deref(&self) -> &Entries {
        &self.entries
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// How many entries: the data may be a caller's.
impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map({} entries)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MAX_DEPTH;

    fn map(key: &str, value: Value) -> Map {
        Map::new([(key.to_owned(), value)].into()).unwrap()
    }

    #[test]
    fn merged_map_is_as_deep_as_its_deepest_value() {
        let deep = (1..MAX_DEPTH).fold(Value::Null, |inner, _| Value::list([inner]).unwrap());
        for merged in [map("a", 1.into()).or(&map("b", deep.clone())), map("b", deep.clone()).or(&map("a", 1.into()))] {
            let expected = Map::new([("a".to_owned(), 1.into()), ("b".to_owned(), deep.clone())].into()).unwrap();
            assert!(merged == expected);
        }
        assert!(Map::default() == Map::new(BTreeMap::new()).unwrap());
    }
}
