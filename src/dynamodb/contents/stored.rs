//! [`Stored`]: the bytes that the chunks of a content hold, which are plain or compressed.

use std::sync::Arc;

use crate::contents::{Blob, ContentId};
use crate::dynamodb::cost::write_units;
use crate::dynamodb::zstd;

/// The maximum number of bytes of a content in one item. Leaves room for the keys within the 400 KB of an item.
pub(super) const CHUNK_BYTES: usize = 350 * 1024;

/// The stored form of a content. Two processes may compress differently, so an upload continues only chunks of the same
/// [digest](Self::digest).
#[derive(Clone)]
pub(super) struct Stored {
    bytes: Arc<[u8]>,
    pub is_compressed: bool,
}

impl Stored {
    pub fn plain(blob: &Blob) -> Self {
        Self { bytes: blob.bytes().clone(), is_compressed: false }
    }

    /// Compresses a text if that saves a write unit. Other contents, such as images, are compressed already.
    pub fn compressed(blob: &Blob) -> Self {
        let plain = blob.bytes();
        if std::str::from_utf8(plain).is_err() {
            return Self::plain(blob);
        }
        let bytes = zstd::compressed(plain).filter(|bytes| write_units(bytes.len()) < write_units(plain.len()));
        bytes.map_or_else(|| Self::plain(blob), |bytes| Self { bytes: bytes.into(), is_compressed: true })
    }

    /// Returns the chunks in order. An empty content has none.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.bytes.chunks(CHUNK_BYTES)
    }

    pub fn is_one_chunk(&self) -> bool {
        self.bytes.len() <= CHUNK_BYTES
    }

    /// Returns the hash of compressed bytes. Returns `None` for plain bytes, because the id of the content is their
    /// hash.
    pub fn digest(&self) -> Option<String> {
        self.is_compressed.then(|| ContentId::of(&self.bytes).hex())
    }
}

/// Returns the plain bytes of a zstd frame, or `None` if it is damaged or does not have `size` bytes.
pub(super) fn decompressed(frame: &[u8], size: usize) -> Option<Vec<u8>> {
    zstd::decompressed(frame, size).filter(|plain| plain.len() == size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_compressed_if_that_saves_a_unit() {
        let said = "The ferry leaves at seven. ".repeat(2_000);
        let stored = Stored::compressed(&Blob::new(said.as_bytes()));
        assert!(stored.is_compressed && stored.bytes.len() < said.len() / 10, "{}", stored.bytes.len());
        assert_eq!(decompressed(&stored.bytes, said.len()).as_deref(), Some(said.as_bytes()));
        assert_eq!(decompressed(&stored.bytes, said.len() - 1), None);
        assert_eq!(decompressed(&stored.bytes[..stored.bytes.len() / 2], said.len()), None);
        for plain in [&b""[..], b"Hi, there", &[0xff; 5_000]] {
            let stored = Stored::compressed(&Blob::new(plain));
            assert_eq!((stored.is_compressed, &*stored.bytes, stored.digest()), (false, plain, None));
        }
    }
}
