//! Anthropic's [Messages](https://docs.anthropic.com/en/api/messages): `system` and `messages` with blocks.

mod read;
mod write;

pub use read::import_anthropic;
pub use write::window_anthropic;
