//! Versioned JSON: a list of texts, instructions and tool calls with their results, each with its `type`.

mod inline;
mod read;
mod write;

pub use read::import_versioned;
pub use write::export_versioned;
