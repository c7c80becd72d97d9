//! [`Content`]: one content of a message.

mod codec;
mod contents;
mod identifier;
mod media;
mod result;
#[cfg(feature = "schema")]
mod schema;
mod tool_call;

use std::fmt;

pub use contents::Contents;
pub use identifier::{ToolCallId, ToolName};
pub use media::{Media, MediaKind, Source};
pub use result::{ResultContent, ResultContents};
pub(crate) use tool_call::Outcome;
pub use tool_call::{ToolCall, ToolError, ToolResult};

use crate::message::text::{Text, is_blank};
use crate::message::value::Map;

/// One content of a message.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
// A text is one word. The others are boxed to keep a message small.
pub enum Content {
    /// Spoken or written words.
    Text(Text),
    /// An image, audio, a video or a document.
    Media(Box<Media>),
    /// A tool call, in assistant messages.
    ToolCall(Box<ToolCall>),
    /// The result of a tool call, in user messages.
    ToolResult(Box<ToolResult>),
    /// A content that a newer version wrote. It is kept and logged, but never sent to a model.
    Unknown(Box<Map>),
}

impl Content {
    /// Returns the text, or `None` for another kind of content.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the tool call, or `None` for another kind of content.
    #[inline]
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolCall(tool_call) => Some(tool_call),
            _ => None,
        }
    }

    /// Returns the tool result, or `None` for another kind of content.
    #[inline]
    pub fn as_result(&self) -> Option<&ToolResult> {
        match self {
            Self::ToolResult(result) => Some(result),
            _ => None,
        }
    }

    /// Returns whether the content is a text without visible characters.
    #[inline]
    pub(crate) fn is_blank(&self) -> bool {
        self.as_text().is_some_and(|text| is_blank(text))
    }

    /// Returns whether the caller produced the content of a user message.
    #[inline]
    pub(crate) fn is_callers(&self) -> bool {
        !matches!(self, Self::ToolResult(_) | Self::Unknown(_))
    }
}

/// Shows kinds and lengths, not the words.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Media(media) => media.fmt(f),
            Self::ToolCall(tool_call) => tool_call.fmt(f),
            Self::ToolResult(result) => result.fmt(f),
            Self::Unknown(map) => write!(f, "Unknown({} entries)", map.len()),
        }
    }
}

impl<T: Into<Text>> From<T> for Content {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl From<Media> for Content {
    fn from(media: Media) -> Self {
        Self::Media(Box::new(media))
    }
}

impl From<ToolCall> for Content {
    fn from(tool_call: ToolCall) -> Self {
        Self::ToolCall(Box::new(tool_call))
    }
}

impl From<ToolResult> for Content {
    fn from(result: ToolResult) -> Self {
        Self::ToolResult(Box::new(result))
    }
}
