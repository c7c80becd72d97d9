//! [`SpoolSettings`]: the size of a spool and the durability of its changes.

use crate::log::FileDurability;

/// The settings of a [`Spool`](super::Spool): its maximum size and the durability of its changes.
///
/// ```
/// use verbale::log::{FileDurability, SpoolSettings};
///
/// let settings = SpoolSettings::default().with_max_bytes(64 << 20).with_durability(FileDurability::Disk);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpoolSettings {
    pub(super) max_bytes: u64,
    pub(super) durability: FileDurability,
}

impl Default for SpoolSettings {
    fn default() -> Self {
        Self { max_bytes: 1 << 30, durability: FileDurability::default() }
    }
}

impl SpoolSettings {
    /// Sets how many bytes of records the spool holds, as JSON; 1 GiB by default. Records that do not fit go straight to
    /// the log. The file is about twice as large, and shrinks when the spool is closed or opened.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Sets how durable a spooled change is; [`FileDurability::System`] by default. With [`FileDurability::Disk`], each
    /// commit waits for an `fdatasync`; a commit contains all changes that have gathered.
    #[must_use]
    pub fn with_durability(mut self, durability: FileDurability) -> Self {
        self.durability = durability;
        self
    }
}
