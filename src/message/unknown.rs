//! [`Unknown`]: what a newer writer put in a record.

use std::collections::BTreeMap;

use super::{Text, Value};

/// What a newer writer put in a record and this version does not know, by the level where it stood.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub record: BTreeMap<String, Value>,
    pub message: BTreeMap<String, Value>,
    pub heard: BTreeMap<String, Value>,
    pub metadata: BTreeMap<String, Value>,
    pub forked_from: BTreeMap<String, Value>,
    pub timing: BTreeMap<String, Value>,
    /// Of each part, up to the last one that has any.
    pub parts: Vec<BTreeMap<String, Value>>,
    pub attributes: Vec<Text>,
}

impl Unknown {
    /// The entries of all levels.
    pub fn levels(&self) -> impl Iterator<Item = &BTreeMap<String, Value>> + Clone {
        let levels = [&self.record, &self.message, &self.heard, &self.metadata, &self.forked_from, &self.timing];
        levels.into_iter().chain(&self.parts)
    }

    /// The same, to be changed.
    pub fn levels_mut(&mut self) -> impl Iterator<Item = &mut BTreeMap<String, Value>> {
        let Self { record, message, heard, metadata, forked_from, timing, parts, attributes: _ } = self;
        [record, message, heard, metadata, forked_from, timing].into_iter().chain(parts)
    }
}
