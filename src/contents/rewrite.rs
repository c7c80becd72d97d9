//! [`Rewrite`]: a walk over the contents of a record except its texts.

use crate::message::{Content, Map, Media, Source, ToolCall, ToolResult};

/// Replaces the data of contents: bytes by references, or references by bytes.
pub(super) trait Rewrite {
    fn source(&mut self, source: &mut Source, beside: &mut Option<Map>);

    fn tool_call(&mut self, tool_call: &ToolCall) -> ToolCall;

    fn result(&mut self, result: &ToolResult) -> ToolResult;

    fn other(&mut self, content: &Content) -> Content {
        match content {
            Content::Media(media) => self.media(media).into(),
            Content::ToolCall(tool_call) => self.tool_call(tool_call).into(),
            Content::ToolResult(result) => self.result(result).into(),
            Content::Text(_) | Content::Unknown(_) => content.clone(),
        }
    }

    fn media(&mut self, media: &Media) -> Media {
        let mut media = media.clone();
        self.source(&mut media.source, &mut media.unknown);
        media
    }
}
