//! [`Recent`]: a least recently used cache with a size limit.

use std::hash::Hash;

use lru::LruCache;

/// Values by key, each with a size. The least recently used values are removed first.
pub(super) struct Recent<K: Eq + Hash, V> {
    entries: LruCache<K, (V, usize)>,
    size: usize,
    max_size: usize,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    /// Creates a cache for values of `max_size` in total. It never keeps a value that is larger.
    pub fn new(max_size: usize) -> Self {
        Self { entries: LruCache::unbounded(), size: 0, max_size }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn get(&mut self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(value, _)| value)
    }

    pub fn insert(&mut self, key: K, value: V, size: usize) {
        if size > self.max_size {
            return;
        }
        self.size += size;
        if let Some((_, replaced)) = self.entries.put(key, (value, size)) {
            self.size -= replaced;
        }
        while self.size > self.max_size
            && let Some((_, (_, gone))) = self.entries.pop_lru()
        {
            self.size -= gone;
        }
    }

    pub fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        let gone: Vec<K> = self.entries.iter().map(|(key, _)| key).filter(|key| !keep(key)).cloned().collect();
        for key in gone {
            self.size -= self.entries.pop(&key).map_or(0, |(_, size)| size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_goes_first() {
        let mut recent = Recent::new(10);
        recent.insert('a', 1, 4);
        recent.insert('b', 2, 4);
        assert_eq!(recent.get(&'a'), Some(&1));
        recent.insert('c', 3, 4);
        recent.insert('c', 3, 4);
        recent.insert('x', 4, 11);
        assert_eq!(['a', 'b', 'c', 'x'].map(|key| recent.get(&key).copied()), [Some(1), None, Some(3), None]);
        assert_eq!((recent.size(), recent.entries.len()), (8, 2));
        recent.retain(|key| *key != 'a');
        assert_eq!((recent.get(&'a').copied(), recent.size(), recent.entries.len()), (None, 4, 1));
    }
}
