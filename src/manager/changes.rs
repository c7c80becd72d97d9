//! What the log does not know yet: [`Changes`], the [`Receipt`] for them, and the [`Ledger`] behind both.

use crate::message::{Message, MessageId, Position, Record};

/// Whether the last message is among the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastMessage {
    /// It is.
    Include,
    /// It is not, as long as the next message may still be merged into it: this saves a write. Take it in when the
    /// call ends.
    Exclude,
}

/// The records that the log does not know yet, in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes(Vec<Record>);

impl Changes {
    pub(super) fn new(records: Vec<Record>) -> Self {
        Self(records)
    }

    /// The records, to be written in any order, any number of times.
    pub fn records(&self) -> &[Record] {
        &self.0
    }

    /// The records themselves.
    pub fn into_records(self) -> Vec<Record> {
        self.0
    }

    /// Whether the log knows everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What to [acknowledge](crate::MessagesManager::acknowledge) once all of them are written.
    pub fn receipt(&self) -> Receipt {
        self.0.iter().collect()
    }
}

/// Which revisions of which messages the log has. Collected from the records that were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipt(Vec<Line>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    pub id: MessageId,
    pub position: Position,
    pub revision: u32,
}

impl Receipt {
    /// A receipt for nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in that the log has a record.
    pub fn add(&mut self, record: &Record) {
        self.0.push(Line { id: record.id(), position: record.position(), revision: record.revision() });
    }

    /// Takes in what another receipt says.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether it is a receipt for nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.0.iter().copied()
    }
}

impl<'a> FromIterator<&'a Record> for Receipt {
    fn from_iter<I: IntoIterator<Item = &'a Record>>(records: I) -> Self {
        let mut receipt = Self::new();
        records.into_iter().for_each(|record| receipt.add(record));
        receipt
    }
}

/// Which revision of each message the log has.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    /// The index of the first message of which it tells.
    first: usize,
    /// From there on, up to the last message that was ever acknowledged: the log knows none behind it.
    acknowledged: Vec<u32>,
    /// Of these, where messages stand of which a revision is not acknowledged, each once. Positions stay when a
    /// summary comes in front of them, indices do not.
    dirty: Vec<Position>,
}

impl Ledger {
    /// For messages of which the log knows none, the first at this index.
    pub fn beginning_at(first: usize) -> Self {
        Self { first, ..Self::default() }
    }

    /// For messages that come from the log, with these revisions.
    pub fn of_restored(revisions: impl Iterator<Item = u32>) -> Self {
        Self { acknowledged: revisions.collect(), ..Self::default() }
    }

    /// A message was put in the list at `index`.
    pub fn inserted(&mut self, index: usize, position: Position) {
        if index < self.unknown_from() {
            self.acknowledged.insert(index - self.first, 0);
            self.dirty.push(position);
        }
    }

    /// The message at `index` is as it is told, and will change.
    #[inline]
    pub fn changing(&mut self, index: usize, message: &Message) {
        if !self.is_dirty(index, message.revision()) {
            self.dirty.push(message.position());
        }
    }

    /// The log has this revision of the message at `index`; `position` tells where a message stands.
    pub fn acknowledge(&mut self, index: usize, revision: u32, position: impl Fn(usize) -> Option<Position>) {
        for new in self.unknown_from()..=index {
            self.acknowledged.push(0);
            self.dirty.extend(position(new));
        }
        if let Some(acknowledged) = index.checked_sub(self.first).and_then(|at| self.acknowledged.get_mut(at)) {
            *acknowledged = revision.max(*acknowledged);
        }
    }

    /// Forgets what is clean, once receipts are acknowledged; `now` tells the index and the revision at a position.
    pub fn tidy(&mut self, now: impl Fn(Position) -> (usize, u32)) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.retain(|position| {
            let (index, revision) = now(*position);
            self.is_dirty(index, revision)
        });
        self.dirty = dirty;
    }

    /// Forgets the messages in front of this index; `index` tells the one of a position.
    pub fn forget(&mut self, first: usize, index: impl Fn(Position) -> usize) {
        self.acknowledged.drain(..(first - self.first).min(self.acknowledged.len()));
        self.first = first;
        self.dirty.retain(|position| index(*position) >= first);
    }

    /// Whether the log does not know this revision of the message at `index`.
    #[inline]
    pub fn is_dirty(&self, index: usize, revision: u32) -> bool {
        let acknowledged = self.acknowledged.get(index.wrapping_sub(self.first));
        acknowledged.is_none_or(|acknowledged| *acknowledged < revision)
    }

    /// Where messages stand that the log does not know, in their order, up to the index from which on it knows none.
    pub fn dirty(&self) -> (Vec<Position>, usize) {
        let mut dirty = self.dirty.clone();
        dirty.sort_unstable();
        (dirty, self.unknown_from())
    }

    fn unknown_from(&self) -> usize {
        self.first + self.acknowledged.len()
    }
}
