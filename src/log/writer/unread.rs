//! [`Unread`]: the calls of an earlier process that the task has not read from the spool yet.

use std::collections::BTreeSet;

use super::WriterTask;
use crate::log::spool::{Spool, SpooledCall};
use crate::log::{CallId, LogError, RecordKey};

/// The calls of an earlier process that the task has not read from the spool yet.
///
/// The task reads them in pieces, by id, while it keeps track of few spooled records, so that a large spool takes
/// little memory. A call that is used before its piece is read is read at once, before any change of it is committed.
#[derive(Debug, Default)]
pub(super) struct Unread {
    is_done: bool,
    /// The last call of the last piece.
    last: Option<CallId>,
    /// The calls to read at once.
    wanted: BTreeSet<CallId>,
    /// The calls after the last piece that were read at once.
    early: BTreeSet<CallId>,
}

/// A read of the spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Wanted(Vec<CallId>),
    /// The calls after this one.
    After(Option<CallId>),
}

/// The maximum number of records in a piece, unless its only call has more.
const MAX_PIECE: usize = 4_096;
/// The task keeps track of one spooled record per 4 KB of the limit of all calls.
const BYTES_PER_RECORD: usize = 4_096;

impl Piece {
    /// Reads the calls of the piece, until they have about `records` records.
    pub fn read(&self, spool: &Spool, records: usize) -> Result<Vec<SpooledCall>, LogError> {
        match self {
            Self::Wanted(ids) => spool.calls_of(ids),
            Self::After(last) => spool.calls(last.as_ref(), records),
        }
    }
}

impl Unread {
    /// Returns true if every call is read.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    pub fn is_read(&self, call_id: &CallId) -> bool {
        self.is_done || self.early.contains(call_id) || self.last.as_ref().is_some_and(|last| call_id <= last)
    }

    /// Requests a call at once.
    pub fn want(&mut self, call_id: &CallId) {
        if !self.is_read(call_id) {
            self.wanted.insert(call_id.clone());
        }
    }

    /// Returns the calls that are wanted.
    pub fn wanted(&self) -> Option<Piece> {
        (!self.wanted.is_empty()).then(|| Piece::Wanted(self.wanted.iter().cloned().collect()))
    }

    /// Returns the next piece, by id.
    pub fn next(&self) -> Option<Piece> {
        (!self.is_done).then(|| Piece::After(self.last.clone()))
    }

    /// Notes that a piece was read, and returns those of its calls that were not read before.
    pub fn add(&mut self, piece: Piece, mut found: Vec<SpooledCall>) -> Vec<SpooledCall> {
        match piece {
            Piece::Wanted(ids) => {
                for id in ids {
                    self.wanted.remove(&id);
                    self.early.insert(id);
                }
            }
            Piece::After(_) => {
                match found.last() {
                    Some(call) => self.last = Some(call.lease.call_id().clone()),
                    None => self.is_done = true,
                }
                found.retain(|call| !self.early.contains(call.lease.call_id()));
                let (is_done, last) = (self.is_done, &self.last);
                let is_later = |id: &CallId| !is_done && last.as_ref().is_none_or(|last| id > last);
                self.early.retain(is_later);
                self.wanted.retain(is_later);
            }
        }
        found
    }
}

impl WriterTask {
    /// Returns true if the records that an earlier process spooled of a call, or of all calls, are known.
    pub(super) fn is_spool_read(&self, call_id: Option<&CallId>) -> bool {
        self.spooling.as_ref().is_none_or(|spooling| match call_id {
            Some(call_id) => spooling.unread.is_read(call_id),
            None => spooling.unread.is_done(),
        })
    }

    /// Reads the spooled records of a call soon.
    pub(super) fn read_spooled(&mut self, call_id: &CallId) {
        if let Some(spooling) = &mut self.spooling {
            spooling.unread.want(call_id);
        }
    }

    /// Adds the calls of a piece.
    pub(super) fn on_read(&mut self, piece: Piece, found: Vec<SpooledCall>) {
        let Some(spooling) = &mut self.spooling else { return };
        let mut found = spooling.unread.add(piece, found);
        // The commit that removes an erased call or a dead letter may still be running.
        found.retain(|call| !self.is_forgotten(call.lease.call_id()));
        let discarded = self.discarded();
        for call in &mut found {
            let is_discarded = |key: Option<RecordKey>| discarded.contains(&(call.lease.call_id().clone(), key));
            call.dead_letters.retain(|(key, _)| !is_discarded(Some(*key)));
            call.refused_header.take_if(|_| is_discarded(None));
            call.refused_end.take_if(|_| is_discarded(None));
        }
        self.recover(found);
    }

    /// Returns how many spooled records the next piece may have; zero if the task keeps track of enough.
    pub(super) fn room_for_spooled(&self) -> usize {
        let most = (self.settings.max_bytes / BYTES_PER_RECORD).max(1);
        let known = super::unpoisoned(&self.shared.counters.status).spooled;
        most.saturating_sub(usize::try_from(known).unwrap_or(usize::MAX)).min(MAX_PIECE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::WriterLease;

    fn call(id: &str) -> SpooledCall {
        let lease = WriterLease::from(CallId::new(id).unwrap());
        SpooledCall {
            lease,
            opening: None,
            call_end: None,
            refused_header: None,
            refused_end: None,
            records: vec![],
            dead_letters: vec![],
            spans: vec![],
        }
    }

    fn ids(calls: &[SpooledCall]) -> Vec<&str> {
        calls.iter().map(|call| call.lease.call_id().as_str()).collect()
    }

    #[test]
    fn each_call_is_read_once() {
        let mut unread = Unread::default();
        let [a, b, c] = ["CA", "CB", "CC"].map(|id| CallId::new(id).unwrap());
        unread.want(&b);
        unread.want(&c);
        let wanted = unread.wanted().unwrap();
        assert_eq!(wanted, Piece::Wanted(vec![b.clone(), c.clone()]));
        assert_eq!(ids(&unread.add(wanted, vec![call("CB")])), ["CB"]);
        assert_eq!(
            (unread.wanted(), unread.is_read(&a), unread.is_read(&b), unread.is_read(&c)),
            (None, false, true, true)
        );

        assert_eq!(unread.next(), Some(Piece::After(None)));
        assert_eq!(ids(&unread.add(Piece::After(None), vec![call("CA"), call("CB")])), ["CA"]);
        assert_eq!(unread.next(), Some(Piece::After(Some(b.clone()))));
        unread.want(&a);
        assert_eq!(unread.wanted(), None);
        // The call is requested while its piece is being read.
        let d = CallId::new("CD").unwrap();
        unread.want(&d);
        // The task has put this call into the spool meanwhile.
        assert_eq!(ids(&unread.add(Piece::After(Some(b)), vec![call("CC"), call("CD")])), ["CD"]);
        assert_eq!(unread.wanted(), None);
        assert!(!unread.is_done());
        assert_eq!(unread.add(unread.next().unwrap(), vec![]), []);
        assert!(unread.is_done() && unread.next().is_none() && unread.is_read(&CallId::new("CE").unwrap()));
    }
}
