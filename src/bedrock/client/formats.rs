//! Attachments of a format that Converse does not take, or of none, as texts.

use std::fmt;

use crate::bedrock::attachment::{Attachment, told_document, told_media};
use crate::message::{Content, Message, MessageId, Outcome, ResultContent};
use crate::model::Repair;

/// The same message with a text in the place of each such attachment.
pub(super) fn tell_unknown(message: &Message, repairs: &mut Vec<Repair>) -> Message {
    let id = message.id();
    let mut tell = |told: String, why: &dyn fmt::Display| {
        repairs.push(Repair::new(format!("told as a text: {why}")));
        told
    };
    let contents = message.contents().iter().map(|content| match content {
        Content::InvocationResult(result) => match result.outcome() {
            Outcome::Success(parts) => {
                let parts = parts.iter().map(|part| match unknown_part(part, id) {
                    Some((told, why)) => ResultContent::Text(tell(told, &why).into()),
                    None => part.clone(),
                });
                let outcome = Outcome::Success(parts.collect());
                Content::from(result.as_ref().clone().with_outcome(outcome))
            }
            Outcome::Failure(_) => content.clone(),
        },
        _ => match unknown(content, id) {
            Some((told, why)) => Content::Text(tell(told, &why).into()),
            None => content.clone(),
        },
    });
    message.with_contents(contents.collect())
}

/// The text that stands in, and what Converse does not take; `None` where it does.
fn unknown(content: &Content, id: MessageId) -> Option<(String, impl fmt::Display)> {
    match content {
        Content::Media(media) => Some((told_media(media), Attachment::media(media, id).err()?)),
        Content::Document(document) => Some((told_document(document), Attachment::document(document, id).err()?)),
        _ => None,
    }
}

fn unknown_part(part: &ResultContent, id: MessageId) -> Option<(String, impl fmt::Display)> {
    match part {
        ResultContent::Media(media) => Some((told_media(media), Attachment::media(media, id).err()?)),
        ResultContent::Document(document) => Some((told_document(document), Attachment::document(document, id).err()?)),
        _ => None,
    }
}
