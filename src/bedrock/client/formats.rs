//! What is told of attachments that the model is not given as they are.

use crate::bedrock::attachment::{Untaken, untaken_document, untaken_media};
use crate::message::{Content, Document, Media, Message, Outcome, ResultContent, Role, Source, Text};
use crate::model::Repair;

/// Adds what [`BedrockMessage`](crate::BedrockMessage) tells as a text, and what it sends as another type than is said.
pub(super) fn tell_attachments(message: &Message, repairs: &mut Vec<Repair>) {
    let is_given = message.role() == Role::User;
    let mut tell = |what: &str, told: Option<Told>| {
        let id = message.id();
        repairs.extend(told.map(|told| {
            Repair::new(match told {
                Told::AsText(why) => format!("told as a text: message {id} has {what}; {why}"),
                Told::AsType(known) => format!(
                    "sent as what its bytes are: message {id} has {what} of {}, which is not its MIME type",
                    known.as_str()
                ),
            })
        }));
    };
    for content in message.contents() {
        match content {
            Content::Media(_) | Content::Document(_) if !is_given => {
                tell("an attachment", Some(Told::AsText(Untaken::OfAssistant)));
            }
            Content::Media(media) => tell(media.kind.with_article(), of_media(media)),
            Content::Document(document) => tell("a document", of_document(document)),
            Content::ToolResult(result) => {
                let Outcome::Success(parts) = result.outcome() else { continue };
                for part in parts {
                    match part {
                        ResultContent::Media(media) => tell(media.kind.with_article(), of_media(media)),
                        ResultContent::Document(document) => tell("a document", of_document(document)),
                        ResultContent::Text(_) | ResultContent::Json(_) | ResultContent::Unknown(_) => {}
                    }
                }
            }
            Content::Text(_) | Content::ToolCall(_) | Content::Unknown(_) => {}
        }
    }
}

/// What becomes of an attachment that does not go as it is.
enum Told {
    AsText(Untaken),
    AsType(Text),
}

fn of_media(media: &Media) -> Option<Told> {
    if let Some(why) = untaken_media(media) {
        return Some(Told::AsText(why));
    }
    let Source::Bytes(bytes) = &media.source else { return None };
    let said = Media::from_bytes(media.kind, bytes.clone(), media.mime_type.as_deref());
    said.is_err().then(|| media.known_type()).flatten().map(Told::AsType)
}

fn of_document(document: &Document) -> Option<Told> {
    if let Some(why) = untaken_document(document) {
        return Some(Told::AsText(why));
    }
    let Source::Bytes(bytes) = &document.source else { return None };
    let said = Document::from_bytes(bytes.clone(), document.mime_type.as_deref());
    said.is_err().then(|| document.known_type()).flatten().map(Told::AsType)
}
