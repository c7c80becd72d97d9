//! [`Durability`]: how far a change has come.

/// How far a change has come on its way into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// The writer has it, in memory: it survives the turn.
    Accepted,
    /// The [spool](crate::log::Spool) has it: it survives the process, and the host where the spool is set to.
    Spooled,
    /// The log has it.
    Stored,
}
