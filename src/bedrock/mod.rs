//! The adapter to Amazon Bedrock's Converse: messages, requests, Bedrock's rules, and the client.
//!
//! Owns [`BedrockMessage`], the request ([`ConverseRequest`]), what each family of models refuses ([`Profile`]), the
//! rules ([`validate()`]) and the repair of requests that break them ([`repair()`]), the JSON of messages
//! ([`to_json`]), and the client ([`BedrockModel`]). Only the client does I/O. AWS SDK types appear only here and in
//! the other adapters.
//!
//! ```
//! use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
//! use verbale::bedrock::{ConverseRequest, Profile, validate};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model_id = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
//! let caller = Message::builder()
//!     .role(ConversationRole::User)
//!     .content(ContentBlock::Text("And when does it arrive?".into()))
//!     .build()?;
//! let input = ConverseRequest::new(model_id)
//!     .system("You answer the phone of a parcel service.")
//!     .summary(Some("The caller asked for parcel 17; it left Milan this morning."))
//!     .messages(vec![caller])
//!     .into_input()?;
//!
//! assert_eq!(input.system().len(), 2);
//! assert_eq!(validate(&input, &Profile::for_model(model_id)), []);
//! # Ok(()) }
//! ```

mod attachment;
mod client;
mod document;
mod error;
mod escape;
mod flatten;
mod identifier;
mod image_size;
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
pub use document::{from_document, to_document};
pub use error::BedrockError;
pub use json::to_json;
pub use message::BedrockMessage;
pub use profile::Profile;
pub use request::ConverseRequest;
pub use validate::{Violation, validate};

#[cfg(test)]
mod tests;
