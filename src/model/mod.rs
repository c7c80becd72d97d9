//! The port to whatever makes summaries, and the summariser that needs no model.
//!
//! Owns the contract of a summary. Never changes a conversation, and never does I/O itself.

mod extractive;
mod summarizer;

pub use extractive::Extractive;
pub use summarizer::{Fallback, SummarizeError, Summarizer, SummaryFuture};
