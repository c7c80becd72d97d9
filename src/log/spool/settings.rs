//! [`SpoolSettings`]: the size of a spool and the durability of its changes.

/// The settings of a [`Spool`](super::Spool): its maximum size and the durability of its changes.
///
/// ```
/// use verbale::log::SpoolSettings;
///
/// let settings = SpoolSettings::default().with_max_bytes(64 << 20).with_fsync(true);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpoolSettings {
    pub(super) max_bytes: u64,
    pub(super) fsync: bool,
}

impl Default for SpoolSettings {
    fn default() -> Self {
        Self { max_bytes: 1 << 30, fsync: false }
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

    /// Sets whether each commit waits for `fdatasync`; off by default. A spooled change without it survives the end of the
    /// process, and with it also the loss of the host. A commit contains all changes that have gathered.
    #[must_use]
    pub fn with_fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }
}
