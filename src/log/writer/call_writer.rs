//! [`CallWriter`]: the way of one call into the log.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::call::Gap;
use super::shared::{CallShared, Order, Orders, Shared, Weighed};
use super::{Durability, Unstored, unpoisoned};
use crate::clock::from_now;
use crate::log::{CallEnd, CallHeader, LogError, WriterLease};
use crate::manager::{LastMessage, MessagesManager, Receipt};
use crate::message::{MessageWrapper, Record};

/// The way of one call into the log. Drop it when the call is over: what was accepted is written all the same.
pub struct CallWriter {
    call: Arc<CallShared>,
    shared: Arc<Shared>,
    orders: Orders,
}

/// What became of changes that were handed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandedOver {
    /// How many records were accepted.
    pub records: usize,
    /// Whether there was no room for all of them: the rest stays pending in the manager, and comes with the next turn.
    pub is_full: bool,
}

/// Why nothing of a call is accepted any more.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum NotAccepted {
    /// Another process has resumed the call, or the call was erased. What was accepted and not yet stored was
    /// [set aside](super::DeadLetter), or forgotten with the call.
    #[error("{0}")]
    Over(Arc<LogError>),
    /// The writer was stopped.
    #[error(
        "the log's writer was stopped; nothing was accepted: start another one, take back what was handed over, and hand over all that is pending"
    )]
    Stopped,
}

impl CallWriter {
    pub(super) fn new(lease: WriterLease, gap: Gap, shared: Arc<Shared>, orders: Orders) -> Self {
        let call = Arc::new(CallShared::new(lease, gap));
        // Without a task nothing is accepted, and that is told.
        let _ = orders.send(Order::Begin(call.clone()));
        Self { call, shared, orders }
    }

    /// Has the header of the call written.
    pub(super) fn open(&self, header: CallHeader) -> Result<(), NotAccepted> {
        self.orders.send(Order::Open(self.call.clone(), header)).map_err(|_| NotAccepted::Stopped)
    }

    /// The right with which it is written.
    pub fn lease(&self) -> &WriterLease {
        &self.call.lease
    }

    /// Tells the manager what the log has, and takes what it has to say: what changed since the last time.
    ///
    /// Never waits, and does the same work whatever the log does: it looks at what is new, not at what is waiting.
    /// `tail` as in [`changes`](MessagesManager::changes). What finds no room stays pending in the manager.
    ///
    /// Errors: another process has resumed the call, it was erased, or the writer was stopped; all stays pending.
    pub fn submit<W: MessageWrapper>(
        &self,
        manager: &mut MessagesManager<W>,
        tail: LastMessage,
    ) -> Result<HandedOver, NotAccepted> {
        self.acknowledge(manager);
        if let Some(over) = self.call.over.get() {
            return Err(over.clone());
        }
        let mut submitted = HandedOver::default();
        let (mut receipt, mut records, mut bytes) = (Receipt::default(), Vec::new(), 0);
        for record in manager.new_records(tail) {
            let weighed = Weighed { bytes: weight(&record), record };
            if !self.shared.take(&self.call, weighed.bytes) {
                submitted.is_full = true;
                self.shared.count(|status| status.refused += 1);
                break;
            }
            bytes += weighed.bytes;
            receipt.add(&weighed.record);
            records.push(weighed);
        }
        submitted.records = records.len();
        if records.is_empty() {
            return Ok(submitted);
        }
        let number = records.len();
        self.shared.count(|status| status.accepted += number as u64);
        self.shared.count(|status| status.queued += number as u64);
        if self.orders.send(Order::Records(self.call.clone(), records)).is_err() {
            self.shared.count(|status| status.accepted -= number as u64);
            self.shared.count(|status| status.queued -= number as u64);
            self.shared.give_back(&self.call, bytes);
            return Err(NotAccepted::Stopped);
        }
        if self.shared.acknowledge_at == Durability::Accepted {
            manager.acknowledge(receipt);
        } else {
            manager.mark_submitted(&receipt);
        }
        Ok(submitted)
    }

    /// Tells the manager what the log has: [`submit`](Self::submit) does so first.
    pub fn acknowledge<W: MessageWrapper>(&self, manager: &mut MessagesManager<W>) {
        let receipt = std::mem::take(&mut *unpoisoned(&self.call.receipts));
        if !receipt.is_empty() {
            manager.acknowledge(receipt);
        }
    }

    /// Waits until all that was accepted of this call before is stored, and tells what is not, within a time: nothing,
    /// if all is well. Otherwise as [`LogWriter::flush`](super::LogWriter::flush).
    pub async fn flush(&self, within: Duration) -> Vec<Unstored> {
        super::flush::flush(&self.orders, &self.shared, Some(self.call.lease.call_id().clone()), within).await
    }

    /// Hands over all that is left of a call, waiting for room, and writes down how it ended. That it is accepted is
    /// what this waits for, not that it is stored: see [`flush`](Self::flush).
    ///
    /// Errors: as [`submit`](Self::submit), or no room in time; what was accepted is, and it can be tried again.
    pub async fn finish<W: MessageWrapper>(
        &self,
        manager: &mut MessagesManager<W>,
        call_end: CallEnd,
        within: Duration,
    ) -> Result<(), FinishError> {
        let until = from_now(within);
        loop {
            // Registered before the look, so that room made in between is not missed.
            let room = self.shared.room.notified();
            if !self.submit(manager, LastMessage::Include)?.is_full {
                break;
            }
            if Instant::now() > until || timeout_at(until, room).await.is_err() {
                return Err(FinishError::Unfinished { left: manager.new_records(LastMessage::Include).count() });
            }
        }
        let sent = self.orders.send(Order::Close(self.call.clone(), call_end));
        sent.map_err(|_| NotAccepted::Stopped.into())
    }
}

/// Why a call was not handed over to its end.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum FinishError {
    /// Nothing of it is accepted any more.
    #[error(transparent)]
    NotAccepted(#[from] NotAccepted),
    /// There was no room in time.
    #[error("{left} records of the call found no room in time; they are still pending in the manager: try again")]
    Unfinished {
        /// How many records.
        left: usize,
    },
}

/// About how many bytes a record takes, that its texts are shared with the manager aside.
fn weight(record: &Record) -> usize {
    record.metadata().record_bytes() + record.contents().record_bytes()
}

impl Drop for CallWriter {
    fn drop(&mut self) {
        // Without a task there is nothing that would remember the call.
        let _ = self.orders.send(Order::Gone(self.call.clone()));
    }
}

impl fmt::Debug for CallWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallWriter").field("claim", &self.call.lease).finish_non_exhaustive()
    }
}
