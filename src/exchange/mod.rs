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
//! - **Memory.** An import takes at most 4 times the memory of its text and 64 KB. Conversations take less; lists of
//!   numbers in a tool's arguments would take more, and then they are an error. So are lists that nest too deep.

mod aliases;
mod block;
mod budget;
mod bytes;
pub mod chat;
pub mod converse;
mod error;
mod export;
mod failure;
mod intake;
pub mod json_lines;
mod lexer;
mod moment;
pub mod openai;
mod path;
mod quoted;
mod reader;
mod value;
pub mod versioned;
mod writer;

pub use error::{ExchangeError, Problem};
pub use export::{Export, Loss, Lost};
pub use path::Place;
