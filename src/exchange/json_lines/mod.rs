//! JSON Lines of role, content and time: one line for each content, tool call and result.

mod read;
mod write;

pub use read::import_json_lines;
pub use write::export_json_lines;
