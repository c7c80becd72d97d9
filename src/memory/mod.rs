//! What stands in the prompt for the turns that left the window: the tool calls that were made, and the summaries.
//!
//! Owns the text of both. Never asks a model by itself, and never changes a conversation.

mod extractive;
mod history;
mod prompt;
mod prompted;

pub use extractive::ExtractiveSummarizer;
pub use history::{ToolHistory, ToolState, ToolUse};
pub(crate) use prompt::{TOOL_RULE, prompt};
pub use prompted::ModelSummarizer;
