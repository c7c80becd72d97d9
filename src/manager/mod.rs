//! [`MessagesManager`]: the message list of one call, and every rule about how messages follow each other.
//!
//! Owns merging, fake openers, tool call pairing, the window for the model, the places where it can be cut, summaries,
//! and the changes that are not logged yet. Everything here is synchronous: no I/O, no locks, no waiting.
//!
//! Read `mod.rs`, `add.rs`, `window.rs`, `cut.rs`, `summary.rs`, `changes.rs`, `fork.rs`, `prune.rs`, `list.rs` in this order.

mod add;
mod answerable;
mod calls;
mod changes;
mod cut;
mod display;
mod entry;
mod error;
mod fork;
mod format;
mod ids;
mod json;
mod left_out;
mod list;
mod prune;
mod reading;
mod restore;
mod summarizing;
mod summary;
mod window;

#[cfg(test)]
mod answerable_tests;
#[cfg(test)]
mod drafts_tests;
#[cfg(test)]
mod holes_tests;
#[cfg(test)]
mod parts_tests;
#[cfg(test)]
mod restore_tests;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

pub use changes::LastMessage;
pub(crate) use changes::Receipt;
pub(crate) use cut::Cut;
pub use entry::Entry;
pub use error::ManagerError;
pub(crate) use error::Refusal;
pub use format::Format;
pub(crate) use format::without_bytes;
pub use left_out::LeftOut;
pub(crate) use prune::Prune;
pub(crate) use restore::Expected;
pub use summarizing::Summarizing;

use crate::clock::{Clock, IdSource, Sources};
use crate::message::{Empty, Message, MessageId, MessageWrapper, Rarely, Record};
use calls::Calls;
use changes::Revisions;
use ids::ExplicitIds;
use left_out::Holes;
pub(crate) use list::List;
use window::Window;

/// The messages of one call.
///
/// The manager keeps one list and offers three views of it: [`meta_messages`](Self::meta_messages) returns every message,
/// [`messages`](Self::messages) returns the window for the model, and [`changes`](Self::changes) returns the records that
/// the log does not have yet. `Display` prints every message, for debugging.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage, MessageWrapper};
/// # fn main() -> Result<(), verbale::ManagerError> {
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_assistant("Hello!")?; // inserts a fake user message first
/// manager.add_user("Hi, there")?;
/// manager.add_user("how are you")?; // merged
/// let window: Vec<String> = manager.messages().map(|message| message.role().to_string()).collect();
/// assert_eq!(window, ["user", "assistant", "user"]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct MessagesManager<W> {
    // Sorted by position. The index of message `seq` is `seq` plus the summaries and minus the holes before it.
    list: List<W>,
    // The number of summaries in the list, with the pruned ones.
    summaries: u32,
    // The first index of the window, after the last summary or the pruned messages.
    window_start: u32,
    calls: Calls,
    // The revisions that the log acknowledged, and those that its writer accepted.
    logged: Revisions,
    submitted: Revisions,
    kept_of_pruned: Option<Arc<Vec<W>>>,
    // When the model was last asked, or long ago.
    asked_ms: i64,
    rare: Rarely<Rare>,
    sources: Arc<Sources>,
}

/// The data that few conversations have.
#[derive(Clone, Default, PartialEq)]
struct Rare {
    holes: Holes,
    explicit_ids: ExplicitIds,
}

impl Empty for Rare {
    const EMPTY: &'static Self = &Self { holes: Holes::NONE, explicit_ids: ExplicitIds::NONE };
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Creates an empty conversation that uses the system's clock and random ids.
    pub fn new() -> Self {
        Self {
            list: List::new(),
            summaries: 0,
            window_start: 0,
            calls: Calls::default(),
            logged: Revisions::default(),
            submitted: Revisions::default(),
            kept_of_pruned: None,
            asked_ms: i64::MIN,
            rare: Rarely::EMPTY,
            sources: Sources::system(),
        }
    }

    /// Sets the clock and the source of ids of new messages.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        self.with_sources(Arc::new(Sources { clock, ids }))
    }

    /// Shares the clock and the source of ids with other conversations.
    pub(crate) fn with_sources(self, sources: Arc<Sources>) -> Self {
        Self { sources, ..self }
    }

    /// Opens the message with this id for editing, or the message that it was merged into. Searches from the end.
    pub fn entry(&mut self, id: &MessageId) -> Option<Entry<'_, W>> {
        let index = self.find_part(id)?;
        Some(Entry::new(self, index))
    }

    /// Returns all messages in order: user, assistant and system messages, summaries and fakes.
    ///
    /// If the conversation shares messages with a [fork](Self::fork), the first call copies the list: about 100 bytes
    /// per message, without texts. The copy is kept until the conversation changes.
    pub fn meta_messages(&self) -> &[W] {
        self.list.as_slice()
    }

    /// Returns the number of messages ever added, including fakes, [pruned](Self::prune) messages and those that were
    /// [left out](Self::left_out), without summaries.
    pub fn message_count(&self) -> u32 {
        self.next_seq()
    }

    /// Returns the number of summaries ever added.
    pub(crate) fn summary_count(&self) -> u32 {
        self.summaries + self.holes().summaries
    }

    /// Returns the window: the messages that the model gets now, starting with a user message and alternating between
    /// user and assistant.
    ///
    /// The window begins after the last summary. The list keeps what happened; the window is repaired while it is read,
    /// so that the provider accepts it. Messages that need no repair are borrowed. The repairs are:
    ///
    /// - An assistant message shows only its heard part.
    /// - A tool call without a result in the list is left out. The text around it stays.
    /// - Tool results come first in the user message after their call. A late result moves there; the message that it
    ///   leaves becomes `...` if it holds nothing else.
    /// - A result whose call is covered by a summary is left out, and its message becomes `...` if it holds nothing else.
    ///   This happens only if the log lost the result that the call had when it was summarized.
    /// - Neighbours of one role, such as user messages around an unheard answer, become one message marked
    ///   [`Attribute::Merged`]. A fake that is not needed is left out.
    /// - A fake user message is added where a message is [missing](Self::left_out) between two assistant messages, or
    ///   before the first one.
    ///
    /// [`Attribute::Merged`]: crate::Attribute::Merged
    pub fn messages(&self) -> impl FusedIterator<Item = Cow<'_, W>> + Clone {
        self.window()
    }

    fn window(&self) -> Window<'_, W> {
        Window::new(self)
    }

    /// Returns [`messages`](Self::messages) in the provider's type.
    ///
    /// Returns the wrapper's error if a message cannot be converted into that type.
    pub fn to_raw(&self) -> Result<Vec<W::Raw>, W::Error> {
        let window = self.window();
        let mut raw = Vec::with_capacity(window.size_hint().1.unwrap_or_default());
        for wrapper in window {
            raw.push(wrapper.to_raw()?);
        }
        Ok(raw)
    }

    /// Iterates over the messages that no summary covers, without repairs, with system messages and fakes.
    pub(crate) fn uncovered(&self) -> impl DoubleEndedIterator<Item = &W> + ExactSizeIterator + Clone {
        self.list.range(self.window_start()..self.list.end())
    }

    /// Returns the newest summary, if any.
    pub fn last_summary(&self) -> Option<&W> {
        self.list.get(self.window_start().checked_sub(1)?)
    }

    /// Returns all messages as records.
    pub fn records(&self) -> Vec<Record> {
        self.list.iter().map(|wrapper| wrapper.message().clone().into()).collect()
    }

    /// Changes the message at `index` and raises its revision. Returns `None` if there is no such message.
    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut Message) -> T) -> Option<T> {
        let message: &mut Message = self.list.get_mut(index)?;
        self.logged.before_change(index, message);
        self.submitted.before_change(index, message);
        message.raise_revision();
        Some(change(message))
    }

    #[inline]
    fn window_start(&self) -> usize {
        self.window_start as usize
    }

    fn set_window_start(&mut self, index: usize) {
        self.window_start = index as u32;
    }

    /// Returns whether the window holds a user or assistant message.
    fn has_open_window(&self) -> bool {
        self.uncovered().any(|wrapper| wrapper.role().is_spoken())
    }

    /// Returns the number of the next message.
    pub(crate) fn next_seq(&self) -> u32 {
        (self.list.end() + self.holes().messages()) as u32 - self.summaries
    }
}

impl<W: MessageWrapper> Default for MessagesManager<W> {
    fn default() -> Self {
        Self::new()
    }
}

/// Compares the messages and the window, but not what the log has acknowledged.
impl<W: MessageWrapper> PartialEq for MessagesManager<W> {
    fn eq(&self, other: &Self) -> bool {
        self.window_start == other.window_start
            && self.list.first() == other.list.first()
            && self.list.end() == other.list.end()
            && self.list.iter().zip(other.list.iter()).all(|(ours, theirs)| ours.message() == theirs.message())
    }
}

/// Prints counts, not the messages' contents; `Display` prints those.
impl<W> fmt::Debug for MessagesManager<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessagesManager")
            .field("messages", &self.list.iter().len())
            .field("window_start", &self.window_start)
            .field("summaries", &self.summaries)
            .finish_non_exhaustive()
    }
}
