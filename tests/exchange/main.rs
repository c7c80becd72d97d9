//! Imports and exports in every format of `exchange`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "skipped tests print a note")]

mod airline;
mod anthropic;
mod chat;
mod converse;
mod formats;
mod holes;
mod hostile;
mod json_lines;
mod loss;
mod openai;
mod random;
mod seeds;
mod sizes;
mod versioned;
mod windows;
