//! MIME types: their syntax, their aliases, and the check against detected types.

use super::sniff::{DOCX, OLE_STORAGE, PDF, Sniffed, XLS, XLSX, ZIP, sniff};
use super::{MediaKind, Source};
use crate::message::error::MessageError;
use crate::message::text::Text;

/// The type of unknown bytes.
const ANYTHING: &str = "application/octet-stream";

/// Containers that hold video, or audio alone.
const CONTAINERS: [&str; 5] = ["mp4", "webm", "ogg", "3gpp", "x-matroska"];

/// The Office types that detection distinguishes.
const DISTINCT_OFFICE: [&str; 3] = [DOCX, XLSX, XLS];

/// Returns the given MIME type of an attachment, else the detected one, if any.
///
/// Returns a [`MessageError`] if `given` is not a MIME type or contradicts the bytes, or if either is of another kind.
pub(super) fn checked(
    kind: MediaKind,
    given: Option<&str>,
    sniffed: Option<Sniffed>,
) -> Result<Option<Text>, MessageError> {
    let essence = given.map(essence).transpose()?.filter(|essence| essence != ANYTHING);
    if let (Some(given), Some(found)) = (&essence, sniffed)
        && found.is_sure
        && !agrees(given, found.mime_type)
    {
        let text =
            format!("the bytes are {}, not {given}; omit the MIME type, or give the detected one", found.mime_type);
        return Err(MessageError::with_details(text));
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

/// Returns the usual name of a MIME type without parameters, such as `image/png` for `Image/PNG; q=1`.
///
/// Returns a [`MessageError`] if it is not two tokens with a `/` between them.
pub(super) fn essence(mime_type: &str) -> Result<String, MessageError> {
    let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |token: &str| {
        (1..=127).contains(&token.len())
            && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    match essence.split_once('/') {
        Some((kind, subtype)) if is_token(kind) && is_token(subtype) => Ok(usual_name(&essence).to_owned()),
        _ => {
            let text = format!("a MIME type looks like `image/png`; these {} bytes are not one", mime_type.len());
            Err(MessageError::with_details(text))
        }
    }
}

/// Returns the usual name of a type that has several names.
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

/// Returns whether bytes of the detected type `found` may have the type `given`.
fn agrees(given: &str, found: &str) -> bool {
    let is_text = |mime_type: &str| mime_type.starts_with("text/") || mime_type == "image/svg+xml";
    let is_office = |mime_type: &str| mime_type.starts_with("application/vnd.");
    given == found
        || container(given).is_some_and(|given| container(found) == Some(given))
        || match found {
            // All newer Office files are ZIP archives, and all older ones are OLE storages.
            ZIP => is_office(given) || given.ends_with("+zip"),
            OLE_STORAGE => is_office(given) || given == "application/msword",
            // Text has many types, and not all of them begin with `text/`.
            found if is_text(found) => is_text(given) || is_text_of_application(given),
            // One container, with and without video.
            "video/x-ms-wmv" => matches!(given, "video/x-ms-asf" | "audio/x-ms-wma"),
            // WebM is a kind of Matroska.
            "video/webm" => matches!(given, "video/x-matroska" | "audio/x-matroska"),
            "application/rtf" => given == "text/rtf" || given == "text/plain",
            DOCX | XLSX if given == ZIP => true,
            XLS | "application/msword" if given == OLE_STORAGE => true,
            // Detection does not distinguish templates and files with macros.
            found => is_office(found) && is_office(given) && !DISTINCT_OFFICE.contains(&given),
        }
}

/// Returns whether an `application/…` type can be text: any type that is not known to be binary.
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

fn is_of(kind: MediaKind, essence: &str) -> bool {
    let is_a = |kind: MediaKind| essence.split_once('/').is_some_and(|(name, _)| name == kind.as_str());
    match kind {
        MediaKind::Image => is_a(kind),
        MediaKind::Audio | MediaKind::Video => is_a(kind) || container(essence).is_some(),
        MediaKind::Document => {
            essence == "image/svg+xml"
                || ![MediaKind::Image, MediaKind::Audio, MediaKind::Video].map(is_a).contains(&true)
        }
    }
}

/// Returns the type for the kind of the attachment: audio in a container gets the audio type.
fn of_kind(kind: MediaKind, essence: &str) -> Text {
    match (kind, container(essence)) {
        (MediaKind::Audio | MediaKind::Video, Some(subtype)) => format!("{}/{subtype}", kind.as_str()).into(),
        _ => essence.into(),
    }
}

fn not_of(kind: MediaKind, essence: &str) -> MessageError {
    let kind = kind.with_article();
    let text = format!("{kind} cannot be {essence}; add it as another kind");
    MessageError::with_details(text)
}

/// Returns the usual name of the type of an attachment: the given one, unless it contradicts the bytes, else the
/// detected one.
pub(super) fn known(kind: MediaKind, source: &Source, given: Option<&str>) -> Option<Text> {
    let sniffed = if let Source::Bytes(bytes) = source { sniff(bytes) } else { None };
    let known = checked(kind, given, sniffed).or_else(|_| checked(kind, None, sniffed)).ok()??;
    essence(&known).ok().map(Text::from)
}
