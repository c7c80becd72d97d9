//! [`Calls`]: opens and resumes the calls of this process, and [`Lines`]: the connection of each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use verbale::call::{CallHost, CallSettings, Drained, HostedCall};
use verbale::clock::{Clock, SystemClock};
use verbale::conversation::{CallEvent, Observer};
use verbale::log::{CallHeader, CallId, CallerId, LogError, LogWriter};

use super::error::{RelayError, on_one_line};
use super::ferry::{FILLERS, Ferry};
use super::messages::Setup;
use super::models::Models;

/// The calls of this process.
pub struct Calls {
    host: CallHost,
    models: Models,
    ferry: Ferry,
    salt: Option<Salt>,
    pub lines: Arc<Lines>,
}

/// The salt of the callers' ids in the log.
pub struct Salt(String);

impl Salt {
    /// Returns an error if the salt is too short.
    pub fn new(salt: String) -> Result<Self, LogError> {
        CallerId::new("+1", salt.as_bytes()).map(|_| Self(salt))
    }

    /// Returns the id of a caller, or `None` if the number is withheld: Twilio sends a word such as `anonymous` then.
    fn caller(&self, from: &str) -> Option<CallerId> {
        let number = Some(from).filter(|from| from.starts_with('+'))?;
        CallerId::new(number, self.0.as_bytes()).ok()
    }
}

/// How long a caller waits for a call that is opened or resumed.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the log may take to store the end of a call.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

impl Calls {
    pub fn new(writer: LogWriter, models: Models, ferry: Ferry, salt: Option<Salt>) -> Self {
        Self { host: CallHost::new(writer), models, ferry, salt, lines: Arc::default() }
    }

    /// Opens the call of a connection. If the call exists, here or in the log, it continues.
    pub async fn open(&self, call_id: &CallId, setup: &Setup) -> Result<HostedCall, RelayError> {
        let mut header = CallHeader::new(call_id.clone(), SystemClock.now_ms())?;
        if let Some(caller) = self.salt.as_ref().and_then(|salt| salt.caller(&setup.from)) {
            header = header.with_caller(caller);
        }
        let settings = CallSettings::default().with_fillers(FILLERS);
        let builder = self.models.call().settings(settings).observer(self.lines.clone());
        let builder = self.ferry.install(builder, &setup.from)?;
        Ok(self.host.open_or_resume(header, OPEN_TIMEOUT, || builder).await?)
    }

    /// Closes a call, if it is live here.
    pub async fn close(&self, call_id: &CallId, reason: &'static str) {
        match self.host.close(call_id, reason, CLOSE_TIMEOUT).await {
            Ok(Some(closed)) if !closed.unstored.is_empty() => {
                tracing::warn!(%call_id, parts = closed.unstored.len(), "the end of the call is not stored yet");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%call_id, error = on_one_line(&error), "the call was not closed"),
        }
    }

    /// Closes all calls and stores everything. Another process can continue them.
    pub async fn drain(&self) -> Drained {
        self.host.drain(CLOSE_TIMEOUT).await
    }
}

/// The connections of the calls: one for each call, because Twilio connects a call again only after the connection before.
pub struct Lines {
    by_call: Mutex<HashMap<CallId, mpsc::UnboundedSender<Signal>>>,
    count: watch::Sender<usize>,
}

/// An event of a call for its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The result of a tool came late, and the model should report it.
    ResultReady,
    /// The call has another connection.
    Replaced,
    /// The call was closed.
    Closed,
}

/// The connection of a call. Dropping it frees the place for the next one.
pub struct Line {
    lines: Arc<Lines>,
    call_id: CallId,
    sender: mpsc::UnboundedSender<Signal>,
    signals: mpsc::UnboundedReceiver<Signal>,
}

/// How long the connection before may take to let go of a call.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(5);

impl Lines {
    /// Makes this the connection of a call, in place of the one before.
    pub async fn connect(self: &Arc<Self>, call_id: &CallId) -> Line {
        let (sender, signals) = mpsc::unbounded_channel();
        let before = self.by_call().insert(call_id.clone(), sender.clone());
        self.count.send_modify(|count| *count += 1);
        let line = Line { lines: self.clone(), call_id: call_id.clone(), sender, signals };
        if let Some(before) = before
            && before.send(Signal::Replaced).is_ok()
            && timeout(REPLACE_TIMEOUT, before.closed()).await.is_err()
        {
            tracing::warn!(%call_id, "the connection before still uses the call");
        }
        line
    }

    /// Waits until there are no connections. Returns whether there are none at the end of the time.
    pub async fn are_gone(&self, within: Duration) -> bool {
        let mut count = self.count.subscribe();
        timeout(within, count.wait_for(|count| *count == 0)).await.is_ok()
    }

    fn by_call(&self) -> MutexGuard<'_, HashMap<CallId, mpsc::UnboundedSender<Signal>>> {
        self.by_call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Returns the next signal. Cancel-safe.
    pub async fn signal(&mut self) -> Signal {
        // The line holds a sender itself.
        self.signals.recv().await.unwrap_or(Signal::Closed)
    }

    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut by_call = self.lines.by_call();
        if by_call.get(&self.call_id).is_some_and(|sender| sender.same_channel(&self.sender)) {
            by_call.remove(&self.call_id);
        }
        drop(by_call);
        self.lines.count.send_modify(|count| *count -= 1);
    }
}

/// Passes the events of the calls on to their connections.
impl Observer for Lines {
    fn observe(&self, call_id: &CallId, event: &CallEvent) {
        let signal = match event {
            CallEvent::ResultReady { .. } => Signal::ResultReady,
            CallEvent::Closed { .. } => Signal::Closed,
            _ => return,
        };
        if let Some(sender) = self.by_call().get(call_id) {
            // Fails if the connection is gone.
            let _ = sender.send(signal);
        }
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self { by_call: Mutex::default(), count: watch::Sender::new(0) }
    }
}
