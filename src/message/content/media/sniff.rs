//! [`sniff`]: detects the type of a file from its bytes.

use super::mime::usual_name;

/// The number of bytes of a file that are read.
const HEAD: usize = 4_096;
/// The number of bytes of a text that are read, as in browsers:
/// <https://mimesniff.spec.whatwg.org/#reading-the-resource-header>.
const TEXT_HEAD: usize = 1_445;

/// The detected type of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sniffed {
    /// The MIME type, by its [usual name](usual_name).
    pub mime_type: &'static str,
    /// Whether another type is very unlikely.
    pub is_sure: bool,
}

/// Detects the type of bytes from their beginning and, for an archive, from its directory.
pub(super) fn sniff(bytes: &[u8]) -> Option<Sniffed> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let sure = |mime_type| Some(Sniffed { mime_type, is_sure: true });
    if head.is_empty() {
        return None;
    }
    // Text comes first, because it may begin with a signature such as "BM", "GIF" or "DSD ".
    if let Some(text) = as_text(head) {
        return sure(text_type(text));
    }
    // `infer` would read the whole file.
    if head.starts_with(&OLE) {
        return sure(ole_type(bytes));
    }
    if head.get(4..10) == Some(b"ftyp3g") {
        return sure("video/3gpp");
    }
    let mime_type = match usual_name(known_type(head)?) {
        ZIP => zip_type(bytes),
        other => other,
    };
    let is_sure = match mime_type {
        // These signatures are only two bytes long, and raw audio may begin with the same bytes.
        "audio/aac" | "image/bmp" | "image/jxl" => false,
        "audio/mpeg" => head.starts_with(b"ID3"),
        PDF | ZIP | DOCX | XLSX => true,
        other => ["image/", "audio/", "video/"].iter().any(|kind| other.starts_with(kind)),
    };
    Some(Sniffed { mime_type, is_sure })
}

/// Returns the type of a binary file by its first bytes. Without the feature `media`, no type is known.
#[cfg(feature = "media")]
fn known_type(head: &[u8]) -> Option<&'static str> {
    infer::get(head).map(|found| found.mime_type())
}

#[cfg(not(feature = "media"))]
fn known_type(_: &[u8]) -> Option<&'static str> {
    None
}

/// Returns the beginning of a text: UTF-8 without control characters.
fn as_text(head: &[u8]) -> Option<&str> {
    let head = head.get(..TEXT_HEAD).unwrap_or(head);
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last character may be cut.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    let is_binary = |byte: u8| matches!(byte, 0..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    (!text.is_empty() && !text.bytes().any(is_binary)).then_some(text)
}

fn text_type(text: &str) -> &'static str {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let starts_with = |tag: &str| start.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    if starts_with("<svg") || starts_with("<?xml") && start.contains("<svg") {
        "image/svg+xml"
    } else if starts_with("<?xml") {
        "text/xml"
    } else if starts_with("<!doctype html") || starts_with("<html") {
        "text/html"
    } else if start.starts_with("%PDF-") {
        PDF
    } else if start.starts_with("{\\rtf") {
        "application/rtf"
    } else {
        "text/plain"
    }
}

/// Returns the type of an archive from the names of its files, which are at its end.
fn zip_type(bytes: &[u8]) -> &'static str {
    const DIRECTORY: usize = 64 * 1_024;
    let directory = bytes.get(bytes.len().saturating_sub(DIRECTORY)..).unwrap_or(bytes);
    let has = |name: &[u8]| directory.windows(name.len()).any(|window| window == name);
    if has(b"word/document.xml") {
        DOCX
    } else if has(b"xl/workbook.xml") {
        XLSX
    } else {
        ZIP
    }
}

/// Returns the type of an older Office file from its directory, which the
/// [header](https://learn.microsoft.com/openspecs/windows_protocols/ms-cfb/05060311-bfce-4b12-874d-71fd4ce63aea)
/// locates.
fn ole_type(bytes: &[u8]) -> &'static str {
    let directory = || {
        let shift = u16::from_le_bytes(*bytes.get(30..)?.first_chunk()?);
        let sector = u32::from_le_bytes(*bytes.get(48..)?.first_chunk()?);
        let start = usize::try_from((u64::from(sector) + 1).checked_shl(shift.into())?).ok()?;
        bytes.get(start..).map(|directory| directory.get(..HEAD).unwrap_or(directory))
    };
    let directory = directory().unwrap_or_default();
    let has = |name: &str| {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        directory.windows(name.len()).any(|window| window == name)
    };
    if has("WordDocument") {
        "application/msword"
    } else if has("Workbook") || has("Book\0") {
        XLS
    } else {
        OLE_STORAGE
    }
}

const OLE: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
pub(super) const OLE_STORAGE: &str = "application/x-ole-storage";
pub(super) const PDF: &str = "application/pdf";
pub(super) const ZIP: &str = "application/zip";
pub(super) const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
pub(super) const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
pub(super) const XLS: &str = "application/vnd.ms-excel";
