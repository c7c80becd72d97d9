//! The headers and ends of calls that the log refuses for good. The spool keeps the ends.

use super::call::Key;
use super::{Part, WriterTask, error_chain};
use crate::log::spool::SpoolChange;
use crate::log::{CallEnd, CallId, DeadLetter, LogError};

/// The maximum number of rejected headers and call ends that are remembered in memory.
const MAX_REJECTED: usize = 1_000;

impl WriterTask {
    /// Remembers that the log rejected the header or end of a call. Flushes and the list of dead letters report it until
    /// it is discarded.
    pub(super) fn reject_part(&mut self, key: &Key, part: Part, error: &LogError) {
        let (call_id, reason) = (key.0.clone(), error_chain(error));
        tracing::error!(?call_id, ?part, %reason, "the log rejects a part of a call; the part is not stored");
        let call_end = self.calls.get(key).and_then(|state| state.call_end.as_ref());
        let call_end = call_end.filter(|_| part == Part::CallEnd).map(|(_, call_end)| call_end.clone());
        if call_end.is_some() {
            self.queue_change(SpoolChange::RefuseEnd(call_id.clone(), reason.clone()));
        }
        self.add_rejected(part, DeadLetter { call_id, reason, record: None, call_end, is_unredacted: false });
    }

    fn add_rejected(&mut self, part: Part, letter: DeadLetter) {
        self.rejected.retain(|(rejected, older)| older.call_id != letter.call_id || *rejected != part);
        if self.rejected.len() == MAX_REJECTED {
            self.rejected.pop_front();
        }
        self.rejected.push_back((part, letter));
    }

    /// Adds the refused end of a call that was found in the spool, unless a later one was refused since.
    pub(super) fn recover_end(&mut self, call_id: &CallId, (call_end, reason): (CallEnd, Box<str>)) {
        let is_later = |(part, letter): &(Part, DeadLetter)| letter.call_id == *call_id && *part == Part::CallEnd;
        if !self.rejected.iter().any(is_later) {
            let (call_id, call_end) = (call_id.clone(), Some(call_end));
            let letter = DeadLetter { call_id, reason, record: None, call_end, is_unredacted: false };
            self.add_rejected(Part::CallEnd, letter);
        }
    }

    /// Rejects the header and the end of a call that are not stored yet.
    pub(super) fn reject_parts(&mut self, key: &Key, error: &LogError) {
        let Some(state) = self.calls.get(key) else { return };
        let (has_header, has_end) = (state.opening.is_some(), state.call_end.is_some());
        if has_header {
            self.reject_part(key, Part::Header, error);
        }
        if has_end {
            self.reject_part(key, Part::CallEnd, error);
        }
        self.settle_header(key);
        self.settle_call_end(key);
    }
}
