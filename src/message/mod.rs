//! One message: its id, position, role, contents, heard text, metadata and record.
//!
//! This module contains the rules about a single message. It does not know conversations, providers or databases.

mod amount;
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
mod names;
mod part;
mod prompt_hash;
mod rarely;
mod record;
mod role;
#[cfg(feature = "schema")]
mod schemas;
mod text;
mod times;
mod turn;
mod unknown;
mod value;
mod wrapper;

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

pub(crate) use amount::Amount;
pub(crate) use confidence::Confidence;
pub(crate) use content::Outcome;
pub use content::{
    Content, Contents, Media, MediaKind, ResultContent, ResultContents, Source, ToolCall, ToolCallId, ToolError,
    ToolName, ToolResult,
};
pub use decision::{Decision, ForkedFrom, RoleHint};
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
pub(crate) use part::{Measured, PartData};
pub(crate) use prompt_hash::PromptHash;
pub(crate) use rarely::{Empty, Rarely};
pub(crate) use record::AsRecord;
pub use record::Record;
pub use role::Role;
pub(crate) use text::{PLACEHOLDER, is_blank_char};
pub use text::{Text, is_blank};
#[cfg(test)]
pub(crate) use turn::RareRequestData;
pub(crate) use turn::RequestRecord;
pub use turn::TurnRecord;
pub(crate) use value::MAX_DEPTH;
pub use value::{List, Map, Number, Value};
pub use wrapper::{MessageWrapper, PlainMessage};

/// One message of a conversation. Only its [`MessagesManager`](crate::MessagesManager) can change it.
///
/// It takes 56 bytes on 64-bit systems, besides its texts: what few messages have is elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    id: MessageId,
    contents: Contents,
    metadata: Metadata,
}

impl Message {
    #[inline]
    pub(crate) fn new(id: MessageId, position: Position, role: Role, contents: Contents, creation_ms: i64) -> Self {
        Self { id, contents, metadata: Metadata::new(position, role, creation_ms) }
    }

    /// Returns the id, which is unique.
    #[inline]
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// Returns the position in the conversation.
    #[inline]
    pub fn position(&self) -> Position {
        self.metadata.position()
    }

    /// Returns the revision, from 1. Each change of the contents, metadata, times or heard prefix raises the revision.
    #[inline]
    pub fn revision(&self) -> u32 {
        self.metadata.revision()
    }

    /// Returns the speaker.
    #[inline]
    pub fn role(&self) -> Role {
        self.metadata.role
    }

    /// Returns the contents as they were said or generated.
    #[inline]
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Returns the metadata.
    #[inline]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the prefix that the caller heard, or `None` if no report says that the caller heard less than all of it.
    #[inline]
    pub fn heard(&self) -> Option<Heard> {
        self.metadata.heard()
    }

    /// Returns the contents with the texts cut to the heard prefix. Unheard texts are left out; other contents stay.
    #[inline]
    pub fn heard_contents(&self) -> Cow<'_, Contents> {
        match self.heard() {
            Some(heard) => Cow::Owned(heard.cut(&self.contents)),
            None => Cow::Borrowed(&self.contents),
        }
    }

    /// The approximate size in a record in bytes.
    pub(crate) fn record_bytes(&self) -> usize {
        self.metadata.record_bytes() + self.contents.record_bytes()
    }

    /// Returns whether the manager inserted the message so that the window starts with a user message. Nobody said it.
    #[inline]
    pub fn is_fake(&self) -> bool {
        self.metadata.has(Attribute::Fake)
    }

    /// Returns whether the message is a fixed sentence: the service wrote it, and no answer of a model was merged into
    /// it.
    pub(crate) fn is_fixed(&self) -> bool {
        self.metadata.has(Attribute::Hardcoded) && self.metadata.timing(Timing::LlmEnd).is_none()
    }

    /// Returns whether the message is background for the model, which nobody said: a user message with the attribute
    /// [`Hardcoded`](Attribute::Hardcoded).
    pub fn is_background(&self) -> bool {
        self.role() == Role::User && self.metadata.has(Attribute::Hardcoded)
    }

    /// Removes the mark of background.
    pub(crate) fn unmark_background(&mut self) {
        self.metadata.flags &= !Attribute::Hardcoded.bit();
    }

    /// Returns whether the message holds words of the caller, or words for the assistant to speak.
    pub(crate) fn is_said(&self) -> bool {
        self.role().is_spoken() && !self.is_fake() && !self.is_background()
    }

    /// Returns whether a turn starts with the message: the caller says something in it.
    pub(crate) fn starts_turn(&self) -> bool {
        self.role() == Role::User && !self.is_fake() && self.contents.iter().any(Content::is_callers)
    }

    /// Replaces the result of a tool call.
    pub(crate) fn replace_result(&mut self, result: &ToolResult) {
        let is_it = |known: &ToolResult| known.tool_call_id() == result.tool_call_id();
        let replaced = |content: &Content| match content {
            Content::ToolResult(known) if is_it(known) => result.clone().into(),
            other => other.clone(),
        };
        self.contents = self.contents.iter().map(replaced).collect();
    }

    /// Returns whether both have the same id and the same meaning for the model.
    #[inline]
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        self.id == other.id && self.heard() == other.heard() && self.contents.is_same(&other.contents)
    }

    pub(crate) fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    #[inline]
    pub(crate) fn raise_revision(&mut self) {
        self.metadata.set_revision(NonZeroU32::MIN.saturating_add(self.revision()));
    }

    /// Appends the contents of a message that arrived with `id`, as a part.
    pub(crate) fn merge(&mut self, contents: &Contents, id: MessageId, created_ms: i64) {
        let start = u32::try_from(self.contents.len()).unwrap_or(u32::MAX);
        self.contents.extend(contents.iter().cloned());
        self.metadata.add_part(PartData::new(id, created_ms, start));
        self.metadata.add_attribute(Attribute::Merged);
    }

    /// Sets the confidence of the last part.
    pub(crate) fn set_confidence(&mut self, confidence: Confidence) {
        self.metadata.last_measured().confidence = Some(confidence);
    }

    /// Sets a time of the last part. The message as a whole keeps its first start and gets this end.
    pub(crate) fn set_part_timing(&mut self, timing: Timing, at_ms: i64) {
        let last = self.metadata.last_later_part();
        let is_merged = last.is_some();
        last.into_iter().for_each(|part| part.set_timing(timing, at_ms));
        if !(is_merged && timing.is_start() && self.metadata.timing(timing).is_some()) {
            self.metadata.set_timing(timing, at_ms);
        }
    }

    pub(crate) fn set_heard(&mut self, heard: Option<Heard>) {
        self.metadata.set_heard(heard.map(|heard| heard.clamped_to(&self.contents)));
        self.metadata.remove_unknown_of_heard();
    }

    /// Returns the message with other contents, which were all heard and are one part.
    pub(crate) fn with_contents(&self, contents: Contents) -> Self {
        let mut message = self.rewritten(contents, None, self.metadata.clone());
        message.metadata.remove_parts();
        message
    }

    /// Returns the message with a replacement for each of its contents, for its heard prefix and for its metadata.
    pub(crate) fn rewritten(&self, contents: Contents, heard: Option<Heard>, metadata: Metadata) -> Self {
        let mut message = Self { contents, metadata, ..*self };
        message.metadata.set_heard(heard.map(|heard| heard.clamped_to(&message.contents)));
        message
    }
}

/// Shows kinds and lengths, not the words.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("position", &self.position())
            .field("revision", &self.revision())
            .field("role", &self.role())
            .field("contents", &self.contents)
            .field("metadata", &self.metadata)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_takes_56_bytes() {
        assert_eq!(size_of::<Message>(), 56);
    }
}
