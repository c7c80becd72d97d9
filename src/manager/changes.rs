//! The changes that the log does not have, the [`Receipt`] for them, and [`Revisions`], which tracks what the log has.

use super::MessagesManager;
use crate::message::{Message, MessageId, MessageWrapper, Position, Record};

/// Whether the changes include the last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastMessage {
    /// Include it.
    Include,
    /// Exclude it while the next message may be merged into it. This saves a write. Use [`Include`](Self::Include) when
    /// the call ends.
    Exclude,
}

/// The ids and revisions of records that the log or its writer took.
///
/// `collect` makes one from records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Receipt(Vec<Line>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    pub id: MessageId,
    pub position: Position,
    pub revision: u32,
}

impl Receipt {
    /// Adds a record that was written or submitted.
    pub(crate) fn add(&mut self, record: &Record) {
        self.0.push(Line { id: record.id(), position: record.position(), revision: record.revision() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.0.iter().copied()
    }
}

impl<'a> FromIterator<&'a Record> for Receipt {
    fn from_iter<I: IntoIterator<Item = &'a Record>>(records: I) -> Self {
        let mut receipt = Self::default();
        records.into_iter().for_each(|record| receipt.add(record));
        receipt
    }
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Returns the records that the log does not have: new messages and changed ones, in the order of the list.
    ///
    /// They may be written in any order and any number of times. `last` decides whether a last message that may still grow
    /// is included. A record stays here until it is [acknowledged](Self::acknowledge) or [pruned](Self::prune).
    pub fn changes(&self, last: LastMessage) -> Vec<Record> {
        self.records_since(&self.logged, last).collect()
    }

    /// Removes records that are written from [`changes`](Self::changes). A message that changed again stays there.
    pub fn acknowledge<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) {
        self.note_logged(&records.into_iter().collect());
    }

    /// Returns the [`changes`](Self::changes) that no background writer has accepted yet.
    pub fn new_changes(&self, last: LastMessage) -> Vec<Record> {
        self.new_records(last).collect()
    }

    /// Removes records from [`new_changes`](Self::new_changes), because a background writer accepted them. They stay in
    /// [`changes`](Self::changes) until they are acknowledged.
    pub fn mark_submitted<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) {
        self.note_submitted(&records.into_iter().collect());
    }

    pub(crate) fn note_logged(&mut self, receipt: &Receipt) {
        let mut logged = std::mem::take(&mut self.logged);
        self.note(&mut logged, receipt);
        self.logged = logged;
        self.note_submitted(receipt);
    }

    pub(crate) fn note_submitted(&mut self, receipt: &Receipt) {
        let mut submitted = std::mem::take(&mut self.submitted);
        self.note(&mut submitted, receipt);
        self.submitted = submitted;
    }

    /// Puts every unacknowledged record back into [`new_changes`](Self::new_changes), after the writer is gone.
    pub fn take_back(&mut self) {
        self.submitted = self.logged.clone();
    }

    /// Iterates over the records of [`new_changes`](Self::new_changes) and creates each on demand.
    pub(crate) fn new_records(&self, last: LastMessage) -> impl Iterator<Item = Record> {
        self.records_since(&self.submitted, last)
    }

    fn records_since(&self, known: &Revisions, last: LastMessage) -> impl Iterator<Item = Record> {
        let newest = self.list.last().map(W::message);
        let growing =
            newest.filter(|newest| last == LastMessage::Exclude && self.merges(newest.role())).map(Message::id);
        let (dirty, unknown_from) = known.dirty();
        let changed = dirty.into_iter().filter_map(|position| self.list.get(self.index(position)));
        let new = self.list.range(unknown_from..self.list.end());
        let messages = changed.chain(new).map(W::message).filter(move |message| Some(message.id()) != growing);
        messages.map(|message| message.clone().into())
    }

    fn note(&self, known: &mut Revisions, receipt: &Receipt) {
        let message = |index: usize| self.list.get(index).map(W::message);
        for line in receipt.lines() {
            let index = self.index(line.position);
            if let Some(message) = message(index).filter(|message| message.id() == line.id) {
                let revision = line.revision.min(message.revision());
                known.acknowledge(index, revision, |index| self.list.get(index).map(|w| w.message().position()));
            }
        }
        known.remove_clean(|position| {
            let index = self.index(position);
            (index, message(index).map_or(0, Message::revision))
        });
    }
}

/// The revision of each message that the log, or its writer, has.
#[derive(Debug, Clone, Default)]
pub(super) struct Revisions {
    /// The index of the first message that is tracked.
    first: usize,
    /// The revisions from `first` to the last message that was ever acknowledged. Later messages are unknown to the log.
    known: Vec<u32>,
    /// The positions of messages among `known` with a newer revision, each once. Positions, because indices change when
    /// a summary is inserted.
    dirty: Vec<Position>,
}

impl Revisions {
    /// Tracks a list whose first index is `first`. The log has nothing of it yet.
    pub fn starting_at(first: usize) -> Self {
        Self { first, ..Self::default() }
    }

    /// Tracks a list that was restored from the log with these revisions.
    pub fn restored(revisions: impl Iterator<Item = u32>) -> Self {
        Self { known: revisions.collect(), ..Self::default() }
    }

    /// Tracks a message that was inserted into the list at `index`.
    pub fn insert(&mut self, index: usize, position: Position) {
        if index < self.unknown_from() {
            self.known.insert(index - self.first, 0);
            self.dirty.push(position);
        }
    }

    /// Marks the message at `index`, which is about to change, as dirty.
    #[inline]
    pub fn before_change(&mut self, index: usize, message: &Message) {
        if !self.is_dirty(index, message.revision()) {
            self.dirty.push(message.position());
        }
    }

    /// Notes that the log has this revision of the message at `index`. `position` maps an index to a position.
    pub fn acknowledge(&mut self, index: usize, revision: u32, position: impl Fn(usize) -> Option<Position>) {
        for new in self.unknown_from()..=index {
            self.known.push(0);
            self.dirty.extend(position(new));
        }
        if let Some(known) = index.checked_sub(self.first).and_then(|at| self.known.get_mut(at)) {
            *known = revision.max(*known);
        }
    }

    /// Removes messages from `dirty` whose newest revision is known. `current` maps a position to an index and revision.
    pub fn remove_clean(&mut self, current: impl Fn(Position) -> (usize, u32)) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.retain(|position| {
            let (index, revision) = current(*position);
            self.is_dirty(index, revision)
        });
        self.dirty = dirty;
    }

    /// Forgets the messages before the index `first`. `index` maps a position to an index.
    pub fn forget_before(&mut self, first: usize, index: impl Fn(Position) -> usize) {
        self.known.drain(..(first - self.first).min(self.known.len()));
        self.known.shrink_to(2 * self.known.len());
        self.first = first;
        self.dirty.retain(|position| index(*position) >= first);
    }

    /// Returns `true` if the log does not have this revision of the message at `index`.
    #[inline]
    pub fn is_dirty(&self, index: usize, revision: u32) -> bool {
        self.known.get(index.wrapping_sub(self.first)).is_none_or(|known| *known < revision)
    }

    /// Returns the sorted positions of dirty messages, and the index from which on the log has nothing.
    pub fn dirty(&self) -> (Vec<Position>, usize) {
        let mut dirty = self.dirty.clone();
        dirty.sort_unstable();
        (dirty, self.unknown_from())
    }

    fn unknown_from(&self) -> usize {
        self.first + self.known.len()
    }
}
