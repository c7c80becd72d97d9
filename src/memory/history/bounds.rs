//! The bounds of [`ToolHistory`]: an old, settled call keeps only the ids that its shortest line contains.

use super::{ToolHistory, ToolUse};

/// The number of latest calls whose arguments and results stay.
pub(super) const LATEST: usize = 200;

impl ToolHistory {
    /// Returns the place of the first of the latest calls.
    pub(super) fn latest(&self) -> usize {
        self.uses.end().saturating_sub(LATEST)
    }

    /// Returns whether a call has only its shortest line. This depends only on the calls of the conversation, so that the
    /// lines are the same after the conversation is read from the log.
    pub(super) fn is_old(&self, place: usize, used: &ToolUse) -> bool {
        place < self.latest() && used.is_settled()
    }

    /// Drops the arguments and results of old calls, except ids.
    pub fn release(&mut self) {
        let latest = self.latest();
        while self.released < latest && self.uses.get(self.released).is_some_and(ToolUse::is_settled) {
            if let Some(used) = self.uses.get_mut(self.released) {
                used.shorten();
            }
            self.released += 1;
        }
    }
}
