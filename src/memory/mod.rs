//! The memory: the text in the prompt that replaces turns outside the window.
//!
//! Owns the summarisers, the history of tool calls, and the text of the memory. Calls a model only when a summary is
//! requested, and never changes a conversation.

mod extractive;
mod history;
mod prompt;
mod prompted;

#[cfg(test)]
mod cuts_tests;

pub use extractive::ExtractiveSummarizer;
pub(crate) use history::{Attempt, ToolHistory};
pub(crate) use prompt::{LATE_RESULT, TOOL_RULE, prompt};
pub use prompted::ModelSummarizer;
