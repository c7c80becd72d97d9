//! The messages of Amazon Bedrock's
//! [Converse](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html), as JSON on the wire.
//!
//! ```
//! # use verbale::{MessagesManager, PlainMessage};
//! # use verbale::exchange::{ImportOptions, converse};
//! # fn main() -> Result<(), verbale::exchange::ExchangeError> {
//! let json = r#"{"system":[{"text":"You are a bank."}],"messages":[{"role":"user","content":[{"text":"Hi"}]}]}"#;
//! let manager: MessagesManager<PlainMessage> = converse::import(json, &ImportOptions::default())?;
//! assert_eq!(converse::export(&manager).text, json);
//! # Ok(()) }
//! ```

mod blocks;
pub(crate) mod formats;
mod read;
pub(crate) mod wire;
mod write;

pub use read::import;
pub use write::export;
