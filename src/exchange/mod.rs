//! Conversations in the formats of others, in and out.
//!
//! Owns how a conversation stands in each format, and what reads it: text that may be broken, hostile and private.
//!
//! - **In.** An importer gives the conversation as a [`MessagesManager`](crate::MessagesManager) would have it: messages
//!   of one role that follow each other are merged, a fake user message opens where an assistant begins, blank texts are
//!   left out, and the call can go on. It gives a manager, and not records, so that nothing stands in memory twice. What
//!   cannot be kept is an [`ExchangeError`], which tells the place, and never a word of what was said.
//! - **Out.** An exporter gives an [`Export`]: text, and what the format has no words for. It tells the whole list, what
//!   summaries cover too, as it stands there, and not the window: what a provider takes now is
//!   [`messages`](crate::MessagesManager::messages). Of what was generated it tells what was heard. Fakes, which nobody
//!   said, are left out: they come back by themselves.
//! - **There and back.** What was exported and is imported says the same. What was imported and exported stays, to the
//!   letter, the same text whenever it is imported and exported again.
//! - **Windows.** For OpenAI and Anthropic, `window` writes what the model gets now, as
//!   [`to_raw`](crate::MessagesManager::to_raw) gives it for Bedrock. `export` and `window` of OpenAI, and `window` of
//!   Anthropic heed the [role hint](crate::message::Decision::role_hint) of a decision; Converse and the other formats have
//!   no place for it.
//! - **Limits.** Importing takes linear time. [`ImportOptions`] limits the size of a text.

mod aliases;
pub mod anthropic;
mod block;
pub mod chat;
pub mod converse;
mod error;
mod export;
mod failure;
mod intake;
pub(crate) mod json;
pub mod json_lines;
mod media;
mod node;
pub mod openai;
mod options;
mod plain;
pub mod versioned;
mod window;
mod wrong;

pub use error::{ExchangeError, Place, Problem};
pub use export::{Export, Loss, Lost};
pub use options::ImportOptions;
