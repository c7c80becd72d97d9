//! `MessagesManager`: the one thing that changes a conversation. Synchronous, no I/O.

mod summarizing;

pub use summarizing::Summarizing;
