//! [`Decoded`]: the text of a document's bytes, and redactions of the bytes.

use super::Redaction;
use super::found::Found;

/// At most one of this many bytes of a text is a control character.
const BYTES_PER_CONTROL: usize = 100;

/// The text of bytes whose MIME type or content is text.
pub(super) struct Decoded<'a> {
    bytes: &'a [u8],
    encoding: Encoding,
    pub text: String,
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    Utf16(fn([u8; 2]) -> u16, fn(u16) -> [u8; 2]),
}

impl<'a> Decoded<'a> {
    /// Returns `None` if the bytes are not text. Invalid bytes become replacement characters.
    pub fn new(bytes: &'a [u8], mime_type: Option<&str>) -> Option<Self> {
        let encoding = encoding(bytes, mime_type)?;
        let text = chars(bytes, encoding).map(|(c, _)| c).collect();
        Some(Self { bytes, encoding, text })
    }

    /// Returns the bytes with all replacements. Bytes outside the redactions stay as they are, even invalid ones.
    pub fn rewrite(&self, found: &Found) -> Vec<u8> {
        let mut rewritten = Vec::with_capacity(self.bytes.len());
        let mut chars = chars(self.bytes, self.encoding);
        let (mut text_at, mut at, mut copied) = (0, 0, 0);
        let mut bytes_before = |text_end: usize| {
            while text_at < text_end
                && let Some((c, length)) = chars.next()
            {
                (text_at, at) = (text_at + c.len_utf8(), at + length);
            }
            at
        };
        for Redaction { range, replacement, .. } in found.iter() {
            let (start, end) = (bytes_before(range.start), bytes_before(range.end));
            rewritten.extend_from_slice(self.bytes.get(copied..start).unwrap_or_default());
            match self.encoding {
                Encoding::Utf8 => rewritten.extend_from_slice(replacement.as_bytes()),
                Encoding::Utf16(_, write) => rewritten.extend(replacement.encode_utf16().flat_map(write)),
            }
            copied = end;
        }
        rewritten.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
        rewritten
    }
}

/// Returns the characters of the bytes, each with its number of bytes.
fn chars(bytes: &[u8], encoding: Encoding) -> Box<dyn Iterator<Item = (char, usize)> + '_> {
    let invalid = char::REPLACEMENT_CHARACTER;
    match encoding {
        Encoding::Utf8 => Box::new(bytes.utf8_chunks().flat_map(move |chunk| {
            let left = Some((invalid, chunk.invalid().len())).filter(|(_, length)| *length > 0);
            chunk.valid().chars().map(|c| (c, c.len_utf8())).chain(left)
        })),
        Encoding::Utf16(read, _) => {
            let units = bytes.as_chunks().0.iter().copied().map(read);
            let decoded = char::decode_utf16(units);
            Box::new(decoded.map(move |c| c.map_or((invalid, 2), |c| (c, 2 * c.len_utf16()))))
        }
    }
}

/// Returns the encoding of bytes that are text.
fn encoding(bytes: &[u8], mime_type: Option<&str>) -> Option<Encoding> {
    let (little, big) =
        (Encoding::Utf16(u16::from_le_bytes, u16::to_le_bytes), Encoding::Utf16(u16::from_be_bytes, u16::to_be_bytes));
    match bytes {
        [0xff, 0xfe, ..] => return Some(little),
        [0xfe, 0xff, ..] => return Some(big),
        _ => {}
    }
    // Most text in UTF-16 has a zero in every second byte.
    let zeros = |odd: usize| bytes.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let is_utf_16 = |with: usize, without: usize| with * 5 >= bytes.len() && without * BYTES_PER_CONTROL < bytes.len();
    match (zeros(0), zeros(1)) {
        (even, odd) if is_utf_16(odd, even) => return Some(little),
        (even, odd) if is_utf_16(even, odd) => return Some(big),
        _ => {}
    }
    let is_control = |byte: &&u8| byte.is_ascii_control() && !matches!(byte, b'\t'..=b'\r' | 0x1b);
    let is_text = || bytes.iter().filter(is_control).count() * BYTES_PER_CONTROL <= bytes.len();
    (mime_type.is_some_and(is_text_type) || is_text()).then_some(Encoding::Utf8)
}

/// Returns true if bytes of this MIME type are text. Parameters are ignored.
fn is_text_type(mime_type: &str) -> bool {
    let name = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    name.starts_with("text/") || ["/json", "+json", "/xml", "+xml"].iter().any(|suffix| name.ends_with(suffix))
}
