//! [`MessageBuilder`] and [`ResultBuilder`]: messages put together part by part, as of a step.
//!
//! Owns which step, policy and hint a message gets and who speaks in it. Changes no conversation: what it gives is a
//! [`Draft`](crate::message::Draft), for [`MessagesManager::add`](crate::MessagesManager::add).

mod error;
mod last_step;
mod message;
mod result;

pub use error::BuildError;
pub use last_step::LastStep;
pub use message::MessageBuilder;
pub use result::ResultBuilder;
