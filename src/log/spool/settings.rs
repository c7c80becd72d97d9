//! [`SpoolSettings`]: how large a spool grows, and what its changes survive.

use crate::log::FileDurability;

/// How large a spool grows, and what its changes survive.
///
/// ```
/// use verbale::log::{FileDurability, SpoolSettings};
///
/// let settings = SpoolSettings::default().with_max_bytes(64 << 20).with_durability(FileDurability::Disk);
/// assert_eq!(settings.max_bytes, 64 << 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpoolSettings {
    /// How many bytes of records it holds, as JSON; 1 GiB. Records that find it full go straight to the log. The file is
    /// about twice as large, and shrinks when the spool is closed or opened.
    pub max_bytes: u64,
    /// What a change survives once it is spooled: the process ([`FileDurability::System`]), or the loss of the host as well
    /// ([`FileDurability::Disk`]: an `fdatasync` for each commit, and a commit holds all changes that have gathered).
    pub reach: FileDurability,
}

impl Default for SpoolSettings {
    fn default() -> Self {
        Self { max_bytes: 1 << 30, reach: FileDurability::default() }
    }
}

impl SpoolSettings {
    /// The same with room for so many bytes of records.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The same with another reach.
    #[must_use]
    pub fn with_durability(mut self, reach: FileDurability) -> Self {
        self.reach = reach;
        self
    }
}
