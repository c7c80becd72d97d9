//! Rules that the windows for OpenAI and Anthropic share: which media these providers take.

use super::block::text_block;
use super::json::Json;
use crate::message::Media;

/// The purpose of a text: a conversation for people and programs, or a request that a provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Conversation,
    Window,
}

/// A text in place of media or a document that the provider does not take.
pub(super) fn unavailable(kind: &str) -> Json<'static> {
    text_block(format!("[{kind}: not available to the model]"))
}

/// The MIME type of an image that the providers take.
pub(super) fn known_image(media: &Media) -> Option<String> {
    const TAKEN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    media.known_type().map(|known| known.to_string()).filter(|known| TAKEN.contains(&known.as_str()))
}

/// Whether a provider can fetch the URL.
pub(super) fn is_web(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
}
