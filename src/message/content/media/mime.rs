//! MIME types: how they are written, which names mean one type, and whether one can be said of some bytes.

use super::sniff::{DOCX, OLE_STORAGE, PDF, Sniffed, XLS, XLSX, ZIP, sniff};
use super::{MediaKind, Source};
use crate::message::error::MessageError;
use crate::message::text::Text;

/// What says no more than that there are bytes.
const ANYTHING: &str = "application/octet-stream";

/// Types that sound alone and moving pictures have in common.
const CONTAINERS: [&str; 5] = ["mp4", "webm", "ogg", "3gpp", "x-matroska"];

/// The types of Office that bytes tell by themselves.
const TOLD_APART: [&str; 3] = [DOCX, XLSX, XLS];

/// The type of an attachment as it should stand: the given one, else what its bytes are; `None` where neither is known.
/// `kind` is `None` for a document.
///
/// Errors: what is given is no MIME type, or the bytes are of another one; either is of another kind.
pub(super) fn checked(
    kind: Option<MediaKind>,
    given: Option<&str>,
    sniffed: Option<Sniffed>,
) -> Result<Option<Text>, MessageError> {
    let essence = given.map(essence).transpose()?.filter(|essence| essence != ANYTHING);
    if let (Some(given), Some(found)) = (&essence, sniffed)
        && found.is_sure
        && !agrees(given, found.mime_type)
    {
        return Err(MessageError::ContradictedMimeType { given: given.as_str().into(), found: found.mime_type });
    }
    if let Some(given_type) = essence {
        return if is_of(kind, &given_type) { Ok(given.map(Text::from)) } else { Err(not_of(kind, &given_type)) };
    }
    match sniffed {
        None => Ok(None),
        Some(found) if is_of(kind, found.mime_type) => Ok(Some(of_kind(kind, found.mime_type))),
        Some(found) if found.is_sure => Err(not_of(kind, found.mime_type)),
        Some(_) => Ok(None),
    }
}

/// `image/png` of `Image/PNG; q=1`, by its usual name. Errors: not two tokens with a `/` between.
pub(super) fn essence(mime_type: &str) -> Result<String, MessageError> {
    let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |token: &str| {
        (1..=127).contains(&token.len())
            && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    match essence.split_once('/') {
        Some((kind, subtype)) if is_token(kind) && is_token(subtype) => Ok(usual_name(&essence).to_owned()),
        _ => Err(MessageError::InvalidMimeType { length: mime_type.len() }),
    }
}

/// The name that is used here of the several that some types have.
pub(super) fn usual_name(essence: &str) -> &str {
    match essence {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        "image/x-png" => "image/png",
        "image/heic" | "image/heic-sequence" | "image/heif-sequence" => "image/heif",
        "image/x-icon" => "image/vnd.microsoft.icon",
        "audio/mp3" | "audio/x-mp3" | "audio/x-mpeg" | "audio/mpeg3" => "audio/mpeg",
        "audio/m4a" | "audio/x-m4a" => "audio/mp4",
        "audio/wave" | "audio/x-wav" | "audio/vnd.wave" => "audio/wav",
        "audio/x-flac" => "audio/flac",
        "audio/x-aiff" => "audio/aiff",
        "audio/opus" | "application/ogg" => "audio/ogg",
        "video/x-m4v" | "application/mp4" => "video/mp4",
        "video/avi" | "video/msvideo" => "video/x-msvideo",
        "video/matroska" => "video/x-matroska",
        "video/3gpp2" => "video/3gpp",
        "text/x-markdown" => "text/markdown",
        "application/x-pdf" => "application/pdf",
        "application/x-zip" | "application/x-zip-compressed" => ZIP,
        other => other,
    }
}

/// Whether bytes that are `found` may be said to be `given`.
fn agrees(given: &str, found: &str) -> bool {
    let is_text = |mime_type: &str| mime_type.starts_with("text/") || mime_type == "image/svg+xml";
    let is_office = |mime_type: &str| mime_type.starts_with("application/vnd.");
    given == found
        || container(given).is_some_and(|given| container(found) == Some(given))
        || match found {
            // Any of these can be an archive, or a file in the manner of the older Office.
            ZIP => is_office(given) || given.ends_with("+zip"),
            OLE_STORAGE => is_office(given) || given == "application/msword",
            // Texts are of many types, and only some say so.
            found if is_text(found) => is_text(given) || is_text_of_application(given),
            // One container, with pictures and without.
            "video/x-ms-wmv" => matches!(given, "video/x-ms-asf" | "audio/x-ms-wma"),
            // The one is a kind of the other.
            "video/webm" => matches!(given, "video/x-matroska" | "audio/x-matroska"),
            "application/rtf" => given == "text/rtf" || given == "text/plain",
            DOCX | XLSX if given == ZIP => true,
            XLS | "application/msword" if given == OLE_STORAGE => true,
            // A template, say, or one with macros.
            found => is_office(found) && is_office(given) && !TOLD_APART.contains(&given),
        }
}

/// Whether an `application/…` can be a text: all but those that are known not to be.
fn is_text_of_application(mime_type: &str) -> bool {
    let is_binary = |mime_type: &str| {
        matches!(mime_type, ZIP | OLE_STORAGE | PDF | "application/msword" | "application/rtf")
            || mime_type.starts_with("application/vnd.")
                && !mime_type.ends_with("+json")
                && !mime_type.ends_with("+xml")
    };
    mime_type.starts_with("application/") && !is_binary(mime_type)
}

fn container(mime_type: &str) -> Option<&str> {
    let (kind, subtype) = mime_type.split_once('/')?;
    (matches!(kind, "audio" | "video") && CONTAINERS.contains(&subtype)).then_some(subtype)
}

fn is_of(kind: Option<MediaKind>, essence: &str) -> bool {
    let is_a = |kind: MediaKind| essence.split_once('/').is_some_and(|(name, _)| name == kind.as_str());
    match kind {
        Some(kind @ MediaKind::Image) => is_a(kind),
        Some(kind) => is_a(kind) || container(essence).is_some(),
        None => {
            essence == "image/svg+xml"
                || ![MediaKind::Image, MediaKind::Audio, MediaKind::Video].map(is_a).contains(&true)
        }
    }
}

/// Sound in a container has the type of sound.
fn of_kind(kind: Option<MediaKind>, essence: &str) -> Text {
    match (kind, container(essence)) {
        (Some(kind), Some(subtype)) => format!("{}/{subtype}", kind.as_str()).into(),
        _ => essence.into(),
    }
}

fn not_of(kind: Option<MediaKind>, essence: &str) -> MessageError {
    MessageError::OtherKind { kind: kind.map_or("a document", MediaKind::with_article), mime_type: essence.into() }
}

/// The type of an attachment by its usual name: what its bytes are, where they tell; else what is said of it.
pub(super) fn known(kind: Option<MediaKind>, source: &Source, said: Option<&str>) -> Option<Text> {
    let sniffed = if let Source::Bytes(bytes) = source { sniff(bytes) } else { None };
    // What contradicts its bytes is not heard.
    let known = checked(kind, said, sniffed).or_else(|_| checked(kind, None, sniffed)).ok()??;
    essence(&known).ok().map(Text::from)
}
