//! Taking a call over: read, commit, fence, serve. Retries transient failures, and writes nothing unless it commits.

mod candidate;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{LogWriter, WriterSettings, unpoisoned};
use crate::log::silence::Watch;
use crate::log::{CallId, CallLog, LogError, LoggedCall, Nonce};
use candidate::CallTakeover;

/// The maximum number of calls whose headers are watched at a time.
const MAX_WATCHED: usize = 1_000;

/// The progress of takeovers that ran out of time, so that the next attempt continues them.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<CallId, Watched>>);

#[derive(Default)]
struct Watched {
    watch: Option<Watch>,
    /// The last epoch at which this process was a candidate. Its last step may arrive late, and then no process serves.
    own_epoch: Option<u32>,
}

impl Watches {
    fn watch(&self, call_id: &CallId, nonce: Nonce) -> Watch {
        self.of(call_id, |watched| *watched.watch.insert(Watch::of(watched.watch, nonce)))
    }

    fn of<T>(&self, call_id: &CallId, act: impl FnOnce(&mut Watched) -> T) -> T {
        let mut all = unpoisoned(&self.0);
        if all.len() >= MAX_WATCHED && !all.contains_key(call_id) {
            all.clear();
        }
        act(all.entry(call_id.clone()).or_default())
    }

    fn forget(&self, call_id: &CallId) {
        unpoisoned(&self.0).remove(call_id);
    }
}

impl LogWriter {
    /// Takes a call over by the deadline, and returns it for its new writer.
    pub(super) async fn take_over(&self, call_id: &CallId, deadline: Instant) -> Result<LoggedCall, LogError> {
        CallTakeover::new(&*self.log, call_id, &self.settings, &self.watches).run_by(deadline).await
    }
}

/// Takes a call over without a writer, for the tests of a log. Needs a tokio runtime with timers, but waits only if a
/// request fails or another process is taking the call over.
#[cfg(feature = "testing")]
pub(crate) async fn take_over(log: &dyn CallLog, call_id: &CallId) -> Result<LoggedCall, LogError> {
    let deadline = Instant::now() + Duration::from_secs(60);
    CallTakeover::new(log, call_id, &WriterSettings::default(), &Watches::default()).run_by(deadline).await
}

impl<'a> CallTakeover<'a> {
    fn new(log: &'a dyn CallLog, call_id: &'a CallId, settings: &'a WriterSettings, watches: &'a Watches) -> Self {
        let (commit, candidate, failure) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { log, call_id, settings, watches, commit, candidate, failure }
    }

    async fn run_by(&self, deadline: Instant) -> Result<LoggedCall, LogError> {
        let left = deadline.saturating_duration_since(Instant::now());
        let reserve = (left / 10).min(Duration::from_millis(500));
        let taken = match timeout_at(deadline - reserve, self.run()).await {
            Ok(taken) => taken,
            Err(late) => Err(self.late(late)),
        };
        if taken.is_err() {
            // If this fails as well, the writer takes its call back once this candidate has been silent.
            let _ = timeout_at(deadline, self.give_up()).await;
        }
        taken
    }
}
