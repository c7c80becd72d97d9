//! The approximate size of a value in a record.

use super::Value;

/// The size of quotes, a separator, or a number.
const AROUND: usize = 8;

impl Value {
    /// The approximate size in a record in bytes. JSON has binary data in base64.
    pub(crate) fn record_bytes(&self) -> usize {
        let of_bytes = |bytes: &[u8]| bytes.len().div_ceil(3) * 4;
        AROUND
            + match self {
                Self::Null | Self::Bool(_) => 0,
                Self::Number(_) => AROUND,
                Self::String(text) => text.len(),
                Self::Bytes(bytes) => of_bytes(bytes),
                Self::List(items) => items.iter().map(Self::record_bytes).sum(),
                Self::Map(entries) => entries_bytes(entries),
            }
    }
}

/// The approximate size in a record of the entries of a map, in bytes.
pub(crate) fn entries_bytes<'a>(entries: impl IntoIterator<Item = (&'a String, &'a Value)>) -> usize {
    entries.into_iter().map(|(key, value)| AROUND + key.len() + value.record_bytes()).sum()
}
