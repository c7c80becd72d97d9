//! Anthropic's [Messages](https://docs.anthropic.com/en/api/messages): `system` and `messages` with blocks.
//!
//! [`import`] reads a whole conversation. [`window`] writes only the messages that the model gets now.
//!
//! ```
//! # use verbale::{MessagesManager, PlainMessage};
//! # use verbale::exchange::{ImportOptions, anthropic};
//! # fn main() -> Result<(), verbale::exchange::ExchangeError> {
//! let json = r#"{"system":"You are a bank.","messages":[{"role":"user","content":"Hi"}]}"#;
//! let manager: MessagesManager<PlainMessage> = anthropic::import(json, &ImportOptions::default())?;
//! let window = anthropic::window(&manager);
//! assert_eq!(
//!     window.text,
//!     r#"{"system":[{"type":"text","text":"You are a bank."}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}"#
//! );
//! # Ok(()) }
//! ```

mod read;
mod write;

pub use read::import;
pub use write::window;
