//! The bounds of [`ToolHistory`]: of an old call that is settled, only what its shortest line says stays.

use super::{ToolHistory, ToolUse};

/// The number of latest calls whose arguments and results stay.
pub(super) const LATEST: usize = 200;

impl ToolHistory {
    /// Returns the place of the first of the latest calls.
    pub(super) fn latest(&self) -> usize {
        self.uses.end().saturating_sub(LATEST)
    }

    /// Returns whether a call has its shortest line alone. Depends only on the calls of the conversation, so that a call
    /// that is read from the log has the same lines.
    pub(super) fn is_old(&self, place: usize, used: &ToolUse) -> bool {
        place < self.latest() && used.is_settled()
    }

    /// Forgets the arguments and results of old calls, but not their ids.
    pub fn release(&mut self) {
        let latest = self.latest();
        while let Some(used) = self.uses.get(self.released).filter(|_| self.released < latest) {
            if !used.is_settled() {
                break;
            }
            if let Some(used) = self.uses.get_mut(self.released) {
                used.shorten();
            }
            self.released += 1;
        }
    }
}
