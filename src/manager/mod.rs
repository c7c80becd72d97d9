//! [`MessagesManager`]: the messages of one call, and the one thing that changes them.
//!
//! Owns the list and every rule about how messages stand beside each other: merging, fake openers, tool pairing, the
//! window for the model, where it can be cut, summaries, what the log does not know yet. Synchronous; nothing here does
//! I/O or waits.
//!
//! Read `mod.rs`, then `add.rs`, `window.rs`, `cut.rs`, `summary.rs`, `changes.rs`, `fork.rs`, `prune.rs`, and
//! `list.rs`, which keeps the messages.

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
mod parts_tests;
#[cfg(test)]
mod restore_tests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use changes::{Changes, LastMessage, Receipt};
pub use cut::Cut;
pub use entry::Entry;
pub use error::{ForkError, ManagerError, RestoreError};
pub use format::Format;
pub(crate) use format::without_bytes;
pub use prune::Prune;
pub use summarizing::Summarizing;
pub use window::Window;

use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
pub(crate) use crate::message::json_on_one_line;
use crate::message::{Message, MessageId, MessageWrapper, Record};
use calls::Calls;
use changes::Ledger;
use ids::ExplicitIds;
use list::List;

/// The messages of one call.
///
/// It keeps one list and gives three views of it: [`meta_messages`](Self::meta_messages) is everything, for the log
/// and for people; [`messages`](Self::messages) is what the model gets now; [`changes`](Self::changes) is what the
/// log does not know yet. Printing it shows everything, for whoever debugs a call.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage, MessageWrapper};
/// # fn main() -> Result<(), verbale::ManagerError> {
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_assistant("Hello!")?; // a fake user message goes in front
/// manager.add_user("Hi, there")?;
/// manager.add_user("how are you")?; // merged
/// let window: Vec<String> = manager.messages().map(|message| message.role().to_string()).collect();
/// assert_eq!(window, ["user", "assistant", "user"]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct MessagesManager<W> {
    // In the order of their positions. Message `seq` stands at `seq` plus the number of summaries before it.
    list: List<W>,
    // Of each summary the `seq` of the last message that it covers: strictly ascending.
    summaries: List<u32>,
    // Where the window begins: behind the last summary, or behind what was pruned.
    window_start: usize,
    // Whether a user or assistant message stands in the window.
    window_is_open: bool,
    calls: Calls,
    // What the log has.
    ledger: Ledger,
    // What the log's writer has, or the log.
    submitted: Ledger,
    // Of what was pruned, in order, what still holds: system instructions, and what is marked as the place of a fork.
    kept_of_pruned: List<W>,
    explicit_ids: ExplicitIds,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// An empty conversation, with the time and the randomness of the machine.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock), Arc::new(SystemIds))
    }

    /// An empty conversation, with its time and ids from elsewhere.
    pub fn with_clock(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self {
            list: List::new(),
            summaries: List::new(),
            window_start: 0,
            window_is_open: false,
            calls: Calls::default(),
            ledger: Ledger::default(),
            submitted: Ledger::default(),
            kept_of_pruned: List::new(),
            explicit_ids: ExplicitIds::default(),
            clock,
            ids,
        }
    }

    /// Returns the message with this id, or the one that it was merged into, to be changed. Searches from the end.
    pub fn entry(&mut self, id: &MessageId) -> Option<Entry<'_, W>> {
        let index = self.find_part(id)?;
        Some(Entry::new(self, index))
    }

    /// Everything, in order: user, assistant and supervisor messages, summaries, fakes.
    ///
    /// A conversation that shares messages with a [fork](Self::fork) gathers them for it, which takes about 100 bytes a
    /// message and no text, and keeps that until it changes.
    pub fn meta_messages(&self) -> &[W] {
        self.list.as_slice()
    }

    /// How many messages were ever added, fakes and what was [pruned](Self::prune) among them, summaries not.
    pub fn message_count(&self) -> u32 {
        self.next_seq()
    }

    /// How many summaries there ever were.
    pub fn summary_count(&self) -> u32 {
        self.summaries.end() as u32
    }

    /// What the model gets now: from the first message that no summary covers to the end, repaired so that the
    /// provider takes it. [`Window`] says how. Messages that need no repair are borrowed.
    pub fn messages(&self) -> Window<'_, W> {
        Window::new(self)
    }

    /// [`messages`](Self::messages) in the provider's type.
    pub fn to_raw(&self) -> Result<Vec<W::Raw>, W::Error> {
        self.messages().map(|wrapper| wrapper.to_raw()).collect()
    }

    /// The messages that no summary covers, as they are in the list: without the window's repairs, supervisor
    /// messages and fakes included.
    pub fn uncovered(&self) -> impl DoubleEndedIterator<Item = &W> + ExactSizeIterator + Clone {
        self.list.range(self.window_start..self.list.end())
    }

    /// The newest summary.
    pub fn last_summary(&self) -> Option<&W> {
        self.list.get(self.window_start.checked_sub(1)?)
    }

    /// What the log does not know yet: messages that are new or have changed, wherever they stand.
    ///
    /// It stays there until it is [acknowledged](Self::acknowledge).
    pub fn changes(&self, tail: LastMessage) -> Changes {
        Changes::new(self.records_of(&self.ledger, tail).collect())
    }

    /// Takes note that the log has these revisions. What changed since stays in [`changes`](Self::changes).
    pub fn acknowledge(&mut self, receipt: Receipt) {
        let mut ledger = std::mem::take(&mut self.ledger);
        self.note(&mut ledger, &receipt);
        self.ledger = ledger;
        self.submitted(&receipt);
    }

    /// Of the [`changes`](Self::changes) those that were not [handed over](Self::handed_over) to whoever writes the log
    /// in the background: what a turn brought, however much is still waiting to be written.
    pub fn new_changes(&self, tail: LastMessage) -> Changes {
        Changes::new(self.new_records(tail).collect())
    }

    /// Takes note that these revisions were handed over. They stay in [`changes`](Self::changes) until they are
    /// acknowledged.
    pub fn submitted(&mut self, receipt: &Receipt) {
        let mut ledger = std::mem::take(&mut self.submitted);
        self.note(&mut ledger, receipt);
        self.submitted = ledger;
    }

    /// Takes note that what was handed over and is not acknowledged is lost, with the one who had it: all of it is in
    /// [`new_changes`](Self::new_changes) again.
    pub fn take_back(&mut self) {
        self.submitted = self.ledger.clone();
    }

    /// The records of [`new_changes`](Self::new_changes), each made when it is asked for.
    pub(crate) fn new_records(&self, tail: LastMessage) -> impl Iterator<Item = Record> {
        self.records_of(&self.submitted, tail)
    }

    fn records_of(&self, ledger: &Ledger, tail: LastMessage) -> impl Iterator<Item = Record> {
        let last = self.list.last().map(W::message);
        let growing = last.filter(|last| tail == LastMessage::Exclude && self.merges(last.role())).map(Message::id);
        let (dirty, unknown_from) = ledger.dirty();
        let changed = dirty.into_iter().filter_map(|position| self.list.get(self.index(position)));
        let new = self.list.range(unknown_from..self.list.end());
        let messages = changed.chain(new).map(W::message).filter(move |message| Some(message.id()) != growing);
        messages.map(|message| message.clone().into())
    }

    fn note(&self, ledger: &mut Ledger, receipt: &Receipt) {
        let message = |index: usize| self.list.get(index).map(W::message);
        for line in receipt.lines() {
            let index = self.index(line.position);
            if let Some(message) = message(index).filter(|message| message.id() == line.id) {
                let revision = line.revision.min(message.revision());
                ledger.acknowledge(index, revision, |index| self.list.get(index).map(|w| w.message().position()));
            }
        }
        ledger.tidy(|position| {
            let index = self.index(position);
            (index, message(index).map_or(0, Message::revision))
        });
    }

    /// Everything, as records.
    pub fn records(&self) -> Vec<Record> {
        self.list.iter().map(|wrapper| wrapper.message().clone().into()).collect()
    }

    /// Changes the message at `index`, and so its revision. `None` where there is no message.
    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut Message) -> T) -> Option<T> {
        let message = self.list.get_mut(index)?.message_mut();
        self.ledger.changing(index, message);
        self.submitted.changing(index, message);
        message.raise_revision();
        Some(change(message))
    }

    fn has_open_window(&self) -> bool {
        self.uncovered().any(|wrapper| wrapper.role().is_spoken())
    }

    fn next_seq(&self) -> u32 {
        (self.list.end() - self.summaries.end()) as u32
    }
}

impl<W: MessageWrapper> Default for MessagesManager<W> {
    fn default() -> Self {
        Self::new()
    }
}

/// The same messages in the same state, whatever the log knows of them.
impl<W: MessageWrapper> PartialEq for MessagesManager<W> {
    fn eq(&self, other: &Self) -> bool {
        self.window_start == other.window_start
            && self.list.first() == other.list.first()
            && self.list.end() == other.list.end()
            && self.list.iter().zip(other.list.iter()).all(|(ours, theirs)| ours.message() == theirs.message())
    }
}

/// How many messages, not what they say; `Display` shows that.
impl<W> fmt::Debug for MessagesManager<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessagesManager")
            .field("messages", &self.list.iter().len())
            .field("window_start", &self.window_start)
            .field("summaries", &self.summaries.end())
            .finish_non_exhaustive()
    }
}
