//! [`Put`]: what became of a record that was put.

/// What became of a record; in each case the log holds it, or what came after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is there now.
    Written,
    /// It was there: an earlier try had arrived.
    AlreadyThere,
    /// A newer revision of the message was there, and stays.
    NewerKept,
}
