//! [`Put`]: the outcome of writing a record or header.

/// The outcome of writing a record or header. With either outcome, the log holds this record, a newer revision of it,
/// or the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Put {
    /// The log wrote the record or header.
    Written,
    /// The log already held the header, the record or a newer revision of it, and keeps that.
    Kept,
}
