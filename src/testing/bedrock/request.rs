//! [`ReceivedRequest`]: what a client has asked, as a script and a test see it.

use std::fmt;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, Message, SystemContentBlock, Tool};
use bytes::Bytes;

/// A request of a client.
#[derive(Clone)]
pub struct ReceivedRequest {
    number: u64,
    is_streaming: bool,
    input: ConverseInput,
    body: Bytes,
}

impl ReceivedRequest {
    pub(super) fn new(number: u64, is_streaming: bool, input: ConverseInput, body: Bytes) -> Self {
        Self { number, is_streaming, input, body }
    }

    /// How many readable requests came before it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the operation is `ConverseStream`, not `Converse`.
    pub fn is_streaming(&self) -> bool {
        self.is_streaming
    }

    /// The model, or the inference profile, that is asked.
    pub fn model_id(&self) -> &str {
        self.input.model_id.as_deref().unwrap_or_default()
    }

    /// The blocks of the system prompt.
    pub fn system(&self) -> &[SystemContentBlock] {
        self.input.system()
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        self.input.messages()
    }

    /// The tools that the model may call.
    pub fn tools(&self) -> &[Tool] {
        self.input.tool_config().map_or(&[], |config| &config.tools)
    }

    /// The last text of the last message: what the model is asked, where that is no result of a tool.
    pub fn last_text(&self) -> Option<&str> {
        let contents = self.messages().last()?.content.iter().rev();
        contents.filter_map(|block| block.as_text().ok()).next().map(String::as_str)
    }

    /// All of it that a stand-in reads: messages, system prompt, tools, inference settings.
    pub fn input(&self) -> &ConverseInput {
        &self.input
    }

    /// The body as it was sent, byte for byte.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// How many, and how long; not the words.
impl fmt::Debug for ReceivedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = |message: &Message| message.content.iter().map(kind).collect::<Vec<_>>();
        f.debug_struct("ReceivedRequest")
            .field("number", &self.number)
            .field("is_streaming", &self.is_streaming)
            .field("model_id", &self.model_id())
            .field("system", &self.system().len())
            .field("messages", &self.messages().iter().map(kinds).collect::<Vec<_>>())
            .field("tools", &self.tools().len())
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

fn kind(block: &ContentBlock) -> &'static str {
    match block {
        ContentBlock::Text(_) => "text",
        ContentBlock::ToolUse(_) => "toolUse",
        ContentBlock::ToolResult(_) => "toolResult",
        ContentBlock::Image(_) => "image",
        ContentBlock::Video(_) => "video",
        ContentBlock::Document(_) => "document",
        ContentBlock::CachePoint(_) => "cachePoint",
        _ => "other",
    }
}
