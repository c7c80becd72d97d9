//! The cases that depend on the layout of the table again, over a table with spans.

#![allow(clippy::duplicate_mod, reason = "the same cases, in another layout")]

const HAS_SPANS: bool = true;

#[path = "contents.rs"]
mod contents;
#[path = "erased.rs"]
mod erased;
#[path = "takeover.rs"]
mod takeover;
#[path = "writer.rs"]
mod writer;
