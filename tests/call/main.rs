//! The live call: every row of the event table, tools, summaries, the log, and random events, under tokio's paused clock.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod barge_in;
mod conversation;
mod edges;
mod events;
mod faults;
mod log;
mod marks;
mod random;
mod same_as_run;
mod summaries;
mod support;
mod threads;
mod tools;
