//! OpenAI's [chat messages](https://platform.openai.com/docs/api-reference/chat/create), with tool calls.

mod parts;
mod read;
mod write;

pub use read::import_openai;
pub use write::{export_openai, window_openai};
