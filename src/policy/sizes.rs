//! [`WindowSizes`]: what a policy knows of a window.

use super::tokens::{TokenEstimator, Tokens};
use crate::message::Message;

/// How much there is of a window, or of a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// As estimated.
    pub tokens: Tokens,
    /// As the model gets them.
    pub messages: usize,
}

impl Size {
    pub(super) fn minus(self, covered: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(covered.tokens),
            messages: self.messages.saturating_sub(covered.messages),
        }
    }
}

/// The size of a [`Cut`](crate::Cut).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutSize {
    /// How much is in front of it.
    pub covers: Size,
    /// The number of turns behind it.
    pub keeps_turns: usize,
}

/// The sizes of a window and of the places where it can be cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowSizes {
    /// All of the window.
    pub window: Size,
    /// The places, from the one that covers least to the one that covers most.
    pub cuts: Vec<CutSize>,
}

impl WindowSizes {
    /// Measures the messages that the model would get now. Of each cut, in order, it takes the number of messages in
    /// front and of turns behind.
    pub fn of<'a>(
        window: impl IntoIterator<Item = &'a Message>,
        cuts: impl IntoIterator<Item = (usize, usize)>,
        estimator: &dyn TokenEstimator,
    ) -> Self {
        let mut tokens: Vec<Tokens> = vec![Tokens::default()];
        for message in window {
            let before = tokens.last().copied().unwrap_or_default();
            tokens.push(before + estimator.message(message));
        }
        let all = tokens.len() - 1;
        let first = |messages: usize| {
            let messages = messages.min(all);
            Size { tokens: tokens.get(messages).copied().unwrap_or_default(), messages }
        };
        let cuts = cuts.into_iter().map(|(covers, keeps_turns)| CutSize { covers: first(covers), keeps_turns });
        Self { cuts: cuts.collect(), window: first(all) }
    }
}
