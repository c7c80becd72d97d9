//! The conversation of a phone call with an LLM: messages, a valid window, memory, and a log in DynamoDB.
//!
//! # The 25 types
//!
//! All other types are reached from these.
//!
//! **The list.** [`MessagesManager`] holds the messages of a call and applies the rules about their order. [`Message`] is one
//! message, made of [`Content`], such as a [`ToolCall`]. [`Heard`] is the part of a message that the caller heard.
//! [`Summarizing`] is a range of messages to summarize, and [`Policy`] decides when. [`Record`] is a message as the
//! log stores it. [`MessageWrapper`] is the trait that converts messages for a provider; [`BedrockMessage`] implements it
//! for Bedrock.
//!
//! **The call.** [`call::CallBuilder`] opens a [`call::CallSession`], which takes the turns of a live call, and
//! [`call::CallHost`] keeps the live calls of a process. A session is a [`conversation::Conversation`] with a telephone;
//! [`conversation::Config`] has the conversation's deadlines and limits. [`conversation::Prompt`] sends a request without a
//! telephone, and [`conversation::Conversations`] keeps the conversations of a process. [`model::Tool`] is a function that a
//! model may call. [`model::Model`] and [`model::Summarizer`] are the ports to models, and [`bedrock::BedrockModel`]
//! implements both for Bedrock.
//!
//! **The log.** [`log::CallLog`] is the port to a log, and [`dynamodb::DynamoLog`] implements it. [`log::CallHeader`] is what
//! a log knows about a call besides its records. [`log::LogWriter`] writes the calls of a process in the background.
#![cfg_attr(
    not(all(feature = "call", feature = "dynamodb", feature = "exchange", feature = "query")),
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
mod manager;
#[cfg(feature = "call")]
pub mod memory;
pub mod message;
#[cfg(feature = "call")]
pub mod model;
mod policy;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "call")]
mod turn;

#[cfg(feature = "bedrock")]
pub use bedrock::BedrockMessage;
pub use manager::{Entry, Format, LastMessage, LeftOut, ManagerError, MessagesManager, Summarizing};
pub use message::{
    Attribute, Content, Contents, Draft, Heard, HeardSource, Message, MessageId, MessageWrapper, Metadata,
    PlainMessage, Record, Role, Timing, ToolCall, ToolResult, Value,
};

pub use policy::{Policy, TokenPrices, estimate_tokens};

/// The programs of `docs/`, compiled and run as documentation tests.
#[cfg(all(doctest, feature = "embedded", feature = "testing"))]
mod programs {
    #[doc = include_str!("../docs/conversations.md")]
    struct Conversations;
    #[doc = include_str!("../docs/log.md")]
    struct Log;
    #[doc = include_str!("../docs/twilio.md")]
    struct Twilio;
    #[doc = include_str!("../docs/livekit.md")]
    struct LiveKit;
    #[doc = include_str!("../docs/amazon-connect.md")]
    struct AmazonConnect;
    #[doc = include_str!("../docs/tools.md")]
    struct Tools;
}
