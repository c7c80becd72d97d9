//! Reports attachments that the model gets as text, or in another format than declared.

use crate::bedrock::attachment::{Unsupported, unsupported_media};
use crate::message::{Content, Media, Message, ResultContent, Role, Source, Text};

/// Adds a repair for each attachment that [`BedrockMessage`](crate::BedrockMessage) replaces with text or sends with a
/// detected type.
pub(super) fn report_attachments(message: &Message, repairs: &mut Vec<String>) {
    let id = message.id();
    let mut report = |kind: &str, change: Option<Change>| {
        repairs.extend(change.map(|change| match change {
            Change::Text(why) => format!("replaced the {kind} of message {id} with text: {why}"),
            Change::Type(detected) => format!(
                "sent the {kind} of message {id} as {}: its bytes do not match the declared MIME type",
                detected.as_str()
            ),
        }));
    };
    for content in message.contents() {
        match content {
            Content::Media(_) if message.role() != Role::User => {
                report("attachment", Some(Change::Text(Unsupported::FromAssistant)));
            }
            Content::Media(media) => report(media.kind.as_str(), media_change(media)),
            Content::ToolResult(result) => {
                let Ok(parts) = result.outcome() else { continue };
                for part in parts {
                    match part {
                        ResultContent::Media(media) => report(media.kind.as_str(), media_change(media)),
                        ResultContent::Text(_) | ResultContent::Json(_) | ResultContent::Unknown(_) => {}
                    }
                }
            }
            Content::Text(_) | Content::ToolCall(_) | Content::Unknown(_) => {}
        }
    }
}

/// How an attachment differs from its message.
enum Change {
    Text(Unsupported),
    Type(Text),
}

fn media_change(media: &Media) -> Option<Change> {
    if let Some(why) = unsupported_media(media) {
        return Some(Change::Text(why));
    }
    let Source::Bytes(bytes) = &media.source else { return None };
    let declared = Media::from_bytes(media.kind, bytes.clone(), media.mime_type.as_deref());
    declared.is_err().then(|| media.known_type()).flatten().map(Change::Type)
}
