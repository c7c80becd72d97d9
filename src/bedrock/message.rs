//! [`BedrockMessage`]: a message in the shape that Converse wants.

use aws_sdk_bedrockruntime::types::{self, ContentBlock, ConversationRole};

use super::attachment::{Attachment, told_document, told_media};
use super::error::BedrockError;
use super::tool::{tool_result, tool_use};
use crate::message::{Content, Message, MessageWrapper, Role};

/// A message as Amazon Bedrock's Converse wants it; its raw type is the SDK's
/// [`Message`](aws_sdk_bedrockruntime::types::Message).
///
/// What Converse does not take is told to the model as a text, and never dropped:
///
/// - Sound, an `https` URL, a content id, and what is of no type that Converse takes become
///   `[audio "the greeting": not available to the model]`, with the prompt hint, the title or the MIME type in quotes.
///   [`contents::resolve`](crate::contents::resolve) puts in what is in a content store; what else the model is to see,
///   add as bytes, or, for Nova, at an `s3://` URL.
/// - Images, videos and documents of the assistant likewise: Converse takes them from users only.
/// - What is given has its prompt hint in front, `[image "the receipt"]`, and bytes go as
///   [what they are](crate::message::Media::known_type), whatever is said of them.
/// - A tool's result of nothing becomes `{}`, and JSON that is no object a text. An error is told with its type and
///   whether trying again may help. See [`to_document`](super::to_document) for arguments that JSON cannot say.
///
/// Left out are blank texts, which Bedrock refuses, and contents of a kind that only a newer version knows. Tool results
/// come first in their message, as Claude wants them. A document without a text beside it gets one.
///
/// `to_raw` fails for summaries and supervisor messages, and for a message of which nothing is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BedrockMessage(Message);

impl MessageWrapper for BedrockMessage {
    type Raw = types::Message;
    type Error = BedrockError;

    fn wrap(message: Message) -> Self {
        Self(message)
    }

    fn message(&self) -> &Message {
        &self.0
    }

    fn message_mut(&mut self) -> &mut Message {
        &mut self.0
    }

    fn to_raw(&self) -> Result<types::Message, BedrockError> {
        let id = self.0.id();
        let role = match self.0.role() {
            Role::User => ConversationRole::User,
            Role::Assistant => ConversationRole::Assistant,
            role @ (Role::Summary | Role::System) => return Err(BedrockError::NotSpoken { id, role }),
        };
        let content = content_blocks(&self.0)?;
        if content.is_empty() {
            return Err(BedrockError::Empty { id });
        }
        types::Message::builder()
            .role(role)
            .set_content(Some(content))
            .build()
            .map_err(BedrockError::build("a message"))
    }
}

fn content_blocks(message: &Message) -> Result<Vec<ContentBlock>, BedrockError> {
    let mut blocks = Vec::with_capacity(message.contents().len());
    let mut results = 0;
    let mut has_documents = false;
    for content in message.contents() {
        let block = match content {
            content if content.is_blank() => continue,
            Content::Text(text) => ContentBlock::Text(text.as_str().to_owned()),
            Content::Media(media) if message.role() == Role::User => {
                blocks.extend(Attachment::media(media)?.into_iter().map(ContentBlock::from));
                continue;
            }
            Content::Media(media) => ContentBlock::Text(told_media(media)),
            Content::Document(document) if message.role() == Role::User => Attachment::document(document)?.into(),
            Content::Document(document) => ContentBlock::Text(told_document(document)),
            Content::ToolCall(tool_call) => ContentBlock::ToolUse(tool_use(tool_call)?),
            Content::ToolResult(result) => ContentBlock::ToolResult(tool_result(result)?),
            Content::Unknown(_) => continue,
        };
        results += usize::from(block.is_tool_result());
        has_documents |= block.is_document();
        blocks.push(block);
    }
    if results > 0 {
        blocks.sort_by_key(|block| !block.is_tool_result());
    }
    if has_documents && !blocks.iter().any(ContentBlock::is_text) {
        blocks.push(ContentBlock::Text("[document]".to_owned()));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests;
