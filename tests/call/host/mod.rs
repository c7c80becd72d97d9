//! The host of live calls: opening, resuming, closing and draining, under tokio's paused clock.

mod closing;
mod drain;
mod opening;
mod support;
