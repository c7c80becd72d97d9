//! Redaction: what it removes from a record, and the precision, recall and cost of the ready redactors.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod cards;
mod patterns;
