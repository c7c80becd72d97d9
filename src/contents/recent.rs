//! [`Recent`]: what was used last, up to a bound.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Values by key, each of a size; what was used least recently goes first.
pub(super) struct Recent<K, V> {
    entries: HashMap<K, Entry<V>>,
    by_use: BTreeMap<u64, K>,
    uses: u64,
    size: usize,
    max_size: usize,
}

struct Entry<V> {
    last_use: u64,
    size: usize,
    value: V,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    /// Holds values of `max_size` together, and none that is larger.
    pub fn new(max_size: usize) -> Self {
        Self { entries: HashMap::new(), by_use: BTreeMap::new(), uses: 0, size: 0, max_size }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn get(&mut self, key: &K) -> Option<&V> {
        let entry = self.entries.get_mut(key)?;
        self.uses += 1;
        self.by_use.remove(&entry.last_use);
        self.by_use.insert(self.uses, key.clone());
        entry.last_use = self.uses;
        Some(&entry.value)
    }

    pub fn insert(&mut self, key: K, value: V, size: usize) {
        if size > self.max_size {
            return;
        }
        self.remove(&key);
        while self.size + size > self.max_size
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.remove(&oldest);
        }
        self.uses += 1;
        self.size += size;
        self.by_use.insert(self.uses, key.clone());
        self.entries.insert(key, Entry { last_use: self.uses, size, value });
    }

    pub fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        let gone: Vec<K> = self.entries.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| self.remove(key));
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_use.remove(&entry.last_use);
            self.size -= entry.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_least_recently_goes_first() {
        let mut recent = Recent::new(10);
        recent.insert('a', 1, 4);
        recent.insert('b', 2, 4);
        assert_eq!(recent.get(&'a'), Some(&1));
        recent.insert('c', 3, 4);
        recent.insert('c', 3, 4);
        recent.insert('x', 4, 11);
        assert_eq!(['a', 'b', 'c', 'x'].map(|key| recent.get(&key).copied()), [Some(1), None, Some(3), None]);
        assert_eq!((recent.size(), recent.entries.len(), recent.by_use.len()), (8, 2, 2));
        recent.retain(|key| *key != 'a');
        assert_eq!((recent.get(&'a').copied(), recent.size(), recent.by_use.len()), (None, 4, 1));
    }
}
