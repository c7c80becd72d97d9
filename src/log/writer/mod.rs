//! [`LogWriter`]: a background writer that stores the changes of all calls in a process.
//!
//! One task serves all calls of a process. Submitting changes never blocks and never inspects the queue. The task keeps
//! the newest revision of each message, writes the records of a call in order and several calls concurrently, retries
//! failures, and acknowledges stored changes to the manager. Start reading with `call_writer.rs`, `task.rs`, `call.rs`.
//!
//! With a [redactor](WriterSettings::with_redactor), the task [redacts](crate::log::redact) each record when it
//! arrives. All records that wait in memory or in the spool are therefore redacted.
//!
//! A change is [*accepted*, *spooled* or *stored*](Durability): in memory, in the [spool](crate::log::Spool), or in the log.

mod attempts;
mod blocking;
mod call;
mod call_writer;
mod closing;
mod commands;
mod contest;
mod dead_letters;
mod erased;
mod fencing;
mod flush;
mod held;
mod letters;
mod next;
mod opening;
mod operation;
mod recovery;
mod rejected;
mod renewal;
mod settings;
mod shared;
mod spans;
mod spooled;
mod spooling;
mod status;
mod takeover;
mod task;
mod trouble;
mod unread;
mod unstored;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

pub use call_writer::CallWriter;
pub(crate) use call_writer::Submitted;
pub use settings::WriterSettings;
pub use status::{Durability, Status};
use task::WriterTask;
pub use unstored::Unstored;

use super::{CallEnd, CallHeader, CallId, CallLog, LogError, LogErrorKind, Spool, WriterLease};
use crate::clock::from_now;
use crate::manager::{LeftOut, MessagesManager};
use crate::message::MessageWrapper;
use call::Gap;
use flush::{Reply, reply_by};
use shared::{CallShared, Command, Commands, Shared};
use spans::Spans;
use takeover::Watches;
#[cfg(feature = "testing")]
pub(crate) use takeover::take_over;
use unstored::{NO_ANSWER, Part, error_chain};

/// A background writer that stores the changes of all calls in a process. Clones are handles of the same task.
///
/// Each call gets a [`CallWriter`], and one task writes for all of them: the records of a call in order, and
/// several calls concurrently. The task retries failures, and acknowledges stored changes to the manager. Submitting
/// changes never blocks. Changes wait in memory up to the [limits](WriterSettings::with_limits), or in the spool if
/// there is one.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use verbale::log::{CallHeader, CallId, CallLog, CallEnd, LogWriter, MemoryLog, WriterSettings};
/// use verbale::{MessagesManager, PlainMessage, LastMessage};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = Arc::new(MemoryLog::default()); // a DynamoLog, in a service
/// let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
/// let task = tokio::spawn(task);
///
/// let call_id = CallId::new("CA1")?;
/// let call = writer.open(CallHeader::new(call_id.clone(), 1_744_815_823_058)?)?;
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("Hi, there")?;
/// call.submit(&mut manager, LastMessage::Exclude)?; // at the end of each turn
/// manager.add_assistant("Hello!")?;
///
/// let call_end = CallEnd::of(&manager, 1_744_815_829_000, "hangup")?;
/// call.finish(&mut manager, call_end, Duration::from_secs(5)).await?;
/// assert!(call.flush(Duration::from_secs(5)).await.is_empty()); // everything is stored
/// assert!(MessagesManager::restore(log.read_call(&call_id).await?.records)? == manager);
/// # drop((call, writer));
/// # task.await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct LogWriter {
    log: Arc<dyn CallLog>,
    spool: Option<Arc<Spool>>,
    settings: Arc<WriterSettings>,
    watches: Arc<Watches>,
    shared: Arc<Shared>,
    commands: Commands,
}

impl LogWriter {
    /// Creates a writer into `log`, and the task that writes. Run the task once per process with `tokio::spawn(task)`, and
    /// keep the join handle to await its end.
    ///
    /// The task ends when all handles (writers and call writers) are dropped and everything is stored, or 10 s after
    /// the last handle was dropped.
    pub fn new(log: Arc<dyn CallLog>, settings: WriterSettings) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (writer, task) = Self::with_task(log, settings);
        (writer, task.run())
    }

    /// Opens a call that starts now. Its header is stored before its records.
    ///
    /// Returns [`Stopped`](LogErrorKind::Stopped) if the writer was stopped.
    pub fn open(&self, header: CallHeader) -> Result<CallWriter, LogError> {
        let call = self.call(WriterLease::from(&header));
        call.open(header)?;
        Ok(call)
    }

    /// Returns a handle for a call without opening it, because the call is already open or should not be listed.
    ///
    /// An earlier handle or process may not have stored all records of the call. The task therefore reads the header
    /// before and after each batch, to check that no other process has taken the call over. [Resuming](Self::resume)
    /// the call avoids these reads.
    ///
    /// A manager belongs to the handle that acknowledges its changes. Before you use another handle,
    /// [take back](MessagesManager::take_back) the submitted changes.
    pub fn call(&self, lease: WriterLease) -> CallWriter {
        self.call_of(CallShared::new(lease, Gap::Unknown), None)
    }

    fn call_of(&self, call: CallShared, ended: Option<CallEnd>) -> CallWriter {
        CallWriter::new(call, ended, self.shared.clone(), self.commands.clone())
    }

    /// Resumes a call that another process was writing, or this process before a restart. Stores the spooled records of
    /// the call, takes it over in the log, and restores it.
    ///
    /// Reads and restores the call first, and only then commits to the takeover; before that, nothing is written.
    /// Retries requests that time out or are throttled. If the takeover fails after it was committed, the older writer
    /// takes its call back. [`with_takeover_after`](WriterSettings::with_takeover_after) leaves a live writer its call.
    ///
    /// Takes `timeout` at most. If contents cannot be loaded, the call is restored without them, and a `tracing` event
    /// of level error names each; [`read_call`](CallLog::read_call) lists them, too.
    ///
    /// The call is restored from the available records. [`left_out`](MessagesManager::left_out) names each record that
    /// is missing or cannot be read, and each dead letter of this process and its spool, with the position and the
    /// reason. A message that was left out keeps its number. [`retry_dead_letter`](Self::retry_dead_letter) can store a
    /// dead letter at its position. [`CallWriter::ended`] returns how the call had ended.
    ///
    /// Returns [`NotOpened`](LogErrorKind::NotOpened) if the call was never opened or has expired,
    /// [`Erased`](LogErrorKind::Erased) if it was erased, [`Fenced`](LogErrorKind::Fenced) if another process resumed
    /// it at the same time, or the error of a log that failed. The error is [retryable](LogError::is_retryable) if
    /// spooled records could not be stored in time, if the log did not answer in time, if the writer of the call is
    /// alive, or if another process is taking the call over.
    pub async fn resume<W: MessageWrapper>(
        &self,
        call_id: &CallId,
        timeout: Duration,
    ) -> Result<(MessagesManager<W>, CallWriter), LogError> {
        let deadline = from_now(timeout);
        self.flush_known(call_id, timeout).await?;
        let here = by(deadline, "resuming", call_id, self.dead_letters(Some(call_id))).await?;
        let mut logged = self.noting_erasure(call_id, self.take_over(call_id, deadline).await)?;
        for problem in &logged.problems {
            tracing::error!(?call_id, %problem, error = %problem.error, "a call is resumed without one of its contents");
        }
        let lease = logged.lease().ok_or_else(|| LogError::not_opened(call_id))?;
        logged.left_out.extend(here.iter().filter_map(|letter| letter.left_out(&logged.records)));
        let (ended, spans) = (logged.ended.clone(), std::mem::take(&mut logged.spans));
        let there: BTreeMap<_, _> = logged.records.iter().map(|record| (record.position(), record.id())).collect();
        let manager: MessagesManager<W> = logged.restore();
        for LeftOut { position, reason, .. } in manager.left_out() {
            tracing::error!(?call_id, ?position, %reason, "a call is resumed without one of its records");
        }
        let places = manager.left_out().iter().map(|left_out| left_out.position);
        let left_out: BTreeMap<_, _> = places.map(|place| (place, there.get(&place).copied())).collect();
        // A later takeover fences the positions after the last stored record, but this writer may write to missing
        // positions before it.
        let gap = if left_out.is_empty() { Gap::None } else { Gap::Left };
        let spans = Spans::resumed(spans, manager.next_seq(), self.log.stores_spans());
        Ok((manager, self.call_of(CallShared { left_out, spans, ..CallShared::new(lease, gap) }, ended)))
    }

    /// Reads the header of a call, after the records of the call that wait in this process are stored.
    ///
    /// Returns the errors of [`read_header`](CallLog::read_header), and a [retryable](LogError::is_retryable) error if
    /// the log does not answer in time or records could not be stored in time.
    pub(crate) async fn find(&self, call_id: &CallId, timeout: Duration) -> Result<Option<CallHeader>, LogError> {
        let deadline = from_now(timeout);
        self.flush_known(call_id, timeout).await?;
        self.noting_erasure(call_id, by(deadline, "finding", call_id, self.log.read_header(call_id)).await)
    }

    /// Stores the records of a call that wait in this process, or returns a retryable error.
    async fn flush_known(&self, call_id: &CallId, timeout: Duration) -> Result<(), LogError> {
        let mut unstored = self.flush_call(Some(call_id.clone()), timeout).await;
        unstored.retain(|unstored| !unstored.is_dead_letter);
        let Some(first) = unstored.first() else { return Ok(()) };
        let text = format!("call {call_id} has {} changes that are not stored yet: {first}; retry", unstored.len());
        Err(LogError::new(LogErrorKind::Unavailable, text))
    }

    /// Waits until everything that was accepted, of all calls, is stored, and returns the parts that are not stored by the
    /// timeout. [`CallWriter::flush`] does the same for one call.
    ///
    /// The result includes parts that are only [spooled](Durability::Spooled), and dead letters. It is one unknown part if
    /// nothing runs the writer's task.
    pub async fn flush(&self, timeout: Duration) -> Vec<Unstored> {
        self.flush_call(None, timeout).await
    }

    async fn flush_call(&self, call_id: Option<CallId>, timeout: Duration) -> Vec<Unstored> {
        flush::flush(&self.commands, &self.shared, call_id, timeout).await
    }

    /// Removes a call and everything it owns from the writer, the spool and the log, as
    /// [`erase_call`](CallLog::erase_call) does. After that, the writer accepts nothing of the call.
    ///
    /// Returns the errors of `erase_call`, [`Stopped`](LogErrorKind::Stopped) if the writer was stopped, and a
    /// [retryable](LogError::is_retryable) error if its task does not reply within 5 minutes. Repeat a failed erasure.
    pub async fn erase(&self, call_id: &CallId) -> Result<(), LogError> {
        match self.ask(|reply| Command::Erase { call_id: call_id.clone(), reply }).await {
            Reply::Received(erased) => erased,
            Reply::Ended => {
                let text = format!(
                    "call {call_id} is not erased, because the log's writer was stopped; start another writer and erase \
                     the call again"
                );
                Err(LogError::new(LogErrorKind::Stopped, text))
            }
            Reply::Late => {
                Err(LogError::backend(format!("erasing call {call_id}"), LogErrorKind::Unavailable, NO_ANSWER))
            }
        }
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Reply<T> {
        self.ask_by(from_now(REPLY_TIMEOUT), command).await
    }

    async fn ask_by<T>(&self, deadline: Instant, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Reply<T> {
        let (reply, receiver) = oneshot::channel();
        if self.commands.send(command(reply)).is_err() {
            return Reply::Ended;
        }
        reply_by(deadline, receiver).await
    }

    /// Returns the counters, and the errors that need an operator.
    pub fn status(&self) -> Status {
        self.shared.counters.status(self.shared.budget.taken())
    }
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogWriter").field("status", &self.status()).finish_non_exhaustive()
    }
}

/// Waits until a deadline, and returns a retryable error after it.
async fn by<T>(
    deadline: Instant,
    operation: &str,
    call_id: &CallId,
    wait: impl Future<Output = Result<T, LogError>>,
) -> Result<T, LogError> {
    let late = |late| LogError::backend(format!("{operation} call {call_id}"), LogErrorKind::Unavailable, late);
    timeout_at(deadline, wait).await.map_err(late)?
}

/// How long the task may take for a reply if the caller gives no timeout.
const REPLY_TIMEOUT: Duration = Duration::from_secs(300);

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
