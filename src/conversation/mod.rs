//! Conversations that many tasks share, prompts and runs that extend them, and queries over many of them.
//!
//! A [`Conversation`] owns a [`MessagesManager`](crate::MessagesManager), its configuration, its memory, and the handle
//! for logging, under one lock. Runs and live calls take its turns. This module does not depend on a provider or a
//! database: a model is a [`Model`](crate::model::Model), and a log is a [`CallLog`](crate::log::CallLog).

mod apply;
mod attach;
mod builder;
mod config;
mod deltas;
mod edit;
mod error;
mod finish;
mod fork;
mod metrics;
mod prompt;
#[cfg(feature = "query")]
mod query;
#[cfg(feature = "metrics")]
mod recorder;
mod registry;
mod run;
mod shared;
mod state;
mod summaries;
#[cfg(feature = "tools")]
mod typed;
mod whole;

pub(crate) use apply::system_texts;
pub use builder::{MessageBuilder, ResultBuilder};
pub use config::{Config, Models};
pub use edit::Edit;
pub(crate) use error::Problem;
pub use error::{ConversationError, ConversationErrorKind};
pub use metrics::CallMetrics;
pub use prompt::Prompt;
#[cfg(feature = "query")]
pub use query::{Found, HistoryQuery, LogAnswer, LogScope, query_log};
#[cfg(feature = "metrics")]
pub use recorder::MetricsObserver;
pub use registry::{ConversationMetadata, Conversations, Snapshot};
pub use run::Run;
pub use shared::Conversation;
pub(crate) use shared::{WeakConversation, one_model};

pub use crate::turn::{CallEvent, Observer, ReplyEnd, SpeechId, SummaryOutcome, ToolOutcome};
