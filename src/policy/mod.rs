//! [`Policy`]: when to summarise, and at which of the manager's cuts. Sizes in, a choice out: no I/O, no clock, no state.
//!
//! Owns the marks and the estimates of tokens. The manager owns where a turn starts and where a window can be cut.

mod calibrated;
mod sizes;
mod tokens;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

pub use calibrated::Calibrated;
pub use sizes::{CutSize, Size, WindowSizes};
pub use tokens::{CharacterEstimator, TokenEstimator, Tokens};

/// When to summarise, and how much to leave.
///
/// For tokens, for messages, or for both there is a low and a high mark. A window above any high mark is to be
/// summarised; as many of its latest turns stay as fit below all low marks, and [`keep_turns`](Self::with_keep_turns)
/// stay anyway. The gap between the marks keeps a call from being summarised at every turn.
///
/// The marks measure the window: the messages alone, without the system prompt and the tools, which a summary
/// cannot make smaller.
///
/// ```
/// # use verbale::policy::{CharacterEstimator, Policy, WindowSizes};
/// # use verbale::{MessageWrapper, MessagesManager, PlainMessage, Summarizing};
/// fn to_summarise(manager: &MessagesManager<PlainMessage>, policy: &Policy) -> Option<Summarizing> {
///     let (window, cuts) = (manager.messages(), manager.cuts());
///     let window: Vec<_> = window.collect();
///     let places = cuts.iter().map(|cut| (cut.messages(), cut.turns()));
///     let sizes = WindowSizes::of(window.iter().map(|message| message.message()), places, &CharacterEstimator);
///     manager.summarizing_at(cuts.get(policy.choose(&sizes)?)?)
/// }
/// let policy = Policy::default().with_tokens(500..=2_000).with_messages(8..=30).with_keep_turns(3);
/// assert_eq!(to_summarise(&MessagesManager::new(), &policy), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    tokens: Option<Marks<Tokens>>,
    messages: Option<Marks<usize>>,
    keep_turns: usize,
}

/// Where both are set, `low` is at most `high`.
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

/// 1,000 to 4,000 tokens, 12 to 40 messages, 2 turns: a summary about every 15 turns of a phone call.
impl Default for Policy {
    fn default() -> Self {
        Self {
            tokens: Some(Marks::new(Tokens::new(1_000), Tokens::new(4_000))),
            messages: Some(Marks::new(12, 40)),
            keep_turns: 2,
        }
    }
}

impl Policy {
    /// The same with marks in tokens, from the low to the high one. A low mark above the high one is taken down to it.
    #[must_use]
    pub fn with_tokens(mut self, marks: RangeInclusive<u64>) -> Self {
        self.tokens = Some(Marks::new(Tokens::new(*marks.start()), Tokens::new(*marks.end())));
        self
    }

    /// The same with marks in messages, from the low to the high one. A low mark above the high one is taken down
    /// to it.
    #[must_use]
    pub fn with_messages(mut self, marks: RangeInclusive<usize>) -> Self {
        self.messages = Some(Marks::new(*marks.start(), *marks.end()));
        self
    }

    /// The same, however many tokens there are. A policy without any marks never summarises.
    #[must_use]
    pub fn without_tokens(mut self) -> Self {
        self.tokens = None;
        self
    }

    /// The same, however many messages there are. A policy without any marks never summarises.
    #[must_use]
    pub fn without_messages(mut self) -> Self {
        self.messages = None;
        self
    }

    /// The same with a number of latest turns that always stay, whatever their size; 0 means 1.
    #[must_use]
    pub fn with_keep_turns(mut self, keep_turns: usize) -> Self {
        self.keep_turns = keep_turns.max(1);
        self
    }

    /// Chooses a cut, by its index among those measured. `None` if the window is small enough, or what could go is too
    /// little to be worth a summary.
    ///
    /// The window that a chosen cut leaves is not cut again. Where the latest turns alone are above a high mark, `choose`
    /// waits until a quarter of the way between the marks can be saved.
    pub fn choose(&self, sizes: &WindowSizes) -> Option<usize> {
        let window = sizes.window;
        if !self.is_high(window) {
            return None;
        }
        let fitting = sizes.cuts.iter().take_while(|cut| cut.keeps_turns >= self.keep_turns);
        let mut chosen = None;
        for (index, cut) in fitting.enumerate() {
            chosen = Some((index, cut.covers));
            if self.is_low(window.minus(cut.covers)) {
                break;
            }
        }
        chosen.filter(|(_, covers)| self.is_worth_it(window, *covers)).map(|(index, _)| index)
    }

    fn is_high(&self, size: Size) -> bool {
        self.tokens.is_some_and(|marks| size.tokens > marks.high)
            || self.messages.is_some_and(|marks| size.messages > marks.high)
    }

    fn is_low(&self, size: Size) -> bool {
        self.tokens.is_none_or(|marks| size.tokens <= marks.low)
            && self.messages.is_none_or(|marks| size.messages <= marks.low)
    }

    /// Whether, of what is too much, at least a quarter of the gap goes.
    fn is_worth_it(&self, window: Size, covers: Size) -> bool {
        self.tokens.is_some_and(|Marks { low, high }| {
            window.tokens > high && covers.tokens.get() >= (high.get() - low.get()) / 4
        }) || self
            .messages
            .is_some_and(|Marks { low, high }| window.messages > high && covers.messages >= (high - low) / 4)
    }
}
