//! What a message is: its id and place, its role, its contents, what was heard of it, its metadata, its record.
//!
//! Owns every rule about one message alone. Knows nothing of conversations, providers or databases.

mod confidence;
mod content;
mod decision;
mod draft;
mod error;
mod escape;
mod heard;
mod id;
mod marks;
mod metadata;
mod part;
mod record;
mod role;
mod summary_line;
mod text;
mod turn;
mod unknown;
mod value;
mod wrapper;

use std::borrow::Cow;
use std::fmt;

pub use confidence::Confidence;
pub use content::{
    Content, Contents, Document, Media, MediaKind, Outcome, ResultContent, ResultContents, Source, ToolCall,
    ToolCallError, ToolCallId, ToolName, ToolResult,
};
pub use decision::{Decision, ForkedFrom, RoleHint, Step};
pub use draft::Draft;
pub use error::MessageError;
#[cfg(test)]
pub(crate) use escape::is_harmful;
pub(crate) use escape::{is_invisible, json_on_one_line, on_one_line, quoted, visible};
pub use heard::{Heard, HeardSource};
pub use id::{MessageId, Position};
pub(crate) use marks::check_ms;
pub use marks::{Attribute, Timing};
pub use metadata::Metadata;
pub use part::Part;
pub(crate) use part::PartData;
pub use record::Record;
pub use role::Role;
pub(crate) use text::{PLACEHOLDER, is_blank_char};
pub use text::{Text, is_blank};
pub use turn::{RequestRecord, TokenRecord, TurnRecord};
pub use value::{Entries, IntoValue, List, MAX_DEPTH, MAX_DIGITS, Map, Number, Value};
pub use wrapper::{MessageWrapper, PlainMessage};

#[doc = include_str!("../../docs/times.md")]
pub mod times {}

/// One message of a conversation. Only its [`MessagesManager`](crate::MessagesManager) changes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    id: MessageId,
    position: Position,
    revision: u32,
    role: Role,
    heard: Option<Heard>,
    contents: Contents,
    metadata: Metadata,
}

impl Message {
    #[inline]
    pub(crate) fn new(id: MessageId, position: Position, role: Role, contents: Contents, creation_ms: i64) -> Self {
        Self { id, position, revision: 1, role, heard: None, contents, metadata: Metadata::new(creation_ms) }
    }

    /// The id: unique, and random but for its time.
    #[inline]
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// Where it stands in the conversation.
    #[inline]
    pub fn position(&self) -> Position {
        self.position
    }

    /// How often it changed, from 1: contents, metadata, timing, heard text.
    #[inline]
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// Who speaks.
    #[inline]
    pub fn role(&self) -> Role {
        self.role
    }

    /// What was said, or generated.
    #[inline]
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// What is known about it.
    #[inline]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What was heard of it, where the caller broke in; `None` means all of it.
    #[inline]
    pub fn heard(&self) -> Option<Heard> {
        self.heard
    }

    /// The contents as the caller knows them: texts cut to what was heard.
    #[inline]
    pub fn heard_contents(&self) -> Cow<'_, Contents> {
        match self.heard {
            Some(heard) => Cow::Owned(heard.cut(&self.contents)),
            None => Cow::Borrowed(&self.contents),
        }
    }

    /// Whether the manager made it up to open a window; nobody said it.
    #[inline]
    pub fn is_fake(&self) -> bool {
        self.metadata.has(Attribute::Fake)
    }

    /// Whether both are one message that says the same to the model.
    #[inline]
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        self.id == other.id && self.heard == other.heard && self.contents.is_same(&other.contents)
    }

    pub(crate) fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    #[inline]
    pub(crate) fn raise_revision(&mut self) {
        self.revision = self.revision.saturating_add(1);
    }

    /// Merges what arrived as a message with this id.
    pub(crate) fn merge(&mut self, contents: Contents, id: MessageId, created_ms: i64) {
        let start = u32::try_from(self.contents.len()).unwrap_or(u32::MAX);
        self.contents.extend(contents);
        self.metadata.add_part(self.id, PartData::new(id, created_ms, start));
        self.metadata.add_attribute(Attribute::Merged);
    }

    /// Sets how sure the speech recognition was of the last part.
    pub(crate) fn set_confidence(&mut self, confidence: Confidence) {
        if let Some(part) = self.metadata.last_part(self.id) {
            part.confidence = Some(confidence);
        }
    }

    /// Sets a moment of the last part. The message as a whole keeps the first start and gets this end.
    pub(crate) fn set_part_timing(&mut self, timing: Timing, at_ms: i64) {
        let is_merged = self.metadata.part_data().len() > 1;
        if is_merged && let Some(part) = self.metadata.last_part(self.id) {
            part.set_timing(timing, at_ms);
        }
        if !(is_merged && timing.is_start() && self.metadata.timing(timing).is_some()) {
            self.metadata.set_timing(timing, at_ms);
        }
    }

    pub(crate) fn set_heard(&mut self, heard: Option<Heard>) {
        self.heard = heard.map(|heard| heard.clamped_to(&self.contents));
        self.metadata.forget_unknown_of_heard();
    }

    /// The same message with other contents, all of them heard and of one part.
    pub(crate) fn with_contents(&self, contents: Contents) -> Self {
        let mut message = self.rewritten(contents, None, self.metadata.clone());
        message.metadata.forget_parts();
        message
    }

    /// The same message with another content for each of its contents, what was heard of these, and other metadata.
    pub(crate) fn rewritten(&self, contents: Contents, heard: Option<Heard>, metadata: Metadata) -> Self {
        Self {
            id: self.id,
            position: self.position,
            revision: self.revision,
            role: self.role,
            heard: heard.map(|heard| heard.clamped_to(&contents)),
            contents,
            metadata,
        }
    }
}

/// Kinds and lengths, not the words.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("position", &self.position)
            .field("revision", &self.revision)
            .field("role", &self.role)
            .field("contents", &self.contents)
            .field("heard", &self.heard)
            .field("metadata", &self.metadata)
            .finish()
    }
}
