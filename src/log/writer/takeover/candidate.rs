//! [`CallTakeover`]: the steps of a candidate.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Watches;
use crate::log::silence::{POLL, SILENCE};
use crate::log::writer::{WriterSettings, unpoisoned};
use crate::log::{
    CallChange, CallHeader, CallId, CallLog, LogError, LogErrorKind, LoggedCall, Nonce, Tenure, TenureStep, WriterLease,
};

/// How often a candidate shows that it is alive.
const RENEWAL: Duration = Duration::from_secs(1);
/// The longest wait between two attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// One takeover of a call.
pub(super) struct CallTakeover<'a> {
    pub log: &'a dyn CallLog,
    pub call_id: &'a CallId,
    pub settings: &'a WriterSettings,
    pub watches: &'a Watches,
    /// The nonce of the last commit, whose response may have been lost.
    pub commit: Mutex<Option<Nonce>>,
    /// The tenure that this candidate last read or wrote.
    pub candidate: Mutex<Option<Tenure>>,
    /// The last transient failure.
    pub failure: Mutex<Option<LogError>>,
}

impl CallTakeover<'_> {
    pub async fn run(&self) -> Result<LoggedCall, LogError> {
        let mut served_before = None;
        loop {
            let header = self.look().await?;
            let served = header.tenure().served;
            let before = *served_before.get_or_insert(served);
            if before != served && self.watches.of(self.call_id, |watched| watched.own_epoch) != Some(served) {
                return Err(self.resumed_elsewhere());
            }
            served_before = Some(served);
            let Some(header) = self.commit(header).await? else { continue };
            match self.fence_and_serve(header).await {
                // The writer or another candidate considered this one silent. If no process serves yet, this one tries
                // again.
                Err(error) if error.kind() == LogErrorKind::Fenced => {
                    (*unpoisoned(&self.commit), *unpoisoned(&self.candidate)) = (None, None);
                    self.pause(1, error).await;
                }
                taken => return taken,
            }
        }
    }

    /// Reads the call without writing anything.
    async fn look(&self) -> Result<CallHeader, LogError> {
        let call = self.retry("reading", || self.log.read_call(self.call_id)).await?;
        match call.header {
            Some(header) => Ok(header),
            None => Err(self.missing().await),
        }
    }

    /// Commits to take the call over, once no other process is doing so. Returns `None` if the call has to be read
    /// again.
    async fn commit(&self, mut header: CallHeader) -> Result<Option<CallHeader>, LogError> {
        let first = header.tenure();
        loop {
            let tenure = header.tenure();
            if *unpoisoned(&self.commit) == Some(tenure.nonce) {
                // The commit was made, but its response was lost.
                return Ok(Some(header));
            }
            let wait =
                if tenure.is_contended { SILENCE } else { self.settings.takeover_after.unwrap_or(Duration::ZERO) };
            if tenure.served != first.served {
                return Ok(None);
            }
            if self.settings.takeover_after.is_some() && tenure.nonce != first.nonce && tenure.epoch == first.epoch {
                return Err(self.alive());
            }
            let is_silent = wait.is_zero() || self.watches.watch(self.call_id, tenure.nonce).is_silent_for(wait);
            if is_silent && tenure == first {
                break;
            }
            if is_silent {
                return Ok(None);
            }
            sleep(POLL.min(wait)).await;
            header = self.header().await?;
        }
        let change = first.change(TenureStep::Commit, Nonce::random());
        *unpoisoned(&self.commit) = Some(change.nonce);
        match self.step("committing to", CallChange::Takeover(change)).await {
            Ok(header) => Ok(Some(header)),
            Err(error) if error.is_retryable() => {
                self.pause(1, error).await;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Fences the older writers while it renews its nonce, then serves.
    async fn fence_and_serve(&self, header: CallHeader) -> Result<LoggedCall, LogError> {
        *unpoisoned(&self.candidate) = Some(header.tenure());
        self.watches.of(self.call_id, |watched| watched.own_epoch = Some(header.epoch()));
        let lease = WriterLease::from(&header);
        let fence = async {
            let mut failures = 0;
            loop {
                match self.log.fence_call(&lease).await {
                    Err(error) if error.is_retryable() => {
                        failures += 1;
                        self.pause(failures, error).await;
                    }
                    fenced => return fenced,
                }
            }
        };
        let call = tokio::select! {
            biased;
            fenced = fence => fenced?,
            lost = self.renew(lease.epoch()) => return Err(lost),
        };
        let header = self.serve(lease.epoch()).await?;
        self.watches.forget(self.call_id);
        Ok(LoggedCall { header: Some(header), ..call })
    }

    /// Renews the nonce while this candidate has the highest epoch. Returns why it no longer does.
    async fn renew(&self, epoch: u32) -> LogError {
        loop {
            sleep(RENEWAL).await;
            let Some(tenure) = *unpoisoned(&self.candidate) else { continue };
            let renewal = CallChange::Takeover(tenure.change(TenureStep::Renew, Nonce::random()));
            let header = match self.step("renewing the lease of", renewal).await {
                // The header may have changed by a hold, or by a renewal whose response was lost.
                Err(error) if error.is_retryable() => self.header().await,
                renewed => renewed,
            };
            match header.and_then(|header| self.adopt(&header, epoch)) {
                Err(error) if !error.is_retryable() => return error,
                _ => {}
            }
        }
    }

    async fn serve(&self, epoch: u32) -> Result<CallHeader, LogError> {
        let mut failures = 0;
        loop {
            let Some(tenure) = *unpoisoned(&self.candidate) else { return Err(self.resumed_elsewhere()) };
            let serve = CallChange::Takeover(tenure.change(TenureStep::Serve, Nonce::random()));
            let error = match self.step("resuming", serve).await {
                Err(error) if error.is_retryable() => error,
                served => return served,
            };
            failures += 1;
            self.pause(failures, error).await;
            let header = self.header().await?;
            if header.tenure().served == epoch {
                // This candidate serves; only the response was lost.
                return Ok(header);
            }
            self.adopt(&header, epoch)?;
        }
    }

    /// Continues with the nonce of a header, if this candidate still has the highest epoch.
    fn adopt(&self, header: &CallHeader, epoch: u32) -> Result<(), LogError> {
        let tenure = header.tenure();
        if tenure.epoch != epoch {
            return Err(LogError::superseded(self.call_id, epoch, tenure.epoch));
        }
        *unpoisoned(&self.candidate) = Some(tenure);
        Ok(())
    }

    /// Leaves the call to its current writer.
    pub async fn give_up(&self) {
        let mut failures = 0;
        let (Some(commit), mut known) = (*unpoisoned(&self.commit), *unpoisoned(&self.candidate)) else { return };
        let epoch = known.map(|tenure| tenure.epoch);
        loop {
            let tenure = match known.take() {
                Some(tenure) => tenure,
                None => match self.header().await {
                    Ok(header) => header.tenure(),
                    Err(_) => return,
                },
            };
            let is_mine = tenure.is_contended && epoch.map_or(tenure.nonce == commit, |epoch| epoch == tenure.epoch);
            if !is_mine {
                return;
            }
            let give_up = CallChange::Takeover(tenure.change(TenureStep::GiveUp, Nonce::random()));
            match self.step("giving up", give_up).await {
                Err(error) if error.is_retryable() => {
                    failures += 1;
                    self.pause(failures, error).await;
                }
                _ => return,
            }
        }
    }

    async fn header(&self) -> Result<CallHeader, LogError> {
        match self.retry("reading the header of", || self.log.read_header(self.call_id)).await? {
            Some(header) => Ok(header),
            None => Err(self.missing().await),
        }
    }

    /// Returns why the call has no header. The step that it tries has a nonce that no header has, so it changes
    /// nothing.
    async fn missing(&self) -> LogError {
        let step = CallChange::Takeover(
            Tenure { nonce: Nonce::random(), ..Tenure::default() }.change(TenureStep::GiveUp, Nonce::random()),
        );
        match self.step("resuming", step).await {
            Err(error) => error,
            Ok(_) => LogError::not_opened(self.call_id),
        }
    }

    async fn step(&self, verb: &str, change: CallChange) -> Result<CallHeader, LogError> {
        self.with_timeout(verb, self.log.change_call(self.call_id, &change)).await
    }

    async fn retry<T, F>(&self, verb: &str, request: impl Fn() -> F) -> Result<T, LogError>
    where
        F: Future<Output = Result<T, LogError>>,
    {
        let mut failures = 0;
        loop {
            match self.with_timeout(verb, request()).await {
                Err(error) if error.is_retryable() => {
                    failures += 1;
                    self.pause(failures, error).await;
                }
                done => return done,
            }
        }
    }

    async fn with_timeout<T>(
        &self,
        verb: &str,
        request: impl Future<Output = Result<T, LogError>>,
    ) -> Result<T, LogError> {
        timeout(self.settings.attempt_timeout, request).await.unwrap_or_else(|late| {
            Err(LogError::backend(format!("{verb} call {}", self.call_id), LogErrorKind::Unavailable, late))
        })
    }

    /// Waits with jitter after a failure.
    async fn pause(&self, failures: u32, failure: LogError) {
        *unpoisoned(&self.failure) = Some(failure);
        sleep(self.settings.backoff_after(failures, MAX_BACKOFF)).await;
    }

    pub fn late(&self, late: tokio::time::error::Elapsed) -> LogError {
        let operation = format!("resuming call {}", self.call_id);
        match unpoisoned(&self.failure).take() {
            Some(failure) => LogError::backend(operation, LogErrorKind::Unavailable, failure),
            None => LogError::backend(operation, LogErrorKind::Unavailable, late),
        }
    }

    fn resumed_elsewhere(&self) -> LogError {
        let text = format!(
            "call {} was resumed by another process at the same time, which writes it now; resume it again to take it over \
             from that process",
            self.call_id
        );
        LogError::new(LogErrorKind::Fenced, text)
    }

    fn alive(&self) -> LogError {
        let text = format!(
            "call {} is not resumed: its writer is alive, because the header has changed; resume the call later",
            self.call_id
        );
        LogError::new(LogErrorKind::Unavailable, text)
    }
}
