//! The host of live calls: opening, resuming, closing and draining, under tokio's paused clock.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod closing;
mod drain;
mod opening;
mod support;
