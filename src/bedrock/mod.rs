//! The adapter to Amazon Bedrock's Converse: messages, requests, Bedrock's rules, and the client.
//!
//! Owns [`BedrockMessage`], the request ([`converse_input`]), what each family of models refuses, the rules
//! ([`validate()`]) and the repair of requests that break them ([`repair()`]), the JSON of messages ([`to_json`]), and
//! the client ([`BedrockModel`]). Only the client does I/O. AWS SDK types appear only here and in the other adapters.
//!
//! ```
//! use verbale::bedrock::{converse_input, validate};
//! use verbale::model::ModelRequest;
//! use verbale::{MessageWrapper, MessagesManager, PlainMessage};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut manager = MessagesManager::<PlainMessage>::new();
//!     manager.add_user("And when does it arrive?")?;
//!     let mut request = ModelRequest::new(manager.messages().map(|message| message.message().clone()).collect());
//!     request.system.push("You answer the phone of a parcel service.".into());
//!     request.memory = Some("The caller asked for parcel 17; it left Milan this morning.".into());
//!     let input = converse_input("eu.anthropic.claude-haiku-4-5-20251001-v1:0", &request)?;
//!
//!     assert_eq!(input.system().len(), 2);
//!     assert_eq!(validate(&input), []);
//!     Ok(())
//! }
//! ```

mod attachment;
mod client;
mod document;
mod error;
mod escape;
mod flatten;
mod identifier;
mod image_size;
mod inference;
mod json;
mod message;
mod profile;
mod request;
mod schema;
mod tool;
mod validate;

#[cfg(feature = "testing")]
pub(crate) use client::{AnswerReader, ErrorResponse};
pub use client::{BedrockModel, BedrockSettings, repair, summary_client, turn_client};
pub use error::BedrockError;
pub use json::to_json;
pub use message::BedrockMessage;
#[cfg(feature = "testing")]
pub(crate) use profile::Profile;
pub use request::converse_input;
#[cfg(feature = "testing")]
pub(crate) use validate::validate_for;
pub use validate::{Violation, validate};

#[cfg(test)]
mod tests;
