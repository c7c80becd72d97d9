//! [`ModelEvent`]: one piece of a model's answer.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

use crate::message::{Text, ToolCall};

/// One piece of a model's answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// The request goes to another model.
    Switched(ModelSwitch),
    /// The adapter changed the request so that the provider accepts it.
    Repaired(Vec<Repair>),
    /// The next piece of the text. It is never empty.
    Text(Text),
    /// A complete call of a tool.
    ToolCall(ToolCall),
    /// The model stopped.
    Stop(StopReason),
    /// The tokens of the request and its answer.
    Usage(Usage),
}

/// A switch from one model to another before the first text or tool call of an answer.
///
/// Its `Display` is `from -> to: reason`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSwitch {
    /// The name of the model that was asked or is skipped.
    pub from: Arc<str>,
    /// The name of the model that is asked now.
    pub to: Arc<str>,
    /// A word for the reason: that of the failure, such as `throttled` or `timeout`; `circuitOpen` if the first model failed
    /// too often; `hedge` if it was slower.
    pub reason: &'static str,
}

impl fmt::Display for ModelSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}: {}", self.from, self.to, self.reason)
    }
}

/// A change that an adapter made to a request, described without words of the call.
#[derive(Clone, PartialEq, Eq)]
pub struct Repair(Text);

impl Repair {
    /// Creates a repair. The description helps the author of the request to fix the problem at its source.
    pub fn new(description: impl Into<Text>) -> Self {
        Self(description.into())
    }
}

/// Shows the description, because it contains no words of the call.
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

/// The reason why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The answer reached its token limit and is cut off.
    MaxTokens,
    /// The model generated one of the stop sequences.
    StopSequence,
    /// A guardrail or a content filter removed the answer or a part of it.
    Filtered,
    /// The request and the answer fill the model's context window. The answer is cut off.
    ContextFull,
    /// A reason that this crate does not know.
    Other(Text),
}

/// The tokens of a request and its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// All input tokens, including cached ones.
    pub input_tokens: u64,
    /// The input tokens that were read from the provider's cache.
    pub cache_read_tokens: u64,
    /// The input tokens that were written to the provider's cache.
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
