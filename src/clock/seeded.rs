//! [`Seeded`]: numbers that are the same in every run.
//!
//! Tests include this file with `#[path]`.

use std::sync::atomic::{AtomicU64, Ordering};

/// A [SplitMix64](https://prng.di.unimi.it/splitmix64.c) generator that tasks can share.
#[derive(Debug)]
pub(crate) struct Seeded(AtomicU64);

/// Starts from this seed.
impl From<u64> for Seeded {
    fn from(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Seeded {
    /// Returns the next number.
    pub(crate) fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
