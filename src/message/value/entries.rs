//! [`Entries`]: values by their keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::{Serialize, Serializer};

use super::Value;

/// Values by their keys, in the order of these.
// Not a `BTreeMap`, which has room for 11 entries where there is one: 600 bytes for each part of a tool's result.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Entries(Vec<(String, Value)>);

impl Entries {
    /// None at all.
    pub(crate) const NONE: &Self = &Self(Vec::new());

    /// Entries in any order; `None` where a key stands twice.
    pub(crate) fn of(mut entries: Vec<(String, Value)>) -> Option<Self> {
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let is_repeated = entries.iter().zip(entries.iter().skip(1)).any(|((a, _), (b, _))| a == b);
        (!is_repeated).then_some(Self(entries))
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    /// Whether there is a value under a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries, in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&String, &Value)> + DoubleEndedIterator + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> + DoubleEndedIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// Puts a value under a key, and gives the one that was there.
    pub(crate) fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        match self.find(&key) {
            Ok(at) => self.0.get_mut(at).map(|(_, before)| std::mem::replace(before, value)),
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Takes the value under a key away.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Value> {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(key))
    }
}

impl From<BTreeMap<String, Value>> for Entries {
    fn from(entries: BTreeMap<String, Value>) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl IntoIterator for Entries {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// How many: the data may be a caller's.
impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entries({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(keys: &[&str]) -> Vec<(String, Value)> {
        keys.iter().map(|key| ((*key).to_owned(), Value::from(*key))).collect()
    }

    #[test]
    fn they_come_in_the_order_of_their_keys() {
        let mut all = Entries::of(entries(&["b", "", "é", "a", "B"])).unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["", "B", "a", "b", "é"]);
        assert_eq!(all.values().map(|value| value.as_str().unwrap()).collect::<Vec<_>>(), ["", "B", "a", "b", "é"]);
        assert!(all == Entries::from(entries(&["a", "b", "é", "B", ""]).into_iter().collect::<BTreeMap<_, _>>()));
        assert_eq!((all.get("c"), all.get("é"), all.contains_key("b")), (None, Some(&"é".into()), true));
        assert_eq!(Entries::of(entries(&["a", "b", "a"])), None);

        assert_eq!(all.insert("aa".to_owned(), Value::Null), None);
        assert_eq!(all.insert("b".to_owned(), Value::Null), Some("b".into()));
        assert_eq!((all.remove("a"), all.remove("a")), (Some("a".into()), None));
        let left: Vec<_> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(left, [("", Some("")), ("B", Some("B")), ("aa", None), ("b", None), ("é", Some("é"))]);
    }
}
