//! Binary data in JSON: base64.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::{ExchangeError, Problem};
use super::reader::Reader;

/// The bytes that `base64` says, which the reader has just read.
pub(super) fn decoded(reader: &Reader<'_>, base64: &str) -> Result<Arc<[u8]>, ExchangeError> {
    // Decoded, and then once more where they are shared.
    reader.take(base64.len() / 4 * 6 + 64)?;
    let bytes = STANDARD.decode(base64);
    bytes.map(Arc::from).map_err(|_| reader.error(Problem::Invalid { reason: "bytes belong here, in base64" }))
}
