//! Amazon Bedrock's Converse: what a conversation looks like there, whether Bedrock would take it, and the model behind it.
//!
//! Owns [`BedrockMessage`], the request ([`ConverseRequest`]), the rules ([`validate()`]) and what mends it ([`repair()`]), the
//! JSON of messages ([`to_json`]), and the client ([`BedrockModel`]), which alone does I/O.
//! Types of the AWS SDK appear here and nowhere above.
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
mod json;
mod message;
mod request;
mod tool;
mod validate;

pub use client::{
    BedrockModel, BedrockSettings, CONNECT_TIMEOUT, Deadlines, SUMMARY_TIMEOUT, TURN_ATTEMPTS, TURN_BACKOFF, repair,
    summary_client, turn_client,
};
pub use document::{from_document, to_document};
pub use error::BedrockError;
pub use json::to_json;
pub use message::BedrockMessage;
pub use request::ConverseRequest;
pub use validate::{CachePlaces, Place, Profile, Rule, Violation, validate};

#[cfg(test)]
mod tests;
