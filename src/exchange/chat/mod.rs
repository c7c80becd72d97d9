//! Chat messages: each with its id, its conversation, its role, its content, its time and its metadata.

mod read;
mod write;

pub use read::import_chat;
pub use write::export_chat;

/// The key of the custom data that keeps a `message_id` that is not a ULID.
const MESSAGE_ID: &str = "chatMessageId";

/// The key of the custom data that keeps the `input_id` of a message that also has a `message_id`.
const INPUT_ID: &str = "chatInputId";

/// The conversation of a message without a `conversation_id`.
const DEFAULT_CONVERSATION: &str = "default";
