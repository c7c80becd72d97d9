//! The `timestamp` of a message, in the formats that have one.

use super::error::{ExchangeError, Problem};
use super::reader::{Others, Reader};
use crate::clock::read_moment;

/// The `timestamp` of the object here, in milliseconds since the Unix epoch; stays where it is.
pub(super) fn timestamp(reader: &mut Reader<'_>) -> Result<i64, ExchangeError> {
    const REASON: &str = "a moment as in RFC 3339 belongs here, such as 2025-11-18T10:30:00Z";
    let at_ms = reader.ahead(|reader| {
        let mut at_ms = None;
        reader.object(&["timestamp"], Others::Ignore, |reader, _| {
            at_ms = read_moment(&reader.string()?);
            at_ms.map_or_else(|| Err(reader.error(Problem::Invalid { reason: REASON })), |_| Ok(()))
        })?;
        Ok(at_ms)
    })?;
    at_ms.ok_or_else(|| reader.missing("timestamp"))
}
