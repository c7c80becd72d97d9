//! Conversations in the formats of others: there and back, and what is no conversation.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod random;
mod versioned;
