//! [`image_size`]: the width and height of an image, from its first bytes.

/// Returns the width and height of a PNG, GIF, WebP or JPEG in pixels, or `None` if the bytes do not have them.
pub(super) fn image_size(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((u32::from_be_bytes(array(bytes, 16)?), u32::from_be_bytes(array(bytes, 20)?)));
    }
    if bytes.starts_with(b"GIF8") {
        return Some((little_16(bytes, 6)?, little_16(bytes, 8)?));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12)? == b"WEBP" {
        return webp(bytes);
    }
    if bytes.starts_with(b"\xff\xd8") {
        return jpeg(bytes);
    }
    None
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        // Lossy: 14 bits each.
        b"VP8 " => Some((little_16(bytes, 26)? & 0x3fff, little_16(bytes, 28)? & 0x3fff)),
        // Lossless: 14 bits each, less 1.
        b"VP8L" => {
            let bits = u32::from_le_bytes(array(bytes, 21)?);
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        // Extended: 24 bits each, less 1.
        b"VP8X" => Some((little_24(bytes, 24)? + 1, little_24(bytes, 27)? + 1)),
        _ => None,
    }
}

/// Reads the segments of a JPEG up to its first frame header.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let [marker, kind] = array(bytes, at)?;
        if marker != 0xff {
            return None;
        }
        match kind {
            // A byte of padding.
            0xff => at += 1,
            // Segments without a length.
            0x01 | 0xd0..=0xd7 => at += 2,
            // Frame headers: all of these except Huffman tables, extensions and arithmetic conditioning.
            0xc0..=0xcf if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big_16(bytes, at + 7)?, big_16(bytes, at + 5)?));
            }
            _ => at += 2 + usize::try_from(big_16(bytes, at + 2)?).ok()?,
        }
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn big_16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|bytes| u16::from_be_bytes(bytes).into())
}

fn little_16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|bytes| u16::from_le_bytes(bytes).into())
}

fn little_24(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|[low, middle, high]| u32::from_le_bytes([low, middle, high, 0]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn size_is_read_from_each_format() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x1f\x41\0\0\0\x02";
        let gif = b"GIF89a\x41\x1f\x02\0";
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x41\x1f\x02\0";
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x40\x5f\x00\x00";
        let extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x40\x1f\0\x01\0\0";
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x02\xff\xc2\0\x0b\x08\0\x02\x1f\x41\x03";
        for image in [&png[..], gif, lossy, lossless, extended, jpeg] {
            assert_eq!(image_size(image), Some((8_001, 2)), "{image:?}");
            for end in 0..image.len() - 1 {
                assert_eq!(image_size(&image[..end]), None, "{image:?}");
            }
        }
        assert_eq!(image_size(b"%PDF-1.7"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(start in 0..5_usize, bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let starts = [&b""[..], b"\xff\xd8", b"RIFF\0\0\0\0WEBPVP8X", b"GIF89a", b"\x89PNG\r\n\x1a\n"];
            let _ = image_size(&[starts[start], &bytes].concat());
        }
    }
}
