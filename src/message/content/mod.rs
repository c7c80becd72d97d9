//! [`Content`]: the kinds of things a message is made of.

mod codec;
mod contents;
mod invocation;
mod media;
mod result;
mod schema;

use std::fmt;

pub use contents::Contents;
pub use invocation::{Invocation, InvocationError, InvocationId, InvocationResult, Outcome, ToolName};
pub use media::{Document, Media, MediaKind, Source};
pub use result::{ResultContent, ResultContents};

use crate::message::text::{Text, is_blank};
use crate::message::value::Map;

/// One content of a message.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
// The usual content, text, is two words; the others are boxed, so that a message stays small.
pub enum Content {
    /// Spoken or written words.
    Text(Text),
    /// An image, sound or video.
    Media(Box<Media>),
    /// A reference document.
    Document(Box<Document>),
    /// A tool call, in assistant messages.
    Invocation(Box<Invocation>),
    /// The result of a tool call, in user messages.
    InvocationResult(Box<InvocationResult>),
    /// What a newer writer calls a content: kept and logged, never handed to a model.
    Unknown(Box<Map>),
}

impl Content {
    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The tool call, where it is one.
    #[inline]
    pub fn as_invocation(&self) -> Option<&Invocation> {
        match self {
            Self::Invocation(invocation) => Some(invocation),
            _ => None,
        }
    }

    /// The result of a tool call, where it is one.
    #[inline]
    pub fn as_result(&self) -> Option<&InvocationResult> {
        match self {
            Self::InvocationResult(result) => Some(result),
            _ => None,
        }
    }

    /// Whether it is a text that says nothing.
    #[inline]
    pub fn is_blank(&self) -> bool {
        self.as_text().is_some_and(|text| is_blank(text))
    }
}

/// Kinds and lengths, not the words.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Media(media) => media.fmt(f),
            Self::Document(document) => document.fmt(f),
            Self::Invocation(invocation) => invocation.fmt(f),
            Self::InvocationResult(result) => result.fmt(f),
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

impl From<Document> for Content {
    fn from(document: Document) -> Self {
        Self::Document(Box::new(document))
    }
}

impl From<Invocation> for Content {
    fn from(invocation: Invocation) -> Self {
        Self::Invocation(Box::new(invocation))
    }
}

impl From<InvocationResult> for Content {
    fn from(result: InvocationResult) -> Self {
        Self::InvocationResult(Box::new(result))
    }
}
