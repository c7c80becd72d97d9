//! [`Places`]: the places of tool calls by their ids, in layers that forks share.

use std::collections::HashMap;
use std::sync::Arc;

use crate::message::ToolCallId;

/// The places of tool calls by their ids.
///
/// A fork shares the maps of its source as immutable layers, which may name calls that the fork does not have. Each layer is
/// less than half as large as the one before it, so a fork copies O(log n) pointers.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    own: HashMap<ToolCallId, usize>,
    /// Oldest first.
    shared: Vec<Arc<HashMap<ToolCallId, usize>>>,
}

impl Places {
    /// Iterates over the places where the call may be, the likeliest first.
    pub fn of(&self, id: &ToolCallId) -> impl Iterator<Item = usize> {
        std::iter::once(&self.own)
            .chain(self.shared.iter().rev().map(|layer| &**layer))
            .filter_map(|it| it.get(id).copied())
    }

    pub fn insert(&mut self, id: ToolCallId, place: usize) {
        self.own.insert(id, place);
    }

    /// Returns places that share all of these. Amortized O(1) over the inserted ones.
    pub fn share(&mut self) -> Self {
        if !self.own.is_empty() {
            let mut last = std::mem::take(&mut self.own);
            while let Some(before) = self.shared.pop_if(|before| before.len() <= 2 * last.len()) {
                let mut all = Arc::unwrap_or_clone(before);
                all.extend(last);
                last = all;
            }
            self.shared.push(Arc::new(last));
        }
        Self { own: HashMap::new(), shared: self.shared.clone() }
    }
}
