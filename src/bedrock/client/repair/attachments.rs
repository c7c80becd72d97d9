//! Repairs attachments: too many, too large, in the wrong place, or with an invalid name.

use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConversationRole, DocumentBlock, ImageBlock, Message, ToolResultContentBlock,
};

use super::Repairs;
use crate::bedrock::attachment::{document_name, is_document_name};
use crate::bedrock::escape::unavailable;
use crate::bedrock::flatten::{documents, number_duplicate_names};
use crate::bedrock::profile::Profile;
use crate::bedrock::validate::{Attached, Place, attached, attached_part, document_bytes, image_bytes, longest_side};

pub(super) fn repair(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    replace_of_assistant(messages, repairs);
    if !profile.supports_videos {
        let is_video = |attached: Attached<'_>| matches!(attached, Attached::Video(_));
        replace(messages, is_video, "the model does not support videos", repairs);
    }
    if !profile.supports_images {
        replace(messages, is_image(|_| true), "the model does not support images", repairs);
    }
    if !profile.supports_s3 {
        let why = "the model does not read from S3; add its bytes";
        replace(messages, |attached: Attached<'_>| attached.is_in_s3(), why, repairs);
    }
    let is_large_image = is_image(|image| image_bytes(image) > profile.max_image_bytes);
    let why = format!("it is larger than {} bytes", profile.max_image_bytes);
    replace(messages, is_large_image, &why, repairs);
    let is_long_image = is_image(|image| longest_side(image) > profile.max_image_side);
    let why = format!("it is higher or wider than {} pixels", profile.max_image_side);
    replace(messages, is_long_image, &why, repairs);
    let is_large_document = is_document(|document| document_bytes(document) > profile.max_document_bytes);
    let why = format!("it is larger than {} bytes", profile.max_document_bytes);
    replace(messages, is_large_document, &why, repairs);
    replace_oldest(messages, is_image(|_| true), profile.max_images, repairs);
    replace_oldest(messages, is_document(|_| true), profile.max_documents, repairs);
    let is_counted = |attached: Attached<'_>| !matches!(attached, Attached::Video(_));
    replace_oldest(messages, is_counted, profile.max_attachments, repairs);
    name_documents(messages, repairs);
    add_texts_beside_documents(messages, repairs);
}

fn is_image(matches: impl Fn(&ImageBlock) -> bool) -> impl Fn(Attached<'_>) -> bool {
    move |attached| matches!(attached, Attached::Image(image) if matches(image))
}

fn is_document(matches: impl Fn(&DocumentBlock) -> bool) -> impl Fn(Attached<'_>) -> bool {
    move |attached| matches!(attached, Attached::Document(document) if matches(document))
}

/// Replaces attachments of the assistant, which Bedrock refuses.
fn replace_of_assistant(messages: &mut [Message], repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate().filter(|(_, message)| message.role != ConversationRole::User) {
        for (c, block) in message.content.iter_mut().enumerate().filter(|(_, block)| !block.is_tool_result()) {
            if let [(_, attached)] = attached(block)[..] {
                let kind = attached.kind();
                *block = ContentBlock::Text(text(attached));
                let what = format_args!("replaced the {kind} with text, because the assistant cannot send attachments");
                repairs.add(Place::Content(m, c), what);
            }
        }
    }
}

/// Replaces the matching attachments with texts.
fn replace(messages: &mut [Message], mut matches: impl FnMut(Attached<'_>) -> bool, why: &str, repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        for (c, block) in message.content.iter_mut().enumerate() {
            let place = Place::Content(m, c);
            if let ContentBlock::ToolResult(result) = block {
                for part in &mut result.content {
                    if let Some(attached) = attached_part(part).filter(|attached| matches(*attached)) {
                        let kind = attached.kind();
                        *part = ToolResultContentBlock::Text(text(attached));
                        repairs
                            .add(place, format_args!("replaced the {kind} in a tool result with text, because {why}"));
                    }
                }
            } else if let [(_, attached)] = attached(block)[..]
                && matches(attached)
            {
                let kind = attached.kind();
                *block = ContentBlock::Text(text(attached));
                repairs.add(place, format_args!("replaced the {kind} with text, because {why}"));
            }
        }
    }
}

fn text(attached: Attached<'_>) -> String {
    let label = match attached {
        Attached::Image(image) => format!("image/{}", image.format.as_str()),
        Attached::Video(video) => format!("video/{}", video.format.as_str()),
        Attached::Document(document) => document.name.clone(),
    };
    unavailable(attached.kind(), Some(&label))
}

/// Replaces the oldest matching attachments, so that `max` stay.
fn replace_oldest(messages: &mut [Message], matches: impl Fn(Attached<'_>) -> bool, max: usize, repairs: &mut Repairs) {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let mut surplus = blocks.flat_map(attached).filter(|(_, attached)| matches(*attached)).count().saturating_sub(max);
    let is_surplus = |attached: Attached<'_>| {
        let is_surplus = surplus > 0 && matches(attached);
        surplus -= usize::from(is_surplus);
        is_surplus
    };
    replace(messages, is_surplus, &format!("the request may have {max} at most"), repairs);
}

fn name_documents(messages: &mut [Message], repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        for (c, block) in message.content.iter_mut().enumerate() {
            for document in documents(block) {
                if !is_document_name(&document.name) {
                    document.name = document_name(&document.name);
                    repairs.add(Place::Content(m, c), "renamed a document, because Bedrock refuses its name");
                }
            }
        }
    }
    if number_duplicate_names(messages) > 0 {
        repairs.add(Place::Request, "added numbers to the names of documents with equal names");
    }
}

fn add_texts_beside_documents(messages: &mut [Message], repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        let has = |is_kind: fn(&ContentBlock) -> bool| message.content.iter().any(is_kind);
        if has(ContentBlock::is_document) && !has(ContentBlock::is_text) {
            message.content.push(ContentBlock::Text("[document]".to_owned()));
            repairs.add(Place::Message(m), "added a text beside a document");
        }
    }
}
