//! Imports and exports conversations in formats of other systems.
//!
//! Owns the formats and their importers. An imported text may be broken, hostile and private. The module does no I/O.
//!
//! - **Import.** An importer returns a [`MessagesManager`](crate::MessagesManager) that follows all its rules:
//!   consecutive messages of one role are merged, a fake user message comes first if an assistant begins, blank texts
//!   are left out, and the call can continue. For a value that cannot be kept, the importer returns an
//!   [`ExchangeError`] with the place of the value.
//! - **Export.** An exporter returns an [`Export`]: the text and its losses. It writes the whole list, including the
//!   messages that a summary covers. It writes only the heard part of an assistant message. It leaves fakes out.
//! - **Round trip.** Importing an export without losses yields the same conversation, apart from what the format always
//!   leaves out. Exporting an imported export yields the same text. Only [`export_json_lines`] keeps the id, the time
//!   and the confidence of each [part](crate::message::Part).
//! - **Windows.** [`window_openai`] and [`window_anthropic`] write the messages that the model gets now, as
//!   [`to_raw`](crate::MessagesManager::to_raw) does for Bedrock. These two and [`export_openai`] use the [role
//!   hint](crate::message::Decision::role_hint) of a decision; the other formats do not hold role hints.
//! - **Limits.** An import takes linear time. [`ImportOptions`] limits the size of a text.

mod aliases;
mod anthropic;
mod block;
mod chat;
pub(crate) mod converse;
mod error;
mod export;
mod failure;
mod importer;
pub(crate) mod json;
mod json_lines;
mod media;
mod node;
mod openai;
mod options;
mod pairs;
mod plain;
mod reason;
mod versioned;
mod window;

pub use anthropic::{import_anthropic, window_anthropic};
pub use chat::{export_chat, import_chat};
pub use converse::{export_converse, import_converse};
pub use error::ExchangeError;
pub use export::Export;
pub use json_lines::{export_json_lines, import_json_lines};
pub use openai::{export_openai, import_openai, window_openai};
pub use options::ImportOptions;
pub use versioned::{export_versioned, import_versioned};
