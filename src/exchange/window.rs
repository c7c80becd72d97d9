//! The attachments that both OpenAI and Anthropic accept in a window.

use super::block::text_block;
use super::json::Json;
use crate::message::Media;

/// The purpose of a text: a conversation for people and programs, or a request that a provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Conversation,
    Window,
}

/// Returns the text that replaces an attachment that the provider does not accept.
pub(super) fn unavailable(kind: &str) -> Json<'static> {
    text_block(format!("[{kind}: not available to the model]"))
}

/// Returns the MIME type of an image that the providers accept.
pub(super) fn known_image(media: &Media) -> Option<String> {
    const ACCEPTED: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    media.known_type().map(|known| known.to_string()).filter(|known| ACCEPTED.contains(&known.as_str()))
}

/// Returns whether a provider can fetch the URL.
pub(super) fn is_web(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
}
