//! The header of a call, which is stored before its records.

use super::call::{Gap, Key};
use super::{Part, WriterTask};
use crate::log::spool::SpoolChange;
use crate::log::{LogError, LogErrorKind, Put};
use crate::message::Map;

impl WriterTask {
    pub(super) fn on_opened(&mut self, key: &Key, result: Result<Put, LogError>) {
        match result {
            Err(error) if !error.is_permanent() => {
                return self.on_failure(key, error);
            }
            Err(error) if error.kind() == LogErrorKind::Erased => self.forget(&key.0, &error),
            Err(error) if error.kind() == LogErrorKind::Refused && self.open_without_attributes(key, &error) => {}
            // Another call has this id, or the log refuses the header, without which nothing can be resumed. No record
            // may be written.
            Err(error) => self.fence(key, error),
            Ok(put) => {
                self.settle_header(key);
                // Writing a new header proves that no other writer has written the call.
                if let (Put::Written, Some(state)) = (put, self.calls.get_mut(key)) {
                    if state.gap == Gap::Unknown {
                        state.gap = Gap::None;
                    }
                    if self.attempts.log.stores_spans() {
                        state.spans.begin();
                    }
                }
            }
        }
        self.on_success(key);
    }

    /// Opens a call again without the attributes that the log may have refused. Returns `false` if it had none.
    fn open_without_attributes(&mut self, key: &Key, error: &LogError) -> bool {
        let Some(state) = self.calls.get(key) else { return false };
        let Some((_, header)) = state.opening.as_ref().filter(|(_, header)| !header.attributes().is_empty()) else {
            return false;
        };
        let plain = (**header).clone().with_attributes(Map::default());
        self.reject_part(key, Part::Header, error);
        self.queue_change(SpoolChange::Open(plain.clone()));
        if let Some((_, header)) = self.calls.get_mut(key).and_then(|state| state.opening.as_mut()) {
            **header = plain;
        }
        true
    }

    /// Removes the header from the work of a call, because it is stored or rejected.
    pub(super) fn settle_header(&mut self, key: &Key) {
        let Some(state) = self.calls.get_mut(key) else { return };
        if let Some((number, _)) = state.opening.take() {
            let lease = state.lease.clone();
            self.settle_part(number);
            self.queue_change(SpoolChange::Opened(lease));
        }
    }
}
