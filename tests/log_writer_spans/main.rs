//! The cases of the background writer again, over a log that stores spans.

#[path = "../log_writer/main.rs"]
mod cases;
#[path = "../log_writer_edges/main.rs"]
mod edges;
