//! Conversations as values: one that is shared by many tasks, what is said in it step by step, and many of them.
//!
//! A [`Conversation`] owns a [`MessagesManager`](crate::MessagesManager), its configuration, its memory, and the handle for
//! logging, behind one lock. Runs and live calls take its turns. It knows no provider and no database: a model is a
//! [`Model`](crate::model::Model), a log a [`CallLog`](crate::log::CallLog).

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
mod prices;
mod prompt;
mod prompt_settings;
#[cfg(feature = "query")]
mod query;
mod registry;
mod run;
mod shared;
mod state;
mod summaries;
#[cfg(feature = "tools")]
mod typed;

pub(crate) use apply::system_texts;
pub use builder::{BuildError, LastStep, MessageBuilder, ResultBuilder};
pub use config::{Config, ConfigError, Models};
pub use edit::{Edit, EditError};
pub use error::{AskError, EndError, Misfit, PromptError, RunError};
pub use metrics::{CallMetrics, Durations, Percentiles};
pub use prices::{Prices, TokenPrices};
pub use prompt::Prompt;
#[cfg(feature = "query")]
pub use query::{Found, HistoryQuery, LogAnswer, LogScope, QueryError, QueryOrder, query_log};
pub use registry::{ConversationMetadata, Conversations, RegistryError, Snapshot};
pub use run::Run;
pub use shared::Conversation;
pub(crate) use shared::{WeakConversation, one_model};

pub use crate::turn::{
    CallEvent, Observer, ReplyOutcome, ResultRefused, SpeechId, SummaryFailure, SummaryOutcome, ToolOutcome,
};
