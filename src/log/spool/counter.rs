//! [`Commit`]: the number of a spool's last commit, which a file beside the spool keeps as well.
//!
//! Damage or an old copy can take a database back to an earlier commit, and no checksum within the database detects
//! that. Each commit therefore has a number, and the counter file has the number of the last commit that was reported
//! as successful. The counter is written after the commit. A crash between the two leaves a spool that is newer than
//! its counter, which is valid. A spool that is older than its counter has lost commits.

use sha2::{Digest, Sha256};

use super::error::{Fault, FaultKind};

/// A commit of a spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The random id of the spool.
    pub spool: u64,
    /// The number of the commit. Copies of the spool have the number of their source.
    pub number: u64,
    /// True if the spool has neither pending work nor dead letters.
    pub is_empty: bool,
}

const MAGIC: [u8; 8] = *b"vrblspl1";
/// The bytes of a slot: magic, spool, number, flag, and their hash.
const SLOT: usize = 64;
const HASHED: usize = 32;
/// The distance between the two slots. Writes alternate between them. They are in different blocks of the disk, so that
/// a torn write leaves the older slot intact.
const DISTANCE: usize = 4096;
/// The longest counter file.
pub(crate) const MAX_COUNTER: usize = DISTANCE + SLOT;

impl Commit {
    /// Returns the bytes to write into the counter file, and their offset.
    pub fn to_slot(self) -> (u64, [u8; SLOT]) {
        let mut slot = [0; SLOT];
        let (hashed, hash) = slot.split_at_mut(HASHED);
        let words =
            [MAGIC, self.spool.to_le_bytes(), self.number.to_le_bytes(), u64::from(self.is_empty).to_le_bytes()];
        hashed.copy_from_slice(words.as_flattened());
        hash.copy_from_slice(&Sha256::digest(&*hashed));
        (self.number % 2 * DISTANCE as u64, slot)
    }

    /// Reads a counter file. Returns `None` if it has no slot, because it is new or its first write was torn.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let slots = [0, DISTANCE].into_iter().filter_map(|at| bytes.get(at..)?.get(..SLOT));
        let is_new = slots.clone().flatten().all(|byte| *byte == 0) && bytes.len() <= MAX_COUNTER;
        let newest = slots.filter_map(Self::of_slot).max_by_key(|commit| commit.number);
        if newest.is_none() && !is_new { Err(Fault::of(FaultKind::Counter)) } else { Ok(newest) }
    }

    fn of_slot(slot: &[u8]) -> Option<Self> {
        let (hashed, hash) = slot.split_at_checked(HASHED)?;
        let (words, _) = hashed.as_chunks::<8>();
        let [MAGIC, spool, number, is_empty] = *words else { return None };
        let is_whole = Sha256::digest(hashed).as_slice() == hash;
        let [spool, number, is_empty] = [spool, number, is_empty].map(u64::from_le_bytes);
        is_whole.then_some(Self { spool, number, is_empty: is_empty != 0 })
    }

    /// Returns true if a spool with this last commit has every commit up to the counted one.
    pub fn includes(self, counted: Self) -> bool {
        self.spool == counted.spool && self.number >= counted.number
    }
}
