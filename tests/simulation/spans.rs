//! The cases that depend on the layout of the table again, over a table with spans.

#![allow(clippy::duplicate_mod, reason = "the same cases, in another layout")]

const LAYOUT: verbale::dynamodb::Layout = verbale::dynamodb::Layout::Spans;

#[path = "contents.rs"]
mod contents;
#[path = "erased.rs"]
mod erased;
#[path = "takeover.rs"]
mod takeover;
#[path = "writer.rs"]
mod writer;
