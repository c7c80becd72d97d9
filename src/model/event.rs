//! [`ModelEvent`]: what a model answers, piece by piece.

use std::fmt;
use std::ops::AddAssign;

use crate::message::{Text, ToolCall};

/// A piece of what a model answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// What was changed in the request, so that the provider takes it.
    Repaired(Vec<Repair>),
    /// The next piece of the text; never empty.
    Text(Text),
    /// It asks for a tool to be run.
    ToolCall(ToolCall),
    /// It has said what it had to say.
    Stop(StopReason),
    /// What was read and written for it.
    Usage(Usage),
}

/// Something that was changed in a request, in words that tell nothing of what was said.
#[derive(Clone, PartialEq, Eq)]
pub struct Repair(Text);

impl Repair {
    /// A repair, said so that whoever made the request can mend it there.
    pub fn new(what: impl Into<Text>) -> Self {
        Self(what.into())
    }
}

/// With the words, which are not a caller's.
impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Repair").field(&self.0.as_str()).finish()
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It has said all.
    EndTurn,
    /// It waits for the results of the tools it called.
    ToolUse,
    /// It may not say more: the answer is cut.
    MaxTokens,
    /// It came to a sequence at which it is to stop.
    StopSequence,
    /// A guardrail or a filter took the answer, or part of it, away.
    Filtered,
    /// What it was asked and what it answered fill its window: the answer is cut.
    ContextFull,
    /// What only the provider knows.
    Other(Text),
}

/// Tokens of a request and its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// All tokens that were read, cached ones too.
    pub input_tokens: u64,
    /// Of these, the ones that the provider's cache had.
    pub cache_read_tokens: u64,
    /// Of these, the ones that the provider's cache keeps from now on.
    pub cache_write_tokens: u64,
    /// The tokens of the answer.
    pub output_tokens: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.output_tokens += other.output_tokens;
    }
}
