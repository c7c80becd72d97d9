//! Images, videos and documents: too many, too large, in the wrong place, or without a name that Bedrock takes.

use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConversationRole, DocumentBlock, ImageBlock, Message, ToolResultContentBlock,
};

use super::Repairs;
use crate::bedrock::attachment::{document_name, is_document_name};
use crate::bedrock::escape::unavailable;
use crate::bedrock::flatten::{documents, name_documents_apart};
use crate::bedrock::validate::{Attached, Place, Profile, attached, attached_part, document_bytes, image_bytes};

pub(super) fn mend(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    tell_of_assistant(messages, repairs);
    if !profile.takes_videos {
        let is_video = |attached: Attached<'_>| matches!(attached, Attached::Video(_));
        tell(messages, is_video, "a video, which this model does not take,", repairs);
    }
    if !profile.takes_s3 {
        let what = "what is in S3, from where this model is given nothing: add its bytes,";
        tell(messages, |attached: Attached<'_>| attached.is_in_s3(), what, repairs);
    }
    let is_too_large = |image: &ImageBlock| image_bytes(image) > profile.max_image_bytes;
    tell(messages, is_image(is_too_large), "an image that is too large", repairs);
    let is_too_large = |document: &DocumentBlock| document_bytes(document) > profile.max_document_bytes;
    tell(messages, is_document(is_too_large), "a document that is too large", repairs);
    tell_oldest(messages, is_image(|_| true), profile.max_images, "an image, of which there were too many,", repairs);
    let what = "a document, of which there were too many,";
    tell_oldest(messages, is_document(|_| true), profile.max_documents, what, repairs);
    name_documents(messages, repairs);
    put_texts_beside_documents(messages, repairs);
}

fn is_image(is_one: impl Fn(&ImageBlock) -> bool) -> impl Fn(Attached<'_>) -> bool {
    move |attached| matches!(attached, Attached::Image(image) if is_one(image))
}

fn is_document(is_one: impl Fn(&DocumentBlock) -> bool) -> impl Fn(Attached<'_>) -> bool {
    move |attached| matches!(attached, Attached::Document(document) if is_one(document))
}

/// Bedrock takes none from the assistant.
fn tell_of_assistant(messages: &mut [Message], repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate().filter(|(_, message)| message.role != ConversationRole::User) {
        for (c, block) in message.content.iter_mut().enumerate().filter(|(_, block)| !block.is_tool_result()) {
            if let [(_, attached)] = attached(block)[..] {
                *block = ContentBlock::Text(told(attached));
                repairs.add(Place::Content(m, c), "an attachment of the assistant became a text");
            }
        }
    }
}

/// A text stands in for each attachment that is one of those.
fn tell(messages: &mut [Message], mut is_one: impl FnMut(Attached<'_>) -> bool, what: &str, repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        for (c, block) in message.content.iter_mut().enumerate() {
            let place = Place::Content(m, c);
            if let ContentBlock::ToolResult(result) = block {
                for part in &mut result.content {
                    if let Some(text) = attached_part(part).filter(|attached| is_one(*attached)).map(told) {
                        *part = ToolResultContentBlock::Text(text);
                        repairs.add(place, format_args!("{what} became a text in a tool's result"));
                    }
                }
            } else if let [(_, attached)] = attached(block)[..]
                && is_one(attached)
            {
                *block = ContentBlock::Text(told(attached));
                repairs.add(place, format_args!("{what} became a text"));
            }
        }
    }
}

fn told(attached: Attached<'_>) -> String {
    let label = match attached {
        Attached::Image(image) => format!("image/{}", image.format.as_str()),
        Attached::Video(video) => format!("video/{}", video.format.as_str()),
        Attached::Document(document) => document.name.clone(),
    };
    unavailable(attached.kind(), Some(&label))
}

/// Of those, the newest `max` stay.
fn tell_oldest(
    messages: &mut [Message],
    is_one: impl Fn(Attached<'_>) -> bool,
    max: usize,
    what: &str,
    repairs: &mut Repairs,
) {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let mut surplus = blocks.flat_map(attached).filter(|(_, attached)| is_one(*attached)).count().saturating_sub(max);
    let is_surplus = |attached: Attached<'_>| {
        let is_surplus = surplus > 0 && is_one(attached);
        surplus -= usize::from(is_surplus);
        is_surplus
    };
    tell(messages, is_surplus, what, repairs);
}

fn name_documents(messages: &mut [Message], repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        for (c, block) in message.content.iter_mut().enumerate() {
            for document in documents(block) {
                if !is_document_name(&document.name) {
                    document.name = document_name(&document.name);
                    repairs.add(Place::Content(m, c), "a document got a name that Bedrock takes");
                }
            }
        }
    }
    if name_documents_apart(messages) > 0 {
        repairs.add(Place::Request, "documents of one name were told apart by a number");
    }
}

fn put_texts_beside_documents(messages: &mut [Message], repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        let has = |is_one: fn(&ContentBlock) -> bool| message.content.iter().any(is_one);
        if has(ContentBlock::is_document) && !has(ContentBlock::is_text) {
            message.content.push(ContentBlock::Text("[document]".to_owned()));
            repairs.add(Place::Message(m), "a text was put beside a document");
        }
    }
}
