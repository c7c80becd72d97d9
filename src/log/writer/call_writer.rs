//! [`CallWriter`]: the handle for logging one call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::shared::{CallShared, Command, Commands, Shared, SizedRecord};
use super::{Durability, Unstored, unpoisoned};
use crate::clock::from_now;
use crate::log::{CallEnd, CallHeader, LogError, LogErrorKind, WriterLease, redact_call};
use crate::manager::{LastMessage, MessagesManager, Receipt};
use crate::message::{MessageWrapper, Position, Record, ToolCall};

/// The longest wait of urgent changes for others.
const SOON: Duration = Duration::from_secs(1);

/// The handle for logging one call. Drop it when the call is over: accepted changes are still stored.
pub struct CallWriter {
    call: Arc<CallShared>,
    shared: Arc<Shared>,
    commands: Commands,
    ended: Option<CallEnd>,
}

/// The result of submitting changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Submitted {
    /// The number of records that were accepted.
    pub records: usize,
    /// True if the limits left no room for the remaining records. They stay pending in the manager until the next
    /// submission.
    pub is_full: bool,
}

impl CallWriter {
    pub(super) fn new(call: CallShared, ended: Option<CallEnd>, shared: Arc<Shared>, commands: Commands) -> Self {
        let call = Arc::new(call);
        // Without a task, `submit` reports that the writer is stopped.
        let _ = commands.send(Command::Begin(call.clone()));
        Self { call, shared, commands, ended }
    }

    pub(super) fn open(&self, header: CallHeader) -> Result<(), LogError> {
        self.commands.send(Command::Open(self.call.clone(), header)).map_err(|_| LogError::stopped())
    }

    /// The lease with which the call is written.
    pub fn lease(&self) -> &WriterLease {
        &self.call.lease
    }

    /// How the call had ended when it was [resumed](super::LogWriter::resume) with this handle. Resuming a call removes
    /// its end.
    pub fn ended(&self) -> Option<&CallEnd> {
        self.ended.as_ref()
    }

    /// Submits every change since the last call of this method, and returns the number of accepted records. Before
    /// that, it [acknowledges](Self::acknowledge) stored changes.
    ///
    /// Never blocks. The cost depends on the new changes only, not on those that are already queued. `last` is as in
    /// [`changes`](MessagesManager::changes). Changes that exceed the limits stay pending in the manager.
    ///
    /// Returns [`Fenced`](LogErrorKind::Fenced) if another process has taken the call over,
    /// [`Erased`](LogErrorKind::Erased) if the call was erased, and [`Stopped`](LogErrorKind::Stopped) if the writer
    /// was stopped. The new changes then stay pending. Changes that were submitted earlier but not stored have become
    /// [dead letters](crate::log::DeadLetter) if the call was taken over, and were dropped if it was erased.
    pub fn submit<W: MessageWrapper>(
        &self,
        manager: &mut MessagesManager<W>,
        last: LastMessage,
    ) -> Result<usize, LogError> {
        Ok(self.try_submit(manager, last)?.records)
    }

    fn try_submit<W: MessageWrapper>(
        &self,
        manager: &mut MessagesManager<W>,
        last: LastMessage,
    ) -> Result<Submitted, LogError> {
        self.acknowledge(manager);
        if let Some(refusal) = self.call.refusal.get() {
            return Err(refusal.clone());
        }
        let mut submitted = Submitted::default();
        let (mut receipt, mut records, mut total) = (Receipt::default(), Vec::new(), 0);
        for record in manager.new_records(last) {
            let bytes = size_of(&record);
            if !self.shared.reserve(&self.call, bytes) {
                submitted.is_full = true;
                self.shared.count(|status| status.refused += 1);
                break;
            }
            total += bytes;
            receipt.add(&record);
            records.push(SizedRecord { record, bytes });
        }
        submitted.records = records.len();
        if records.is_empty() {
            return Ok(submitted);
        }
        self.call.begin_submission();
        let count = records.len() as u64;
        self.shared.count(|status| (status.accepted, status.queued) = (status.accepted + count, status.queued + count));
        if self.commands.send(Command::Records(self.call.clone(), records)).is_err() {
            self.shared
                .count(|status| (status.accepted, status.queued) = (status.accepted - count, status.queued - count));
            self.shared.release(&self.call, total);
            return Err(LogError::stopped());
        }
        if self.shared.acknowledge_at == Durability::Accepted {
            manager.note_logged(&receipt);
        } else {
            manager.note_submitted(&receipt);
        }
        Ok(submitted)
    }

    /// Submits every change. The messages from `open_from` on belong to a reply that is generated or played, so they will
    /// change again and [wait](super::WriterSettings::with_turn_wait).
    pub(crate) fn submit_open<W: MessageWrapper>(
        &self,
        manager: &mut MessagesManager<W>,
        open_from: Option<Position>,
    ) -> Result<Submitted, LogError> {
        let before = std::mem::replace(&mut *unpoisoned(&self.call.open_from), open_from);
        let submitted = self.try_submit(manager, LastMessage::Include)?;
        if submitted.records == 0 && before != open_from {
            // The waiting records may be due now.
            self.commands.send(Command::Records(self.call.clone(), Vec::new())).map_err(|_| LogError::stopped())?;
        }
        Ok(submitted)
    }

    /// Marks changes in the manager as logged if they have reached the required
    /// [durability](super::WriterSettings::with_acknowledge_at). [`submit`](Self::submit) does this first.
    pub fn acknowledge<W: MessageWrapper>(&self, manager: &mut MessagesManager<W>) {
        let receipt = std::mem::take(&mut *unpoisoned(&self.call.receipts));
        if !receipt.is_empty() {
            manager.note_logged(&receipt);
        }
    }

    /// Returns a tool call with the arguments that the log has. Returns `None` if they are not redacted.
    pub(crate) fn redacted(&self, call: &ToolCall) -> Option<ToolCall> {
        let redactors = &self.shared.redactors;
        if redactors.0.is_empty() { None } else { redact_call(call, redactors) }
    }

    /// Returns whether the call accepts no more changes.
    pub(crate) fn is_refused(&self) -> bool {
        self.call.refusal.get().is_some()
    }

    /// Renews the lease of a call that was finished and then continues.
    pub(crate) fn reopen(&self) {
        // Without a task, `submit` reports that the writer is stopped.
        let _ = self.commands.send(Command::Reopen(self.call.clone()));
    }

    /// Returns the level of the call's least durable record.
    pub(crate) fn level(&self) -> Durability {
        self.call.level()
    }

    /// Returns the changes of the level.
    pub(crate) fn level_changes(&self) -> watch::Receiver<Durability> {
        self.call.level_changes()
    }

    /// Waits until a limit has room for more changes.
    pub(crate) fn room(&self) -> impl Future<Output = ()> + Send {
        self.shared.room.notified()
    }

    /// Waits until all accepted changes of this call are stored, and returns those that are not stored by the timeout.
    ///
    /// See [`LogWriter::flush`](super::LogWriter::flush).
    pub async fn flush(&self, timeout: Duration) -> Vec<Unstored> {
        super::flush::flush(&self.commands, &self.shared, Some(self.call.lease.call_id().clone()), timeout).await
    }

    /// Stores all accepted changes of this call as soon as possible, unless they count as safe in the spool. Returns at
    /// once.
    pub(crate) fn store_soon(&self) {
        if self.shared.acknowledge_at == Durability::Spooled {
            return;
        }
        let call_id = Some(self.call.lease.call_id().clone());
        let (reply, _) = oneshot::channel();
        // Without a task, `submit` reports that the writer is stopped.
        let _ = self.commands.send(Command::Flush { call_id, deadline: from_now(SOON), reply });
    }

    /// Submits all remaining changes of a call and its end, waiting for room if necessary.
    ///
    /// Returns when everything is accepted; [`flush`](Self::flush) waits until it is stored.
    ///
    /// Returns the errors of [`submit`](Self::submit), and a [retryable](LogError::is_retryable) error if there was no
    /// room by the timeout. Accepted changes stay accepted.
    pub async fn finish<W: MessageWrapper>(
        &self,
        manager: &mut MessagesManager<W>,
        call_end: CallEnd,
        timeout: Duration,
    ) -> Result<(), LogError> {
        let deadline = from_now(timeout);
        *unpoisoned(&self.call.open_from) = None;
        loop {
            // Registered before `submit`, so that a notification between the two is not missed.
            let room = self.room();
            if !self.try_submit(manager, LastMessage::Include)?.is_full {
                break;
            }
            if Instant::now() > deadline || timeout_at(deadline, room).await.is_err() {
                let left = manager.new_records(LastMessage::Include).count();
                let text = format!(
                    "{left} records of call {} found no room in the writer by the deadline; they are still pending in the \
                     manager: retry",
                    self.call.lease.call_id()
                );
                return Err(LogError::new(LogErrorKind::Unavailable, text));
            }
        }
        self.commands.send(Command::Close(self.call.clone(), call_end)).map_err(|_| LogError::stopped())
    }
}

/// Returns about how many bytes a record takes. Texts are shared with the manager but count in full.
pub(super) fn size_of(record: &Record) -> usize {
    record.metadata().record_bytes() + record.contents().record_bytes()
}

impl Drop for CallWriter {
    fn drop(&mut self) {
        // Without a task, no state of the handle remains.
        let _ = self.commands.send(Command::Dropped(self.call.clone()));
    }
}

impl fmt::Debug for CallWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallWriter").field("lease", &self.call.lease).finish_non_exhaustive()
    }
}
