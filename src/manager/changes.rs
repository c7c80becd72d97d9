//! What the log does not know yet: [`Changes`], the [`Receipt`] for them, and the [`Ledger`] behind both.

use crate::message::{MessageId, Position, Record};

/// Whether the last message is among the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
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
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.0.iter().copied()
    }
}

impl<'a> FromIterator<&'a Record> for Receipt {
    fn from_iter<I: IntoIterator<Item = &'a Record>>(records: I) -> Self {
        let line = |record: &Record| Line { id: record.id(), position: record.position(), revision: record.revision() };
        Self(records.into_iter().map(line).collect())
    }
}

/// Which revision of each message the log has, by its index in the list.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    acknowledged: Vec<u32>,
    /// The indices of messages with a revision that is not acknowledged, each once.
    dirty: Vec<u32>,
}

impl Ledger {
    /// For messages that come from the log, with these revisions.
    pub fn of_restored(revisions: impl Iterator<Item = u32>) -> Self {
        Self { acknowledged: revisions.collect(), dirty: Vec::new() }
    }

    /// A message was added at the end of the list.
    pub fn appended(&mut self) {
        self.dirty.push(self.acknowledged.len() as u32);
        self.acknowledged.push(0);
    }

    /// A message was put in the list at `index`.
    pub fn inserted(&mut self, index: usize) {
        self.acknowledged.insert(index, 0);
        for dirty in &mut self.dirty {
            *dirty += u32::from(*dirty as usize >= index);
        }
        self.dirty.push(index as u32);
    }

    /// The message at `index` had `revision` and is changed.
    pub fn changing(&mut self, index: usize, revision: u32) {
        if self.acknowledged.get(index) == Some(&revision) {
            self.dirty.push(index as u32);
        }
    }

    /// The log has this revision of the message at `index`.
    pub fn acknowledge(&mut self, index: usize, revision: u32) {
        if let Some(acknowledged) = self.acknowledged.get_mut(index) {
            *acknowledged = revision.max(*acknowledged);
        }
    }

    /// Forgets what is clean, once receipts are acknowledged; `revision` tells that of the message at an index.
    pub fn tidy(&mut self, revision: impl Fn(usize) -> u32) {
        let acknowledged = &self.acknowledged;
        self.dirty
            .retain(|&index| acknowledged.get(index as usize).is_some_and(|known| *known < revision(index as usize)));
    }

    pub fn is_dirty(&self, index: usize) -> bool {
        self.dirty.contains(&(index as u32))
    }

    /// The indices of what the log does not know, ascending.
    pub fn dirty(&self) -> Vec<usize> {
        let mut dirty: Vec<usize> = self.dirty.iter().map(|&index| index as usize).collect();
        dirty.sort_unstable();
        dirty
    }
}
