//! Conversations as values: one that is shared by many tasks, what is said in it step by step, and many of them.
//!
//! Owns what stands over a [`MessagesManager`](crate::MessagesManager): it never changes a message but through one. Knows
//! no provider and no database: a model is a [`Model`](crate::model::Model), a log a [`CallLog`](crate::log::CallLog).

mod builder;
mod shared;

pub use builder::{BuildError, LastStep, MessageBuilder, ResultBuilder};
pub use shared::Conversation;
