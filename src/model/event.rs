//! [`ModelEvent`]: one piece of a model's answer.

use std::ops::AddAssign;
use std::sync::Arc;

use crate::message::{Amount, RequestRecord, Text, ToolCall, ToolCallId, ToolName};

/// An event in the stream of a model's answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// The request goes to another model, because the first one failed or is slow.
    Switched {
        /// The name of the model that was asked, or that is skipped.
        from: Arc<str>,
        /// The name of the model that is asked now.
        to: Arc<str>,
        /// A word for the reason: the failure, such as `throttled` or `timeout`; `circuitOpen` if `from` is skipped
        /// because it failed too often; `hedge` if `to` was faster.
        reason: &'static str,
    },
    /// The adapter changed the request so that the provider accepts it. Each text describes a change, without words of
    /// the call, so that the author of the request can fix the problem at its source.
    ///
    /// The event comes before the first text, and again if the adapter sends a refused request once more in another
    /// form.
    Repaired(Vec<String>),
    /// The next piece of the text. It is never empty.
    Text(Text),
    /// A complete tool call.
    ToolCall(ToolCall),
    /// A tool call whose arguments are not JSON, or that is cut off because the answer reached its token limit or the
    /// context is full. Never run it: report the error to the model as the result of the call, so that the model corrects
    /// it. All such calls come directly before the stop.
    UnreadableToolCall {
        /// The id of the call.
        id: ToolCallId,
        /// The name of the tool.
        name: ToolName,
        /// Why the arguments cannot be read, without words of the call; `None` if the call is cut off.
        reason: Option<Text>,
    },
    /// The model stopped.
    Stop(StopReason),
    /// The tokens of the request and its answer.
    Usage(Usage),
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

impl Usage {
    /// Sets the tokens of a request's record.
    pub(crate) fn record(self, request: &mut RequestRecord) {
        (request.input, request.output) = (self.input_tokens.into(), self.output_tokens.into());
        request.cache_read = Amount::unless_zero(self.cache_read_tokens);
        request.cache_write = Amount::unless_zero(self.cache_write_tokens);
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.output_tokens += other.output_tokens;
    }
}
