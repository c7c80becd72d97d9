//! The headers and ends of calls that the log refuses for good. The spool keeps both.

use super::call::Key;
use super::{Part, WriterTask, error_chain};
use crate::log::spool::SpoolChange;
use crate::log::{DeadLetter, LogError};

/// The maximum number of rejected headers and call ends that are remembered in memory.
const MAX_REJECTED: usize = 1_000;

impl WriterTask {
    /// Remembers that the log rejected the header or end of a call. Flushes and the list of dead letters report it until
    /// it is discarded.
    pub(super) fn reject_part(&mut self, key: &Key, part: Part, error: &LogError) {
        let (call_id, reason) = (key.0.clone(), error_chain(error));
        tracing::error!(?call_id, ?part, %reason, "the log rejects a part of a call; the part is not stored");
        let Some(state) = self.calls.get(key) else { return };
        let header = state.opening.as_ref().map(|(_, header)| (**header).clone());
        let call_end = state.call_end.as_ref().map(|(_, call_end)| call_end.clone());
        let letter = match (part, header, call_end) {
            (Part::Header, Some(header), _) => {
                self.queue_change(SpoolChange::RefuseHeader(header.clone(), reason.clone()));
                DeadLetter::of_header(header, reason)
            }
            (Part::CallEnd, _, Some(call_end)) => {
                self.queue_change(SpoolChange::RefuseEnd(call_id.clone(), reason.clone()));
                DeadLetter::of_end(call_id, call_end, reason)
            }
            _ => return,
        };
        self.add_rejected(part, letter);
    }

    fn add_rejected(&mut self, part: Part, letter: DeadLetter) {
        self.rejected.retain(|(rejected, older)| older.call_id != letter.call_id || *rejected != part);
        if self.rejected.len() == MAX_REJECTED {
            self.rejected.pop_front();
        }
        self.rejected.push_back((part, letter));
    }

    /// Adds the refused part of a call that was found in the spool, unless a later one was refused since.
    pub(super) fn recover_rejected(&mut self, part: Part, found: Option<DeadLetter>) {
        let Some(letter) = found else { return };
        let is_later = |(of, later): &(Part, DeadLetter)| later.call_id == letter.call_id && *of == part;
        if !self.rejected.iter().any(is_later) {
            self.add_rejected(part, letter);
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
