//! The changes that the log does not have, the [`Receipt`] for them, and [`Revisions`], which tracks what the log has.

use super::MessagesManager;
use crate::message::{Empty, Message, MessageId, MessageWrapper, Position, Rarely, Record};

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
        let changed = dirty.filter_map(|position| self.list.get(self.index(position)));
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
        known.remove_clean(|position| message(self.index(position)).map_or(0, Message::revision));
    }
}

/// The part of the list that the log, or its writer, has: the messages before an index, each in its newest revision but for a few.
#[derive(Debug, Clone, Default)]
pub(super) struct Revisions {
    /// The index from which on the log has nothing.
    unknown_from: usize,
    dirty: Rarely<Dirty>,
}

/// The messages before that index with a newer revision, and the revision that the log has, or 0. Sorted by position,
/// because indices change when a summary is inserted.
#[derive(Debug, Clone, Default, PartialEq)]
struct Dirty(Vec<(Position, u32)>);

impl Empty for Dirty {
    const EMPTY: &'static Self = &Self(Vec::new());
}

impl Revisions {
    /// The log has the messages before `unknown_from`, and nothing of the others.
    pub fn starting_at(unknown_from: usize) -> Self {
        Self { unknown_from, dirty: Rarely::default() }
    }

    /// Tracks a message that was inserted into the list at `index`.
    pub fn insert(&mut self, index: usize, position: Position) {
        if index < self.unknown_from {
            self.unknown_from += 1;
            self.add_dirty(position, 0);
        }
    }

    /// Marks the message at `index`, which is about to change, as dirty.
    #[inline]
    pub fn before_change(&mut self, index: usize, message: &Message) {
        if index < self.unknown_from {
            self.add_dirty(message.position(), message.revision());
        }
    }

    /// Notes that the log has this revision of the message at `index`. `position` maps an index to a position.
    pub fn acknowledge(&mut self, index: usize, revision: u32, position: impl Fn(usize) -> Option<Position>) {
        for new in self.unknown_from..=index {
            position(new).into_iter().for_each(|position| self.add_dirty(position, 0));
        }
        self.unknown_from = self.unknown_from.max(index + 1);
        let known = position(index).and_then(|position| self.find(position).ok());
        if let Some((_, known)) = known.and_then(|at| self.dirty.0.get_mut(at)) {
            *known = revision.max(*known);
        }
    }

    /// Removes messages from `dirty` whose newest revision is known. `current` returns it for a position.
    pub fn remove_clean(&mut self, current: impl Fn(Position) -> u32) {
        self.retain(|position, known| known < current(position));
    }

    /// Forgets the messages before the index `first`. `index` maps a position to an index.
    pub fn forget_before(&mut self, first: usize, index: impl Fn(Position) -> usize) {
        self.unknown_from = self.unknown_from.max(first);
        self.retain(|position, _| index(position) >= first);
    }

    /// Returns `true` if the log does not have the newest revision of a message at `index`.
    pub fn is_dirty(&self, index: usize, position: Position) -> bool {
        index >= self.unknown_from || self.find(position).is_ok()
    }

    /// Returns the sorted positions of dirty messages, and the index from which on the log has nothing.
    pub fn dirty(&self) -> (impl Iterator<Item = Position>, usize) {
        (self.dirty.0.iter().map(|(position, _)| *position), self.unknown_from)
    }

    fn retain(&mut self, keep: impl Fn(Position, u32) -> bool) {
        if !self.dirty.0.is_empty() {
            self.dirty.0.retain(|(position, known)| keep(*position, *known));
            if self.dirty.0.is_empty() {
                self.dirty = Rarely::default();
            }
        }
    }

    fn add_dirty(&mut self, position: Position, known: u32) {
        if let Err(at) = self.find(position) {
            self.dirty.0.insert(at, (position, known));
        }
    }

    fn find(&self, position: Position) -> Result<usize, usize> {
        self.dirty.0.binary_search_by_key(&position, |(position, _)| *position)
    }
}
