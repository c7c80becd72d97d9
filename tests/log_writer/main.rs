//! The background writer, case by case, over a log that stores single records and over one that stores spans.
//! `tests/simulation/` covers random histories and faults.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::duplicate_mod, reason = "the cases run over each kind of log")]

mod cases;
mod edges;
mod letters;
#[path = "../call_log/resumed.rs"]
mod resumed;
mod spans;
