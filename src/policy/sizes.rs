//! [`WindowSizes`]: the sizes that a policy decides by.

use super::tokens::Tokens;
use crate::message::Message;

/// The size of a window or of a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Estimated tokens.
    pub tokens: Tokens,
    pub messages: usize,
}

impl Size {
    pub fn minus(self, covered: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(covered.tokens),
            messages: self.messages.saturating_sub(covered.messages),
        }
    }
}

/// The size of a cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct CutSize {
    /// The size of the part before the cut.
    pub covers: Size,
    /// The number of turns after the cut.
    pub keeps_turns: usize,
    /// The tokens of the part before the cut that later requests sent again, with one request per two messages.
    pub sent_again: Tokens,
}

/// The sizes of a window and of the places where it can be cut.
#[derive(Debug, Clone)]
pub(super) struct WindowSizes {
    pub window: Size,
    /// From the cut that covers least to the one that covers most.
    pub cuts: Vec<CutSize>,
}

impl WindowSizes {
    /// Measures a window. `cuts` holds the messages before and the turns after each cut.
    pub fn measure<'a>(
        window: impl IntoIterator<Item = &'a Message>,
        cuts: impl IntoIterator<Item = (usize, usize)>,
        tokens: impl Fn(&Message) -> Tokens,
    ) -> Self {
        // The tokens of the first 0, 1, 2, … messages.
        let mut sums: Vec<Tokens> = vec![Tokens::default()];
        for message in window {
            let before = sums.last().copied().unwrap_or_default();
            sums.push(before + tokens(message));
        }
        let all = sums.len() - 1;
        let first = |messages: usize| {
            let messages = messages.min(all);
            Size { tokens: sums.get(messages).copied().unwrap_or_default(), messages }
        };
        let sent_again =
            |messages: usize| Tokens::new(sums.iter().take(messages + 1).map(|sum| sum.get()).sum::<u64>() / 2);
        let cuts = cuts.into_iter().map(|(covers, keeps_turns)| CutSize {
            covers: first(covers),
            keeps_turns,
            sent_again: sent_again(covers),
        });
        Self { cuts: cuts.collect(), window: first(all) }
    }
}
