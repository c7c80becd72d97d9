//! [`TokenPrices`]: the prices of a model's tokens.

/// The prices of a model's tokens, in micro-dollars per million tokens: $3 per million is 3,000,000.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenPrices {
    pub(crate) input: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) output: u64,
}

impl TokenPrices {
    /// Creates the prices of input and output tokens. Cached input tokens cost as much as others.
    pub const fn new(input: u64, output: u64) -> Self {
        Self { input, cache_read: input, cache_write: input, output }
    }

    /// Sets the prices of input tokens that the provider reads from its cache and writes to it.
    #[must_use]
    pub const fn with_cache(self, read: u64, write: u64) -> Self {
        Self { cache_read: read, cache_write: write, ..self }
    }

    /// Returns how much more it costs to write a token to the cache than to read it from there.
    pub(super) fn extra_write(&self) -> u64 {
        self.cache_write.saturating_sub(self.cache_read)
    }
}
