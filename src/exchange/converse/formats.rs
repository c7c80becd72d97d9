//! The MIME types of the `format`s of Converse.

use crate::message::MediaKind;

/// The scheme of URLs that Bedrock reads by itself.
pub(super) const S3: &str = "s3://";

/// Formats with their MIME types. If several formats have one MIME type, the first is written.
type Formats = &'static [(&'static str, &'static str)];

const IMAGE: Formats = &[("png", "image/png"), ("jpeg", "image/jpeg"), ("gif", "image/gif"), ("webp", "image/webp")];
const VIDEO: Formats = &[
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("webm", "video/webm"),
    ("mkv", "video/x-matroska"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("three_gp", "video/3gpp"),
    ("flv", "video/x-flv"),
    ("wmv", "video/x-ms-wmv"),
];
const AUDIO: Formats = &[
    ("mp3", "audio/mpeg"),
    ("mpeg", "audio/mpeg"),
    ("mpga", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("flac", "audio/flac"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/opus"),
    ("aac", "audio/aac"),
    ("x-aac", "audio/x-aac"),
    ("m4a", "audio/mp4"),
    ("mp4", "audio/mp4"),
    ("webm", "audio/webm"),
    ("mka", "audio/x-matroska"),
    ("mkv", "audio/x-matroska"),
    ("pcm", "audio/pcm"),
];
const DOCUMENT: Formats = &[
    ("pdf", "application/pdf"),
    ("txt", "text/plain"),
    ("md", "text/markdown"),
    ("html", "text/html"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
];

/// Returns the formats of media of a kind.
fn formats(kind: MediaKind) -> Formats {
    match kind {
        MediaKind::Image => IMAGE,
        MediaKind::Video => VIDEO,
        MediaKind::Audio => AUDIO,
        MediaKind::Document => DOCUMENT,
    }
}

/// Returns the MIME type of a format.
pub(super) fn mime_type(kind: MediaKind, format: &str) -> Option<&'static str> {
    formats(kind).iter().find(|(known, _)| *known == format).map(|(_, mime_type)| *mime_type)
}

/// Returns the names of the formats of a kind, for an error.
pub(super) fn known(kind: MediaKind) -> String {
    formats(kind).iter().map(|(format, _)| *format).collect::<Vec<_>>().join(", ")
}

/// Returns the format of a MIME type.
pub(crate) fn format(kind: MediaKind, mime_type: Option<&str>) -> Option<&'static str> {
    let mime_type = mime_type?;
    formats(kind).iter().find(|(_, known)| *known == mime_type).map(|(format, _)| *format)
}
