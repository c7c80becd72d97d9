//! Compression with zstd, of the texts of messages and of contents.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Returns a zstd frame of some bytes. Decompresses the frame to check it, because a wrong frame would lose the bytes,
/// and returns `None` if it is wrong.
pub(super) fn compressed(plain: &[u8]) -> Option<Vec<u8>> {
    let frame = compress_to_vec(plain, CompressionLevel::Fastest);
    decompressed(&frame, plain.len()).is_some_and(|read| read == plain).then_some(frame)
}

/// Returns the plain bytes of a zstd frame, or `None` if it is damaged or has more than `most` bytes.
pub(super) fn decompressed(frame: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    // One more byte shows that the frame is too large.
    let limit = u64::try_from(most).ok()?.saturating_add(1);
    StreamingDecoder::new(frame).ok()?.take(limit).read_to_end(&mut plain).ok()?;
    (plain.len() <= most).then_some(plain)
}
