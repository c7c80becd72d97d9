//! The conversation of a phone call with an LLM: messages, window, rolling summary, and a log in DynamoDB.
//!
//! Start with [`MessagesManager`]; [`message`] says what a message is, `bedrock` and `dynamodb` where it goes.
#![cfg_attr(
    not(all(feature = "call", feature = "exchange", feature = "query")),
    allow(dead_code, unused_imports, reason = "each feature uses a part of what the lower layers offer")
)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(all(feature = "bedrock", feature = "dynamodb"), doc = "\n---\n", doc = include_str!("../README.md"))]

#[cfg(feature = "bedrock")]
pub mod bedrock;
#[cfg(feature = "call")]
pub mod call;
pub mod clock;
#[cfg(feature = "log")]
pub mod contents;
#[cfg(feature = "call")]
pub mod conversation;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(feature = "exchange")]
pub mod exchange;
#[cfg(feature = "log")]
pub mod log;
pub mod manager;
#[cfg(feature = "call")]
pub mod memory;
pub mod message;
#[cfg(feature = "call")]
pub mod model;
pub mod policy;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "call")]
mod turn;

#[cfg(feature = "bedrock")]
pub use bedrock::BedrockMessage;
pub use manager::{
    Changes, Cut, Entry, ForkError, Format, LastMessage, ManagerError, MessagesManager, Prune, Receipt, RestoreError,
    Summarizing, Window,
};
pub use message::{
    Attribute, Content, Contents, Draft, Heard, HeardSource, Message, MessageId, MessageWrapper, Metadata,
    PlainMessage, Record, Role, Timing, ToolCall, ToolResult, Value,
};
