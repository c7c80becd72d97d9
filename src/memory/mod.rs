//! The memory: the text in the prompt that replaces turns outside the window.
//!
//! Owns the summarizers, the facts, the history of tool calls, and the text of the memory. Calls a model only when a
//! summary is requested, and never changes a conversation.

mod covered;
mod extractive;
mod facts;
mod history;
mod one_line;
mod prompt;
mod prompted;

#[cfg(test)]
mod cuts_tests;

pub(crate) use covered::{Covered, Length};
pub use extractive::ExtractiveSummarizer;
pub use facts::{Fact, FactFinder, FactSource, RuleFactFinder};
pub(crate) use facts::{FactTable, Folded};
use facts::{Removed, Source};
pub(crate) use history::{Attempt, Listing, ToolHistory, ToolUse};
pub(crate) use prompt::{BYTES_PER_TOKEN, LATE_RESULT, Memory, TOOL_RULE};
pub use prompted::ModelSummarizer;
