//! [`Prices`]: what tokens cost.

use crate::model::Usage;

/// What tokens cost with one model, in micro-dollars a million tokens: 3 $ a million is 3,000,000.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenPrices {
    /// Read, and neither from nor for the cache.
    pub input: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Read, and kept in the provider's cache.
    pub cache_write: u64,
    /// Written.
    pub output: u64,
}

/// What tokens cost in a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prices {
    /// With the model that replies.
    pub turns: TokenPrices,
    /// With the model that summarises.
    pub summaries: TokenPrices,
}

impl TokenPrices {
    /// In micro-dollars, times a million.
    pub(super) fn millionths(&self, usage: &Usage) -> u128 {
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        [
            (usage.input_tokens.saturating_sub(cached), self.input),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
            (usage.output_tokens, self.output),
        ]
        .into_iter()
        .map(|(tokens, price)| u128::from(tokens) * u128::from(price))
        .fold(0, u128::saturating_add)
    }
}
