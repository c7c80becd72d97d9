//! The tool calls of a fork.

use std::collections::BTreeSet;

use super::ToolHistory;
use crate::message::ToolCallId;

impl ToolHistory {
    /// Returns the calls as they are after the first `messages` messages, for a fork. `has_result` returns whether a call
    /// has a result there. Copies no call before the first one that changed later.
    pub fn fork(&mut self, messages: u32, has_result: impl Fn(&ToolCallId) -> bool) -> Self {
        let kept = self.uses.partition_point(|used| used.made() < messages);
        let unchanged = self.changes.partition_point(|change| change.messages <= messages);
        let mut fork = Self {
            uses: self.uses.share(kept),
            places: self.places.share(),
            pending: self.pending.range(..kept).copied().collect(),
            running: BTreeSet::new(),
            changes: self.changes.share(unchanged),
            inherited: kept,
            is_spoken: self.is_spoken,
            released: self.released.min(kept),
        };
        for change in self.changes.range(unchanged..usize::MAX).filter(|change| change.place < kept) {
            fork.update(change.place, |used| match has_result(used.id()) {
                // The report, if any, came after the fork point.
                true => used.set_reported(false),
                false => used.reopen(),
            });
        }
        fork
    }
}
