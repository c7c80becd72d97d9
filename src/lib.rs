//! verbale keeps the conversation of a phone call with an LLM.

pub mod clock;
pub mod manager;
pub mod message;
pub mod model;
pub mod policy;

pub use manager::{
    Changes, Entry, Format, ManagerError, MessagesManager, Receipt, RestoreError, Summarizing, Tail, Window,
};
pub use message::{
    Attribute, Content, Contents, Heard, Invocation, InvocationResult, Message, MessageId, MessageWrapper, Metadata,
    PlainMessage, Provenance, Record, Role, Timing, Value,
};
