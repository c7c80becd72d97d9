//! [`MessageBuilder`] and [`ResultBuilder`]: build the messages of a step part by part.
//!
//! Owns the step, the policy, the hint and the role of a message. Never changes a conversation: builders return a
//! [`Draft`](crate::message::Draft) for [`MessagesManager::add`](crate::MessagesManager::add).

mod error;
mod last_step;
mod message;
mod result;

pub(crate) use error::BuildProblem;
pub use last_step::LastStep;
pub use message::MessageBuilder;
pub use result::ResultBuilder;
