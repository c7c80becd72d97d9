//! [`Hash`]: a hash of words that is the same in every run and on every machine.

use std::hash::Hasher;

/// The 64-bit FNV-1a hash of the words so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub(super) fn of(word: &str) -> u64 {
        let mut hash = Self::default();
        hash.add(word);
        hash.value()
    }

    pub(super) fn add(&mut self, word: &str) {
        self.write(word.as_bytes());
        self.write_u8(b' ');
    }

    pub(super) const fn value(self) -> u64 {
        self.0
    }
}

impl Hasher for Hash {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
