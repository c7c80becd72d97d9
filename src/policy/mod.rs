//! [`Policy`]: when to summarize, and where to cut the window. Pure functions: no I/O, no clock, no state.
//!
//! Owns the limits of the window and the estimates of tokens. The manager owns turn starts and possible cuts.

mod calibrated;
mod prices;
mod sizes;
mod tokens;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

pub(crate) use calibrated::Calibrated;
pub use prices::TokenPrices;
use sizes::{CutSize, Size, WindowSizes};
pub use tokens::estimate_tokens;
pub(crate) use tokens::{CharacterEstimator, TokenEstimator, Tokens};

use crate::manager::{Cut, MessagesManager, Summarizing};
use crate::message::{Message, MessageWrapper};

/// When to summarize, and how much of the window to keep.
///
/// A policy has a low and a high mark in tokens, in messages, or in both. A window above any high mark is summarized down
/// to all low marks, but at least the last [`keep_turns`](Self::with_keep_turns) turns stay. The gap between the marks
/// prevents a summary at every turn.
///
/// The marks apply to the messages of the window, without the system prompt and the tools, which a summary cannot shorten.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage, Policy};
/// let manager = MessagesManager::<PlainMessage>::new();
/// let policy = Policy::default().with_tokens(500..=2_000).with_messages(8..=30).with_keep_turns(3);
/// assert_eq!(policy.summarizing(&manager), None); // the window is short
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    tokens: Option<Marks<Tokens>>,
    messages: Option<Marks<usize>>,
    keep_turns: usize,
    memory: Tokens,
    budget: Option<Tokens>,
    prices: Option<TokenPrices>,
}

/// The limits in one measure; `low` is at most `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks<T> {
    low: T,
    high: T,
}

impl<T: Copy + Ord> Marks<T> {
    fn new(low: T, high: T) -> Self {
        Self { low: low.min(high), high }
    }
}

/// Marks of 1,000 and 4,000 tokens and of 8 and 40 messages, and 2 turns to keep. This gives a summary about every 17
/// turns of a phone call.
impl Default for Policy {
    fn default() -> Self {
        Self {
            tokens: Some(Marks::new(Tokens::new(1_000), Tokens::new(4_000))),
            messages: Some(Marks::new(8, 40)),
            keep_turns: 2,
            memory: Tokens::new(800),
            budget: None,
            prices: None,
        }
    }
}

impl Policy {
    /// Sets the low and the high mark in tokens; `None` removes them. A low mark above the high one is lowered to it. A
    /// policy without any marks never summarizes.
    #[must_use]
    pub fn with_tokens(mut self, marks: impl Into<Option<RangeInclusive<u64>>>) -> Self {
        self.tokens = marks.into().map(|marks| Marks::new(Tokens::new(*marks.start()), Tokens::new(*marks.end())));
        self
    }

    /// Sets the low and the high mark in messages; `None` removes them. A low mark above the high one is lowered to it.
    #[must_use]
    pub fn with_messages(mut self, marks: impl Into<Option<RangeInclusive<usize>>>) -> Self {
        self.messages = marks.into().map(|marks| Marks::new(*marks.start(), *marks.end()));
        self
    }

    /// Sets the number of last turns that always stay in the window, whatever their size; 0 means 1.
    #[must_use]
    pub fn with_keep_turns(mut self, keep_turns: usize) -> Self {
        self.keep_turns = keep_turns.max(1);
        self
    }

    /// Sets the maximum length of the memory, in tokens of four bytes; 800 by default, plus 25 for each act. The memory
    /// is also never longer than the turns that it replaces, so a prompt with memory is never longer than the whole
    /// conversation. Turns whose acts need more room than the turns themselves stay in the window.
    ///
    /// Over the maximum, the summary is shortened first, then the results of lookups, then facts, then the details of
    /// acts. Acts whose outcome the caller knows may be shortened to one line per tool, with their ids. No act is left
    /// out.
    #[must_use]
    pub fn with_memory(mut self, tokens: u64) -> Self {
        self.memory = Tokens::new(tokens);
        self
    }

    pub(crate) fn memory(&self) -> Tokens {
        self.memory
    }

    /// Sets the maximum length of a prompt, in estimated tokens: instructions, memory and window together, without the
    /// specifications of tools. `None`, the default, sets no maximum.
    ///
    /// The memory is shortened first, down to the shortest form of its acts, then the window, down to one turn. A
    /// prompt that is still longer is sent and reported as an `OverBudget` event of the conversation.
    #[must_use]
    pub fn with_budget(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.budget = tokens.into().map(Tokens::new);
        self
    }

    pub(crate) fn budget(&self) -> Option<Tokens> {
        self.budget
    }

    /// Sets the prices of the model that answers, so that a summary waits while it costs more than it saves. `None`, the
    /// default, summarizes as soon as a window is above a high mark.
    ///
    /// A summary makes each request smaller, but after it the provider writes the memory and the rest of the window to its
    /// cache again. So a window above a high mark is not summarized until reading the covered messages from the cache has
    /// cost as much as this writing will. If the call continues at its pace, this interval costs least. The price of the
    /// summary itself does not count. Limits of the window and of the budget still apply.
    #[must_use]
    pub fn with_prices(mut self, prices: impl Into<Option<TokenPrices>>) -> Self {
        self.prices = prices.into();
        self
    }

    /// Returns the messages to summarize, by an estimate of the tokens of each message of the window.
    ///
    /// Returns `None` if the window is above no high mark, if no cut leaves the turns to keep, or if a summary would
    /// save less than a quarter of the gap between the marks.
    pub fn summarizing<W: MessageWrapper>(&self, manager: &MessagesManager<W>) -> Option<Summarizing> {
        manager.summarizing_by(|window, cuts| self.choose(window, cuts, Tokens::estimate))
    }

    /// Chooses where to cut the window and returns the index of the cut, like [`summarizing`](Self::summarizing).
    ///
    /// `window` and `cuts` are the arguments of the closure of [`MessagesManager::summarizing_by`]. `tokens` returns
    /// the tokens of a message.
    pub(crate) fn choose(
        &self,
        window: &[&Message],
        cuts: &[Cut],
        tokens: impl Fn(&Message) -> Tokens,
    ) -> Option<usize> {
        let cuts = cuts.iter().map(|cut| (cut.messages, cut.turns));
        self.choose_by_size(&WindowSizes::measure(window.iter().copied(), cuts, tokens))
    }

    fn choose_by_size(&self, sizes: &WindowSizes) -> Option<usize> {
        let window = sizes.window;
        if !self.is_high(window) {
            return None;
        }
        let fitting = sizes.cuts.iter().take_while(|cut| cut.keeps_turns >= self.keep_turns);
        let mut chosen = None;
        for (index, cut) in fitting.enumerate() {
            chosen = Some((index, cut));
            if self.is_low(window.minus(cut.covers)) {
                break;
            }
        }
        let pays = |cut: &CutSize| self.is_worth_it(window, cut.covers) && self.saves_money(window, cut);
        chosen.filter(|(_, cut)| pays(cut)).map(|(index, _)| index)
    }

    fn is_high(&self, size: Size) -> bool {
        self.tokens.is_some_and(|marks| size.tokens > marks.high)
            || self.messages.is_some_and(|marks| size.messages > marks.high)
    }

    fn is_low(&self, size: Size) -> bool {
        self.tokens.is_none_or(|marks| size.tokens <= marks.low)
            && self.messages.is_none_or(|marks| size.messages <= marks.low)
    }

    /// Returns `true` if a cut saves at least a quarter of the gap, in a measure that is above its high mark.
    fn is_worth_it(&self, window: Size, covers: Size) -> bool {
        self.tokens.is_some_and(|Marks { low, high }| {
            window.tokens > high && covers.tokens.get() >= (high.get() - low.get()) / 4
        }) || self
            .messages
            .is_some_and(|Marks { low, high }| window.messages > high && covers.messages >= (high - low) / 4)
    }

    /// Returns whether reading the messages before a cut from the cache has cost as much as writing the rest again will.
    fn saves_money(&self, window: Size, cut: &CutSize) -> bool {
        self.prices.is_none_or(|prices| {
            let rest = window.minus(cut.covers).tokens + self.memory;
            let cost = |tokens: Tokens, price: u64| u128::from(tokens.get()) * u128::from(price);
            cost(cut.sent_again, prices.cache_read) >= cost(rest, prices.extra_write())
        })
    }
}
