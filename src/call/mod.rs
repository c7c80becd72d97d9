//! One live call: what is spoken of an answer while it comes.
//!
//! Owns what goes on between the caller, the model and the log during a call. Never names a provider or a database.

mod sentences;

pub use sentences::Sentences;
