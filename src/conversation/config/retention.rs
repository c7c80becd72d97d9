//! [`Retention`]: which messages stay in memory.

/// Which messages of a conversation stay in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retention {
    /// All messages, except those over the limit of a [registry](crate::conversation::Conversations).
    Everything,
    /// A message is released when a summary covers it and the log has acknowledged it. A conversation without a log keeps
    /// everything.
    ///
    /// These stay: messages whose tool still runs or whose playback is not reported, for up to eight speeches. A report of
    /// playback for a released message is [ignored](crate::call::Effect::Ignored). The prompt, the metadata and the facts do
    /// not change. [`Conversation::whole`](crate::conversation::Conversation::whole) reads released messages from the log.
    #[default]
    UntilStored,
}
