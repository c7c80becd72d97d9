//! [`ReceivedRequest`]: a request of a client.

use std::fmt;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, Message};
use bytes::Bytes;

/// A request that a [`FakeBedrock`](super::FakeBedrock) received.
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

    /// Returns the number of this request among those of [`requests`](super::FakeBedrock::requests), from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether the operation is `ConverseStream`, not `Converse`.
    pub fn is_streaming(&self) -> bool {
        self.is_streaming
    }

    /// Returns the last text of the last message. A tool result is not a text.
    pub fn last_text(&self) -> Option<&str> {
        let contents = self.input.messages().last()?.content.iter().rev();
        contents.filter_map(|block| block.as_text().ok()).next().map(String::as_str)
    }

    /// Returns the request as the SDK's type, without fields that the fake ignores, such as prompt variables.
    pub fn input(&self) -> &ConverseInput {
        &self.input
    }

    /// Returns the bytes of the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// Shows kinds and counts, not the words.
impl fmt::Debug for ReceivedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = |message: &Message| message.content.iter().map(kind).collect::<Vec<_>>();
        f.debug_struct("ReceivedRequest")
            .field("number", &self.number)
            .field("is_streaming", &self.is_streaming)
            .field("model_id", &self.input.model_id())
            .field("system", &self.input.system().len())
            .field("messages", &self.input.messages().iter().map(kinds).collect::<Vec<_>>())
            .field("tools", &self.input.tool_config().map_or(0, |config| config.tools().len()))
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
