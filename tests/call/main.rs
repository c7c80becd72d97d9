//! The live call under tokio's paused clock: every row of the event table, tools, contents, summaries, the log, random
//! events, and the host of calls.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod acts;
mod barge_in;
mod budget;
mod contents;
mod conversation;
mod edges;
mod events;
mod facts;
mod faults;
mod forks;
mod host;
mod log;
mod marks;
mod random;
mod rebuild;
mod retention;
mod same_as_run;
#[path = "../../src/clock/seeded.rs"]
mod seeded;
#[allow(dead_code, clippy::print_stdout, reason = "only the choice of seeds is needed")]
#[path = "../simulation/seeds.rs"]
mod seeds;
mod silence;
mod summaries;
mod support;
mod threads;
mod tools;
mod unknown;
