//! [`SpoolSettings`]: the size of a spool and the durability of its changes.

use super::sealing::SpoolKey;

/// The settings of a [`Spool`](super::Spool): its maximum size, the durability of its changes, and its key.
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
    pub(super) key: Option<SpoolKey>,
}

impl Default for SpoolSettings {
    fn default() -> Self {
        Self { max_bytes: 1 << 30, fsync: false, key: None }
    }
}

impl SpoolSettings {
    /// Sets the maximum size of the spooled records, in bytes of JSON; 1 GiB by default. Records that do not fit go
    /// straight to the log. The file is two to three times as large, and shrinks when the spool is closed or opened.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Sets whether each commit waits for `fdatasync`; off by default. Without it, a spooled change survives the end of
    /// the process; with it, also the loss of the host. A commit contains all changes that have gathered.
    #[must_use]
    pub fn with_fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// Encrypts messages, headers and call ends in the file, with XChaCha20-Poly1305 and a new nonce for each value.
    /// Without a key they are plain JSON. The key is 32 random bytes. It is never printed, and is erased from memory
    /// with the last settings and spool that have it; the caller must erase its own copy.
    ///
    /// Ids of calls and messages, positions, revisions, sizes, and the reasons of dead letters stay readable. A value that
    /// was changed or moved is refused as damaged. [`Spool::open`](super::Spool::open) refuses a spool that has another
    /// key, needs one, or has records without encryption. To change the key, let the writer store all records, then
    /// delete the files of the spool.
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn with_key(mut self, key: &[u8; 32]) -> Self {
        self.key = Some(SpoolKey::new(key));
        self
    }
}
