//! [`BedrockMessage`]: a message that converts to a message of Converse.

use std::ops::{Deref, DerefMut};

use aws_sdk_bedrockruntime::types::{self, ContentBlock, ConversationRole};

use super::attachment::{Attachment, media_text};
use super::error::BedrockError;
use super::tool::{tool_result, tool_use};
use crate::message::{Content, Message, MessageWrapper, Role, is_blank};

/// A message of a conversation on Amazon Bedrock. Its raw type is the SDK's
/// [`Message`](aws_sdk_bedrockruntime::types::Message).
///
/// Contents that Converse does not accept become texts:
///
/// - Audio, `https` URLs, content ids and unknown formats become `[audio "the greeting": not available to the model]`.
///   The quotes hold the prompt hint, the title or the MIME type. The model sees an image, a video or a document if it
///   was added as bytes, if [`contents::resolve`](crate::contents::resolve) loaded it from the content store, or, for
///   Nova, if it has an `s3://` URL. For audio, add a transcript.
/// - Images, videos and documents of the assistant become the same text, because Converse accepts them only from users.
/// - A tool result that is JSON but not an object becomes text; an empty one becomes `{}`. A tool error includes its type
///   and whether a retry may help.
///
/// The prompt hint of an image or a video is a text before it: `[image "the receipt"]`. The format of bytes is their
/// [detected type](crate::message::Media::known_type), not the declared one. Arguments that JSON cannot express become
/// strings: bytes become base64, and a number its digits if no `i64`, `u64` or `f64` holds it exactly.
///
/// Blank texts, which Bedrock refuses, and contents of kinds unknown to this version are left out. Tool results come
/// first in their message and tool calls last, as Claude requires. A document without a text beside it gets a text.
///
/// `to_raw` returns [`BedrockError`] if the role is `Summary` or `System`, or if no contents are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BedrockMessage(Message);

impl MessageWrapper for BedrockMessage {
    type Raw = types::Message;
    type Error = BedrockError;

    #[inline]
    fn to_raw(&self) -> Result<types::Message, BedrockError> {
        raw(&self.0)
    }
}

/// Converts a message as [`BedrockMessage`] documents it.
#[inline]
pub(super) fn raw(message: &Message) -> Result<types::Message, BedrockError> {
    let id = message.id();
    let role = match message.role() {
        Role::User => ConversationRole::User,
        Role::Assistant => ConversationRole::Assistant,
        role @ (Role::Summary | Role::System) => return Err(BedrockError::role(id, role)),
    };
    let content = match &**message.contents() {
        // Fast path for the usual message.
        [Content::Text(text)] if !is_blank(text) => vec![ContentBlock::Text(text.as_str().to_owned())],
        _ => content_blocks(message)?,
    };
    if content.is_empty() {
        return Err(BedrockError::empty(id));
    }
    types::Message::builder().role(role).set_content(Some(content)).build().map_err(BedrockError::build("a message"))
}

impl From<Message> for BedrockMessage {
    fn from(message: Message) -> Self {
        Self(message)
    }
}

impl Deref for BedrockMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.0
    }
}

impl DerefMut for BedrockMessage {
    fn deref_mut(&mut self) -> &mut Message {
        &mut self.0
    }
}

fn content_blocks(message: &Message) -> Result<Vec<ContentBlock>, BedrockError> {
    let mut blocks = Vec::with_capacity(message.contents().len());
    let (mut calls, mut results) = (0, 0);
    for content in message.contents() {
        let block = match content {
            content if content.is_blank() => continue,
            Content::Text(text) => ContentBlock::Text(text.as_str().to_owned()),
            Content::Media(media) if message.role() == Role::User => {
                blocks.extend(Attachment::media(media)?.into_iter().map(ContentBlock::from));
                continue;
            }
            Content::Media(media) => ContentBlock::Text(media_text(media)),
            Content::ToolCall(tool_call) => ContentBlock::ToolUse(tool_use(tool_call)?),
            Content::ToolResult(result) => ContentBlock::ToolResult(tool_result(result)?),
            Content::Unknown(_) => continue,
        };
        calls += usize::from(block.is_tool_use());
        results += usize::from(block.is_tool_result());
        blocks.push(block);
    }
    if results > 0 {
        blocks.sort_by_key(|block| !block.is_tool_result());
    }
    if calls > 0 {
        blocks.sort_by_key(ContentBlock::is_tool_use);
    }
    if blocks.iter().any(ContentBlock::is_document) && !blocks.iter().any(ContentBlock::is_text) {
        blocks.push(ContentBlock::Text("[document]".to_owned()));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests;
