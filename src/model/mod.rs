//! The ports to a language model and to whatever makes summaries, and the tools that a model may call.
//!
//! Owns what a model is asked and answers, what a tool is, and the contract of a summary. Never changes a conversation, and
//! never does I/O itself.

mod error;
mod event;
mod fingerprint;
mod inference;
mod port;
mod summarizer;
mod tool;

pub use error::{Failure, ModelError, Partial, Wait};
pub use event::{ModelEvent, Repair, StopReason, Usage};
pub use fingerprint::Fingerprint;
pub use inference::Inference;
pub use port::{Generation, Model, ModelRequest, ToolSpec};
pub use summarizer::{Fallback, SummarizeError, Summarizer, Summary, SummaryFuture};
pub(crate) use tool::failed;
#[cfg(feature = "tools")]
pub(crate) use tool::schema_of;
pub use tool::{InvalidTool, NOT_RUN, OUTCOME_UNKNOWN, Tool, ToolContext, ToolError};
