//! The conversation of a phone call with an LLM: messages, window, rolling summary, and a log in DynamoDB.
//!
//! Start with [`MessagesManager`]; [`message`] says what a message is, `bedrock` and `dynamodb` where it goes.
#![cfg_attr(all(feature = "bedrock", feature = "dynamodb"), doc = "\n---\n", doc = include_str!("../README.md"))]

#[cfg(feature = "bedrock")]
pub mod bedrock;
pub mod call;
pub mod clock;
pub mod contents;
pub mod conversation;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod exchange;
pub mod log;
pub mod manager;
pub mod memory;
pub mod message;
pub mod model;
pub mod policy;
#[cfg(feature = "testing")]
pub mod testing;
mod turn;

#[cfg(feature = "bedrock")]
pub use bedrock::BedrockMessage;
pub use manager::{
    Changes, Entry, ForkError, Format, LastMessage, ManagerError, MessagesManager, Prune, Receipt, RestoreError,
    Summarizing,
};
pub use message::{
    Attribute, Content, Contents, Draft, Heard, HeardSource, Message, MessageId, MessageWrapper, Metadata,
    PlainMessage, Record, Role, Timing, ToolCall, ToolResult, Value,
};
