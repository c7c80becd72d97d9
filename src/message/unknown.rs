//! [`Unknown`]: keys of a record that a newer version wrote.

use std::collections::BTreeMap;

use super::{Text, Value};

/// Keys of a record that a newer version wrote and this version does not know, by their level in the record.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub record: BTreeMap<String, Value>,
    pub message: BTreeMap<String, Value>,
    pub heard: BTreeMap<String, Value>,
    pub metadata: BTreeMap<String, Value>,
    pub forked_from: BTreeMap<String, Value>,
    pub timing: BTreeMap<String, Value>,
    /// One map per part, up to the last part that has unknown keys.
    pub parts: Vec<BTreeMap<String, Value>>,
    pub attributes: Vec<Text>,
}

impl Unknown {
    /// The entries of all levels.
    pub fn levels(&self) -> impl Iterator<Item = &BTreeMap<String, Value>> + Clone {
        let levels = [&self.record, &self.message, &self.heard, &self.metadata, &self.forked_from, &self.timing];
        levels.into_iter().chain(&self.parts)
    }

    /// The entries of all levels, mutable, in the same order as [`levels`](Self::levels).
    pub fn levels_mut(&mut self) -> impl Iterator<Item = &mut BTreeMap<String, Value>> {
        let Self { record, message, heard, metadata, forked_from, timing, parts, attributes: _ } = self;
        [record, message, heard, metadata, forked_from, timing].into_iter().chain(parts)
    }
}
