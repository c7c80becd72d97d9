//! [`Policy`]: when to summarise and where to cut. Measurements in, a decision out: no I/O, no clock, no state.
//!
//! Owns the marks, the turns and the estimates of tokens. Never changes a conversation: the manager does.

mod calibrated;
mod tokens;
mod turns;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

pub use calibrated::Calibrated;
pub use tokens::{CharacterEstimator, TokenEstimator, Tokens};

use crate::message::Message;
use turns::{Size, Turns};

/// When to summarise, and how much to leave.
///
/// For tokens, for messages, or for both there is a low and a high mark. A window above any high mark is to be
/// summarised; as many of its latest turns stay as fit below all low marks, and [`keep_turns`](Self::with_keep_turns)
/// stay anyway. The gap between the marks is what keeps a call from being summarised at every turn.
///
/// A turn starts at a user message that says something, not one of tool results alone, and goes on until the next
/// such message. A cut is at the start of a turn, and never between a tool call and its result, however late the
/// result came.
///
/// The marks measure the window: the messages alone, without the system prompt and the tools, which a summary
/// cannot make smaller.
///
/// ```
/// # use verbale::policy::{CharacterEstimator, Decision, Policy};
/// # use verbale::Message;
/// let policy = Policy::default().with_tokens(500..=2_000).with_messages(8..=30).with_keep_turns(3);
/// let window: [Message; 0] = [];
/// assert_eq!(policy.decide(&window, &CharacterEstimator), Decision::Wait);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    tokens: Option<Marks<Tokens>>,
    messages: Option<Marks<usize>>,
    keep_turns: usize,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: the window is small enough, or what could be covered is too little to be worth a summary.
    Wait,
    /// Summarise all but the latest turns.
    Summarize {
        /// How many of the latest turns stay in the window; 1 or more.
        keep_turns: usize,
    },
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

    /// What to do about `window`, the messages that the model would get now, in their order. System instructions and
    /// summaries among them are passed over, so that the part of the list that no summary covers will do as well.
    ///
    /// A cut as decided leaves a window about which the decision is to wait. Where the latest turns alone are above
    /// a high mark, it waits until a quarter of the way between the marks can be saved. O(window).
    pub fn decide<'a>(
        &self,
        window: impl IntoIterator<Item = &'a Message>,
        estimator: &dyn TokenEstimator,
    ) -> Decision {
        let turns = Turns::of(window, |message| match self.tokens {
            Some(_) => estimator.message(message),
            None => Tokens::default(),
        });
        let window = turns.size();
        if !self.is_high(window) {
            return Decision::Wait;
        }
        let mut latest = None;
        for cut in turns.cuts().take_while(|cut| cut.keeps >= self.keep_turns) {
            latest = Some(cut);
            if self.is_low(window.minus(cut.covers)) {
                break;
            }
        }
        match latest {
            Some(cut) if self.is_worth_it(window, cut.covers) => Decision::Summarize { keep_turns: cut.keeps },
            _ => Decision::Wait,
        }
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
