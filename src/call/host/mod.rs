//! [`CallHost`]: opens, resumes, finds, closes and drains the live calls of a process.
//!
//! `slots.rs` has the registry: which calls are live, and which ones a task is opening or closing. The host itself
//! calls no model and writes no record.

mod drained;
mod late;
mod slots;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub use drained::Drained;
use late::pass_results;
use slots::{Claim, Closable, Openable, Slots};

use super::builder::CallBuilder;
use super::closing::Closed;
use super::session::CallSession;
use crate::clock::from_now;
use crate::conversation::{ConversationError, Problem};
use crate::log::{CallEnd, CallHeader, CallId, LogWriter};

/// The live calls of a process, by id. Clones are handles of the same host.
///
/// The host opens each call once, even if several tasks request it, and keeps it until it is closed. It can continue
/// calls of other processes, and closes all calls before the process stops.
///
#[cfg_attr(feature = "testing", doc = "```")]
#[cfg_attr(not(feature = "testing"), doc = "```ignore")]
/// # use verbale::testing::ScriptedModel;
/// use std::sync::Arc;
/// use std::time::Duration;
/// use verbale::call::{CallBuilder, CallHost};
/// use verbale::log::{CallHeader, CallId, LogWriter, MemoryLog, WriterSettings};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::default();
/// let (writer, task) = LogWriter::new(Arc::new(MemoryLog::default()), WriterSettings::default());
/// tokio::spawn(task);
/// let host = CallHost::new(writer);
///
/// // When the media of a call connect, at first or again, to this process or another one:
/// let header = CallHeader::new(CallId::new("CA1")?, 1_744_815_823_058)?;
/// let build = || CallBuilder::new(model.clone()).system("You answer the phone of a bank.");
/// let call = host.open_or_resume(header, Duration::from_secs(2), build).await?;
/// if !call.is_resumed {
///     call.session.say("Good morning, how can I help?")?;
/// }
/// call.session.caller_said("What is my balance?")?;
///
/// // When the process gets SIGTERM:
/// let drained = host.drain(Duration::from_secs(20)).await;
/// assert!(drained.is_complete(), "{drained}");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct CallHost {
    writer: LogWriter,
    slots: Arc<Slots>,
}

/// A call that a [`CallHost`] opened, resumed, or already had.
#[derive(Debug)]
#[non_exhaustive]
pub struct HostedCall {
    /// The live call. All tasks that ask the host for the call get the same session.
    pub session: Arc<CallSession>,
    /// True if the call existed before: in the log, or live in this host. The caller has then already been greeted.
    pub is_resumed: bool,
    /// How the call had ended in the log before it was resumed, for example with the reason `drain` in another process.
    /// Resuming a call removes its end.
    pub ended: Option<CallEnd>,
}

impl CallHost {
    /// Creates a host without calls, which logs its calls with this writer.
    pub fn new(writer: LogWriter) -> Self {
        Self { writer, slots: Arc::default() }
    }

    /// Returns the live call with the id of this header, resumes the call if the log knows it, or opens it. Takes
    /// `timeout` at most.
    ///
    /// `build` returns a [new](CallBuilder::new) builder with the model and the tools of the call; the host sets its
    /// log. It is not called for a live call. A resumed call has its messages and its header from the log. Its other
    /// writers lose the call, also if they had taken it over from this process. If several tasks request a call at
    /// once, one of them opens it, and the others wait.
    ///
    /// Returns [`Closed`] after [`drain`](Self::drain) began, [`InUse`] if another task takes longer than `timeout` to
    /// open or close the call, [`Log`] with the errors of [`resume`](LogWriter::resume), and the errors of
    /// [`CallBuilder::open`]. If the [log error](ConversationError::log_error) is
    /// [retryable](crate::log::LogError::is_retryable) and the caller cannot wait, [`open`](Self::open) the call
    /// without its past.
    ///
    /// [`Closed`]: crate::conversation::ConversationErrorKind::Closed
    /// [`InUse`]: crate::conversation::ConversationErrorKind::InUse
    /// [`Log`]: crate::conversation::ConversationErrorKind::Log
    pub async fn open_or_resume(
        &self,
        header: CallHeader,
        timeout: Duration,
        build: impl FnOnce() -> CallBuilder,
    ) -> Result<HostedCall, ConversationError> {
        let deadline = from_now(timeout);
        let call_id = header.call_id().clone();
        let claim = loop {
            match self.slots.to_open(&call_id)? {
                Openable::Live(session) => return Ok(HostedCall::live(session)),
                Openable::Free(claim) => break claim,
                Openable::Busy(done) => wait(done, deadline, &call_id).await?,
            }
        };
        let found = self.writer.find(&call_id, left(deadline)).await?;
        if found.is_none() {
            return self.open_claimed(claim, header, build);
        }
        let (manager, writer) = self.writer.resume(&call_id, left(deadline)).await?;
        let ended = writer.ended().cloned();
        let session = Arc::new(build().log(writer).resume_hosted(manager)?);
        if let Some(closed) = self.slots.take_running_on(&call_id) {
            tokio::spawn(pass_results(closed, session.conversation().downgrade()));
        }
        claim.keep(&session);
        Ok(HostedCall { session, is_resumed: true, ended })
    }

    /// Opens a new call without reading the log, or returns the live call with this id.
    ///
    /// Use this if the id is certainly new, or if the log is unavailable. If the log turns out to have the call, it
    /// refuses the new records, and [`not_logged`](crate::conversation::Conversation::not_logged) returns its error.
    ///
    /// Returns the errors of [`open_or_resume`](Self::open_or_resume), and [`InUse`] without waiting.
    ///
    /// [`InUse`]: crate::conversation::ConversationErrorKind::InUse
    pub fn open(
        &self,
        header: CallHeader,
        build: impl FnOnce() -> CallBuilder,
    ) -> Result<HostedCall, ConversationError> {
        match self.slots.to_open(header.call_id())? {
            Openable::Live(session) => Ok(HostedCall::live(session)),
            Openable::Free(claim) => self.open_claimed(claim, header, build),
            Openable::Busy(_) => Err(Problem::Busy { call_id: header.call_id().clone() }.into()),
        }
    }

    fn open_claimed(
        &self,
        claim: Claim,
        header: CallHeader,
        build: impl FnOnce() -> CallBuilder,
    ) -> Result<HostedCall, ConversationError> {
        let session = Arc::new(build().log(self.writer.open(header)?).open()?);
        claim.keep(&session);
        Ok(HostedCall { session, is_resumed: false, ended: None })
    }

    /// Returns a live call, for example for the webhook of a telephony service. Returns `None` while a task is opening
    /// or closing the call.
    pub fn get(&self, call_id: &CallId) -> Option<Arc<CallSession>> {
        self.slots.get(call_id)
    }

    /// Returns the live calls, in no particular order.
    pub fn calls(&self) -> Vec<Arc<CallSession>> {
        self.slots.all()
    }

    /// Closes a live call and removes it from the host, like [`CallSession::close`].
    ///
    /// If another task is opening or closing the call, waits for that task first. Returns `None` if the call is not
    /// live.
    ///
    /// Returns [`InUse`] if the other task takes longer than `timeout`, and [`Log`] if a call header cannot hold
    /// `reason`. The call then stays open.
    ///
    /// [`InUse`]: crate::conversation::ConversationErrorKind::InUse
    /// [`Log`]: crate::conversation::ConversationErrorKind::Log
    pub async fn close(
        &self,
        call_id: &CallId,
        reason: impl Into<Arc<str>>,
        timeout: Duration,
    ) -> Result<Option<Closed>, ConversationError> {
        let deadline = from_now(timeout);
        loop {
            match self.slots.to_close(call_id) {
                None => return Ok(None),
                Some(Closable::Busy(done)) => wait(done, deadline, call_id).await?,
                Some(Closable::Live(session, claim)) => {
                    return match session.close(reason, left(deadline)).await {
                        Ok(closed) => Ok(Some(closed)),
                        Err(invalid) => {
                            claim.keep(&session);
                            Err(invalid.into())
                        }
                    };
                }
            }
        }
    }

    /// Closes all calls at once, waits until the log has stored everything, and returns what is left. Takes `timeout`
    /// at most. Running tools get somewhat less than half of it.
    ///
    /// Once this method has begun, the host opens no calls. Calls that are being opened are closed, too. Each call ends
    /// with the reason `drain`, and another process can resume it. The log's writer keeps retrying unstored changes as
    /// long as the process runs.
    pub async fn drain(&self, timeout: Duration) -> Drained {
        let deadline = from_now(timeout);
        // The writer reports what it has not stored before the deadline.
        let closed_by = from_now(timeout - (timeout / 10).min(MAX_REPORT));
        let calls = self.slots.begin_drain();
        let mut left_open: BTreeSet<CallId> = calls.iter().cloned().collect();
        let mut closing = JoinSet::new();
        for call_id in calls {
            let host = self.clone();
            closing.spawn(async move {
                let closed = host.close(&call_id, "drain", left(closed_by)).await;
                (call_id, closed)
            });
        }
        let mut drained = Drained::default();
        while let Some(closed) = closing.join_next().await {
            // A call whose closing panicked stays in `left_open`.
            if let Ok((call_id, Ok(closed))) = closed {
                left_open.remove(&call_id);
                // Without a result, its owner has closed it meanwhile.
                drained.closed.extend(closed.map(|closed| (call_id, closed)));
            }
        }
        drained.left_open = left_open.into_iter().collect();
        drained.unstored = self.writer.flush(left(deadline)).await;
        drained
    }
}

/// The maximum time for the writer to report what it has not stored.
const MAX_REPORT: Duration = Duration::from_secs(1);

impl HostedCall {
    fn live(session: Arc<CallSession>) -> Self {
        Self { session, is_resumed: true, ended: None }
    }
}

/// Waits until the task that opens or closes a call is finished.
async fn wait(mut done: watch::Receiver<()>, deadline: Instant, call_id: &CallId) -> Result<(), ConversationError> {
    // Nothing is ever sent: the channel closes when the task is finished.
    let waited = timeout_at(deadline, done.changed()).await;
    waited.map(drop).map_err(|_| Problem::Busy { call_id: call_id.clone() }.into())
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Shows the number of calls.
impl fmt::Debug for CallHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHost").field("calls", &self.slots.all().len()).finish_non_exhaustive()
    }
}
