//! The text that a caller heard: of recorded speech, of imperfect reports, and with clocks that differ.
//!
//! `spoken.jsonl` has texts with the times of their words. `synthesize.py` makes it from `texts.tsv`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod accuracy;
mod clocks;
mod properties;
mod reports;
mod spoken;
#[allow(dead_code, reason = "shared with the tests of calls")]
#[path = "../call/support.rs"]
mod support;
