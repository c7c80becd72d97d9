//! The cases again, over a log that stores spans.

#[path = "cases/mod.rs"]
mod cases;
#[path = "edges/mod.rs"]
mod edges;
