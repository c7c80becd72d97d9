//! OpenAI's [chat messages](https://platform.openai.com/docs/api-reference/chat/create), with tool calls.
//!
//! ```
//! # use verbale::{MessagesManager, PlainMessage};
//! # use verbale::exchange::{ImportOptions, openai};
//! # fn main() -> Result<(), verbale::exchange::ExchangeError> {
//! let json = r#"[{"role":"user","content":"Is it open?"},{"role":"assistant","content":"Until six."}]"#;
//! let manager: MessagesManager<PlainMessage> = openai::import(json, &ImportOptions::default())?;
//! let export = openai::export(&manager);
//! assert_eq!(export.text, json);
//! assert!(export.losses.is_empty());
//! # Ok(()) }
//! ```

mod parts;
mod read;
mod write;

pub use read::import;
pub use write::{export, window};
