//! The ports to a language model and to whatever makes summaries, and two summarisers: one that asks a model, and one
//! that needs none.
//!
//! Owns what a model is asked and answers, and the contract of a summary. Never changes a conversation, and never does
//! I/O itself.

mod error;
mod event;
mod extractive;
mod fingerprint;
mod inference;
mod port;
mod prompted;
mod summarizer;
mod tool_run;

pub use error::{Failure, ModelError, Received, Wait};
pub use event::{ModelEvent, Repair, StopReason, Usage};
pub use extractive::Extractive;
pub use fingerprint::Fingerprint;
pub use inference::Inference;
pub use port::{Generation, Model, ModelRequest, ToolSpec};
pub use prompted::ModelSummarizer;
pub use summarizer::{Fallback, SummarizeError, Summarizer, Summary, SummaryFuture};
pub use tool_run::{NOT_RUN, OUTCOME_UNKNOWN};
pub(crate) use tool_run::{failed, run_tool};
