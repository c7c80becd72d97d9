//! [`Put`]: the outcome of writing a record or header.

/// The outcome of writing a record or header. In each case the log now holds that revision or a newer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The log wrote it.
    Written,
    /// The log already held it: an earlier attempt had arrived.
    AlreadyThere,
    /// The log holds a newer revision of the message, and keeps that.
    NewerKept,
}
