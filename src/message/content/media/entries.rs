//! [`Entries`]: media as a record has it.

use serde::{Deserialize, Serialize};

use super::{Media, MediaKind, Source};
use crate::message::content::codec::{not_empty, present};
use crate::message::text::Text;
use crate::message::value::{Map, Value};

const PROMPT_HINT: &str = "promptHint";
const TITLE: &str = "title";

/// The entries of media in a record. The label of a document is its `title`, and that of other media their `promptHint`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entries {
    #[serde(rename = "type")]
    kind: MediaKind,
    #[serde(flatten)]
    source: Source,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    mime_type: Option<Text>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    prompt_hint: Option<Text>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    title: Option<Text>,
    /// Entries that a newer version wrote.
    #[serde(flatten, deserialize_with = "not_empty", skip_serializing_if = "Option::is_none")]
    unknown: Option<Map>,
}

impl From<Media> for Entries {
    fn from(media: Media) -> Self {
        let Media { kind, source, mime_type, label, unknown } = media;
        let (prompt_hint, title) = if kind == MediaKind::Document { (None, label) } else { (label, None) };
        Self { kind, source, mime_type, prompt_hint, title, unknown }
    }
}

impl From<Entries> for Media {
    fn from(entries: Entries) -> Self {
        let Entries { kind, source, mime_type, prompt_hint, title, mut unknown } = entries;
        let (label, (key, other)) = match kind {
            MediaKind::Document => (title, (PROMPT_HINT, prompt_hint)),
            _ => (prompt_hint, (TITLE, title)),
        };
        if let Some(other) = other {
            unknown.get_or_insert_default().insert(key.to_owned(), Value::String(other));
        }
        Self { kind, source, mime_type, label, unknown }
    }
}
