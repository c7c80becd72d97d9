//! The ports to a language model and to a summarizer, and the tools that a model may call.
//!
//! Owns the request, the events of an answer, the fallback to other models, tools, and the contract of a summary. It
//! never changes a conversation and does no I/O.

mod error;
mod event;
mod fallback;
mod fingerprint;
mod inference;
mod port;
mod progress;
mod summarizer;
mod tool;

pub(crate) use error::Partial;
pub(crate) use error::wait;
pub use error::{Failure, ModelError};
pub use event::{ModelEvent, StopReason, Usage};
pub use fallback::FallbackModel;
pub use inference::Inference;
pub use port::{Generation, Model, ModelRequest, ToolSpec};
pub(crate) use progress::{note_progress, take_progress};
pub use summarizer::{Summarizer, Summary, SummaryFuture};
#[cfg(feature = "tools")]
pub(crate) use tool::schema_of;
pub(crate) use tool::{LookedUp, NOT_RUN, NoResult, OUTCOME_UNKNOWN};
pub use tool::{Tool, ToolContext};

#[doc(no_inline)]
pub use crate::message::ToolError;
