//! Conversations as values: one that is shared by many tasks, what is said in it step by step, and many of them.
//!
//! Owns what stands over a [`MessagesManager`](crate::MessagesManager): it never changes a message but through one. Knows
//! no provider and no database: a model is a [`Model`](crate::model::Model), a log a [`CallLog`](crate::log::CallLog).

mod builder;
mod config;
mod deltas;
mod error;
mod finish;
mod fork;
mod prompt;
mod query;
mod registry;
mod run;
mod shared;
mod tool;

pub use builder::{BuildError, LastStep, MessageBuilder, ResultBuilder};
pub use config::{Config, ConfigError, Models};
pub use error::{AskError, EndError, PromptError, RunError};
pub use prompt::Prompt;
pub use query::{Found, HistoryQuery, LogAnswer, LogScope, QueryError, QueryOrder, query_log};
pub use registry::{ConversationMetadata, Conversations, RegistryError, Snapshot};
pub use run::Run;
pub use shared::Conversation;
pub use tool::{InvalidTool, Tool, ToolError};
