//! Conversations in the formats of others.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "what is skipped is told")]

mod airline;
mod anthropic;
mod chat;
mod converse;
mod formats;
mod hostile;
mod json_lines;
mod openai;
mod random;
mod seeds;
mod sizes;
mod versioned;
mod windows;
