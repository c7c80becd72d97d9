//! Conversations in the formats of others, in and out.
//!
//! Owns the formats and their importers, which read text that may be broken, hostile and private.
//!
//! - **In.** An importer returns a [`MessagesManager`](crate::MessagesManager) with all its rules: messages of one role in
//!   a row are merged, a fake user message comes first if an assistant begins, blank texts are left out, and the call can
//!   continue. A value that cannot be kept is an [`ExchangeError`], which names the place and quotes nothing.
//! - **Out.** An exporter returns an [`Export`]: the text, and the losses. It writes the whole list, also the messages that
//!   a summary covers. Of an assistant message it writes the heard part. Fakes are left out.
//! - **There and back.** An imported export says the same as the conversation. Exporting it again gives the same text.
//!   Only [`json_lines`] keeps the id, the time and the confidence of each [part](crate::message::Part).
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
