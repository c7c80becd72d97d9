//! [`Covered`]: the lengths of the messages before the window, which limit the memory that replaces them.

use crate::manager::List;
use crate::message::{Content, Message, ResultContent, Value};
use crate::policy::{CharacterEstimator, TokenEstimator, Tokens};

/// The length of a text or of messages, as a model reads them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Length {
    pub chars: usize,
    /// Estimated without correction, so that two lengths can be compared.
    pub tokens: Tokens,
}

impl Length {
    pub fn of_text(text: &str) -> Self {
        Self { chars: text.chars().count(), tokens: CharacterEstimator.text(text) }
    }

    /// Returns the minimum length that a message adds to a prompt: without the marks of its role, which it loses when
    /// it merges with a neighbour.
    pub fn of_message(message: &Message) -> Self {
        if message.is_fake() || !message.role().is_spoken() {
            return Self::default();
        }
        Self { chars: chars(message), tokens: CharacterEstimator.contents(message) }
    }

    pub fn plus(self, more: Self) -> Self {
        Self { chars: self.chars + more.chars, tokens: self.tokens + more.tokens }
    }

    pub fn minus(self, less: Self) -> Self {
        Self { chars: self.chars.saturating_sub(less.chars), tokens: self.tokens.saturating_sub(less.tokens) }
    }

    pub fn fits(self, most: Self) -> bool {
        self.chars <= most.chars && self.tokens <= most.tokens
    }
}

/// The lengths of the covered messages. They are kept after the messages leave memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Covered {
    /// The `seq` of each message, with the total length of the messages up to it.
    sums: List<(u32, Length)>,
}

impl Covered {
    /// Adds the messages before `seq` that were not added yet. `newest_first` begins at any later message.
    pub fn update<'a>(&mut self, newest_first: impl Iterator<Item = &'a Message>, seq: u32) {
        let next = self.sums.last().map_or(0, |(last, _)| last + 1);
        let messages = newest_first.skip_while(|message| message.position().seq() >= seq);
        let mut new: Vec<&Message> = messages.take_while(|message| message.position().seq() >= next).collect();
        new.retain(|message| message.role().is_spoken());
        let mut sum = self.before(u32::MAX);
        for message in new.into_iter().rev() {
            sum = sum.plus(Length::of_message(message));
            self.sums.push((message.position().seq(), sum));
        }
    }

    /// Returns the length of the messages before `seq`.
    pub fn before(&self, seq: u32) -> Length {
        let at = self.sums.partition_point(|(known, _)| *known < seq);
        at.checked_sub(1).and_then(|at| self.sums.get(at)).map_or_else(Length::default, |(_, sum)| *sum)
    }

    /// Removes the messages from `seq` on, which were edited.
    pub fn count_again(&mut self, seq: u32) {
        self.sums.truncate(self.sums.partition_point(|(known, _)| *known < seq));
    }

    /// Replaces the entries of messages before `seq`, which left memory, by one.
    pub fn join_before(&mut self, seq: u32) {
        self.sums.forget(self.sums.partition_point(|(known, _)| *known < seq).saturating_sub(1));
    }

    /// Returns the lengths of the messages before `seq`, for a fork. Copies none.
    pub fn fork(&mut self, seq: u32) -> Self {
        Self { sums: self.sums.share(self.sums.partition_point(|(known, _)| *known < seq)) }
    }
}

/// Returns the characters of a message: its texts, and the JSON of its calls and results.
fn chars(message: &Message) -> usize {
    let text = |text: &str| text.chars().count();
    let json = |value: &Value| serde_json::to_string(value).map_or(0, |json| text(&json));
    let of = |content: &Content| match content {
        Content::Text(said) => text(said),
        Content::ToolCall(call) => call.name().as_str().len() + json(call.arguments()),
        Content::ToolResult(result) => match result.outcome() {
            Ok(contents) => contents
                .iter()
                .map(|content| match content {
                    ResultContent::Text(said) => text(said),
                    ResultContent::Json(value) => json(value),
                    _ => 0,
                })
                .sum(),
            Err(error) => text(error.message()),
        },
        _ => 0,
    };
    message.heard_contents().iter().map(|content| of(content) + 1).sum()
}
