//! [`LogWriter`]: writes the changes of all calls into a log, in the background.
//!
//! One task for all calls of a process. Handing changes over never waits and never looks at what is waiting; the task
//! keeps the newest revision of each message, writes the records of a call in the order of its list, several calls at
//! once, tries again what failed, and tells the manager what the log has. Read `call_writer.rs`, `task.rs`, `call.rs`.
//!
//! Where it has a [redactor](WriterSettings::redactor), the task [redacts](crate::log::redact) each record as it comes
//! in: what waits, in memory or in the spool, is already as it may be written.
//!
//! Three [levels](Durability): *accepted* (in memory), *spooled* (in the [spool](crate::log::Spool), where there is
//! one), *stored*.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use verbale::log::{CallHeader, CallId, CallLog, CallEnd, LogWriter, MemoryLog, WriterSettings};
//! use verbale::{MessagesManager, PlainMessage, LastMessage};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let log = Arc::new(MemoryLog::new()); // a DynamoLog, in a service
//! let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
//! let task = tokio::spawn(task.run());
//!
//! let call_id = CallId::new("CA1")?;
//! let call = writer.open(CallHeader::new(call_id.clone(), 1_744_815_823_058)?)?;
//! let mut manager = MessagesManager::<PlainMessage>::new();
//! manager.add_user("Hi, there")?;
//! call.submit(&mut manager, LastMessage::Exclude)?; // at the end of each turn
//! manager.add_assistant("Hello!")?;
//!
//! let ending = CallEnd::of(&manager, 1_744_815_829_000, "hangup")?;
//! call.finish(&mut manager, ending, Duration::from_secs(5)).await?;
//! assert!(call.flush(Duration::from_secs(5)).await.is_empty()); // all of it is stored
//! assert!(MessagesManager::restore(log.read_call(&call_id).await?.records)? == manager);
//! # drop((call, writer));
//! # task.await?;
//! # Ok(()) }
//! ```

mod attempts;
mod call;
mod call_writer;
mod dead_letters;
mod flush;
mod level;
mod operation;
mod orders;
mod over;
mod recovery;
mod settings;
mod shared;
mod spooled;
mod spooling;
mod status;
mod task;
mod unstored;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout_at;

pub use call_writer::{CallWriter, FinishError, HandedOver, NotAccepted};
pub use level::Durability;
pub use settings::{WhenFull, WriterSettings};
pub use status::{Status, Trouble};
pub use task::WriterTask;
pub use unstored::{Part, Unstored};

use super::{CallHeader, CallId, CallLog, DeadLetter, LogError, RecordKey, Remedy, Spool, SpoolError, WriterLease};
use crate::clock::from_now;
use crate::manager::{MessagesManager, RestoreError};
use crate::message::MessageWrapper;
use call::Gap;
use flush::{Answer, answer_by};
use shared::{Budget, Order, Orders, Shared};
use status::Counters;
use unstored::NO_ANSWER;

/// Writes the changes of all calls into a log, in the background. Clones are handles of the same task.
#[derive(Clone)]
pub struct LogWriter {
    log: Arc<dyn CallLog>,
    spool: Option<Arc<Spool>>,
    shared: Arc<Shared>,
    orders: Orders,
}

impl LogWriter {
    /// A writer into `log`, and the task that does the writing: to be run, in one place of the process.
    ///
    /// The task ends when all handles are gone and everything is written, or some time behind that
    /// ([`WriterSettings::linger_at_end`]).
    pub fn new(log: Arc<dyn CallLog>, settings: WriterSettings) -> (Self, WriterTask) {
        let (orders, inbox) = mpsc::unbounded_channel();
        let spool = settings.spool.clone();
        let level = settings.level();
        let shared = Arc::new(Shared {
            counters: Counters::default(),
            budget: Budget::new(settings.max_bytes),
            max_call_bytes: settings.max_call_bytes,
            when_full: settings.when_full,
            acknowledge_at: level,
            left: OnceLock::new(),
            room: Notify::new(),
        });
        let task = WriterTask::new(log.clone(), settings, shared.clone(), inbox);
        (Self { log, spool, shared, orders }, task)
    }

    /// The way into the log of a call that begins now. Its header is written before its records.
    ///
    /// Errors: the writer was stopped.
    pub fn open(&self, header: CallHeader) -> Result<CallWriter, NotAccepted> {
        let call = self.call(WriterLease::of(&header));
        call.open(header)?;
        Ok(call)
    }

    /// The way into the log of a call that is open, or that is not to be listed.
    ///
    /// What an earlier handle, or an earlier life of the process, left out of the log is not known here: so the header is
    /// read before and behind each batch, to see whether another process has taken the call over. [Resuming](Self::resume)
    /// it saves that.
    ///
    /// A manager belongs to its handle, which tells it what the log has: with another one,
    /// [take back](MessagesManager::take_back) first what was handed over.
    pub fn call(&self, lease: WriterLease) -> CallWriter {
        self.call_behind(lease, Gap::Unknown)
    }

    fn call_behind(&self, lease: WriterLease, gap: Gap) -> CallWriter {
        CallWriter::new(lease, gap, self.shared.clone(), self.orders.clone())
    }

    /// Goes on with a call that another process, or an earlier life of this one, was writing: writes what the spool
    /// still holds of it, takes it over in the log, and restores it.
    ///
    /// Returns after `within` at the latest. After an error the older writers may be fenced all the same: resume it again.
    /// Where contents of it cannot be loaded, the call goes on with what is there, and the traces name them;
    /// [`read_call`](CallLog::read_call) lists them as well. Errors: [`ResumeError`].
    pub async fn resume<W: MessageWrapper>(
        &self,
        call_id: &CallId,
        within: Duration,
    ) -> Result<(MessagesManager<W>, CallWriter), ResumeError> {
        let until = from_now(within);
        let mut unstored = self.flush_of(Some(call_id.clone()), within).await;
        unstored.retain(|unstored| !unstored.is_dead_letter);
        if !unstored.is_empty() {
            return Err(ResumeError::Unstored { call_id: call_id.clone(), unstored });
        }
        let resumed = timeout_at(until, self.log.resume_call(call_id)).await;
        let late = |late| LogError::backend(format!("resuming call {call_id}"), Remedy::Retry, late);
        let logged = resumed.map_err(late)??;
        for problem in &logged.problems {
            tracing::error!(?call_id, %problem, error = %problem.error, "a call goes on without one of its contents");
        }
        let lease = logged.lease().ok_or_else(|| LogError::NotOpened { call_id: call_id.clone() })?;
        let manager = MessagesManager::restore(logged.records)
            .map_err(|source| ResumeError::NoConversation { call_id: call_id.clone(), source })?;
        Ok((manager, self.call_behind(lease, Gap::None)))
    }

    /// Waits until all that was accepted before, of all calls, is stored, and tells what is not, within a time: nothing,
    /// if all is well. For one call, ask its [`CallWriter`].
    ///
    /// What is spooled but not stored is told too, as [spooled](Durability::Spooled), and so is what was set aside. Returns
    /// one [unknown part](Part::Unknown) if nobody runs the writer's task.
    pub async fn flush(&self, within: Duration) -> Vec<Unstored> {
        self.flush_of(None, within).await
    }

    async fn flush_of(&self, of: Option<CallId>, within: Duration) -> Vec<Unstored> {
        flush::flush(&self.orders, &self.shared, of, within).await
    }

    /// Removes a call with all it owns, here, in the spool and in the log: see
    /// [`erase_call`](CallLog::erase_call). Nothing of it is accepted any more.
    ///
    /// Errors: as `erase_call`; erase it again.
    pub async fn erase(&self, call_id: &CallId) -> Result<(), LogError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.orders.send(Order::Erase { call_id: call_id.clone(), reply });
        let answer = if sent.is_ok() { answer_by(from_now(LONGEST_ANSWER), answer).await } else { Answer::Ended };
        let failed = |remedy, error: Box<dyn std::error::Error + Send + Sync>| {
            Err(LogError::backend(format!("erasing call {call_id}"), remedy, error))
        };
        match answer {
            Answer::Given(erased) => erased,
            Answer::Ended => failed(Remedy::Operator, NotAccepted::Stopped.into()),
            Answer::Late => failed(Remedy::Retry, NO_ANSWER.into()),
        }
    }

    /// Takes what was set aside, in memory and in the spool, and forgets it; of the spool 1,000 records at once, so that
    /// it is to be asked again until there are none.
    ///
    /// Errors: the spool cannot be read; what it holds is still there.
    pub async fn take_dead_letters(&self) -> Result<Vec<DeadLetter>, SpoolError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.orders.send(Order::ReadDeadLetters { reply });
        let mut shown = match sent {
            Ok(()) => answer_by(from_now(LONGEST_ANSWER), answer).await.given().unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        if let Some(spool) = self.spool.clone() {
            shown.extend(spooling::aside(spool, |spool| spool.dead_letters(DEAD_LETTERS_AT_ONCE)).await?);
        }
        let taken = shown.iter().map(|aside| (aside.call_id.clone(), RecordKey::of(&aside.record)));
        // Of a task that has ended, the spool gives them out again.
        let _ = self.orders.send(Order::Taken(taken.collect()));
        Ok(shown)
    }

    /// What was done, what is still to be done, and what keeps the writer from it.
    pub fn status(&self) -> Status {
        self.shared.counters.status(self.shared.budget.taken())
    }

    /// Flushes, then ends the task, whoever still has handles: these are told that it was stopped. What is told as not
    /// stored is still pending in the managers, and in the spool where it is spooled.
    pub async fn stop(&self, within: Duration) -> Vec<Unstored> {
        let unstored = self.flush(within).await;
        // If it has ended, that is what was wanted.
        let _ = self.orders.send(Order::Stop);
        unstored
    }
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogWriter").field("status", &self.status()).finish_non_exhaustive()
    }
}

/// Why a call was not resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The spool holds records of the call that could not be stored in time.
    #[error("call {call_id} has {} changes that are not stored yet; try again, or mend what keeps them", unstored.len())]
    Unstored {
        /// The call.
        call_id: CallId,
        /// What is not stored.
        unstored: Vec<Unstored>,
    },
    /// The log could not give it.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The records of the call do not make a conversation.
    #[error("call {call_id} cannot be restored; the log gives its records as they are")]
    NoConversation {
        /// The call.
        call_id: CallId,
        /// Why.
        source: RestoreError,
    },
}

/// How long the task may take for an answer that has no deadline of its caller.
const LONGEST_ANSWER: Duration = Duration::from_secs(300);
const DEAD_LETTERS_AT_ONCE: usize = 1_000;

/// An error and what is behind it, in one line.
fn reason_of(error: &dyn std::error::Error) -> Box<str> {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text.into()
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
