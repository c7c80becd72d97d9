//! One attempt at one thing: a future of its own, with a deadline.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::call::Step;
use crate::log::{CallChange, CallLog, Claim, LogError, Remedy, Spool, SpoolError, Stored};
use crate::message::{MessageId, Record};

/// What an attempt came to.
pub(super) enum Outcome {
    Opened(Result<(), LogError>),
    /// What was sent, and what became of it.
    Put {
        records: Vec<Record>,
        is_spooled: bool,
        stored: Vec<Stored>,
        failed: Vec<(MessageId, LogError)>,
    },
    Closed(Result<(), LogError>),
    Erased(Result<(), LogError>),
    /// The spool did not give the records.
    Unread(SpoolError),
}

/// What attempts need.
#[derive(Clone)]
pub(super) struct Attempts {
    pub log: Arc<dyn CallLog>,
    pub spool: Option<Arc<Spool>>,
    /// For one record, and for anything else.
    pub time: Duration,
    pub batch: usize,
}

/// A batch of the spool has so many bytes at most, but for a record that is larger.
const BATCH_BYTES: usize = 1 << 20;

impl Attempts {
    /// Makes one.
    pub async fn make(self, claim: Claim, step: Step) -> Outcome {
        let call_id = claim.call_id();
        match step {
            Step::Open(header) => {
                Outcome::Opened(self.within("opening", &claim, self.log.open_call(&header)).await.map(drop))
            }
            Step::Put(records) => self.put(&claim, records, false).await,
            Step::PutSpooled => match self.read_spool(&claim).await {
                Ok(records) => self.put(&claim, records, true).await,
                Err(error) => Outcome::Unread(error),
            },
            Step::Close(ending) => {
                let change = CallChange::Close { claim: claim.clone(), ending };
                let closed = self.within("closing", &claim, self.log.change_call(call_id, &change)).await;
                Outcome::Closed(closed.map(drop))
            }
            Step::Erase => Outcome::Erased(self.within("erasing", &claim, self.log.erase_call(call_id)).await),
        }
    }

    /// Each record has the whole time for itself, so that what was stored before one that hangs is known to be.
    async fn put(&self, claim: &Claim, records: Vec<Record>, is_spooled: bool) -> Outcome {
        let (mut stored, mut failed) = (Vec::new(), Vec::new());
        for record in &records {
            let put = timeout(self.time, self.log.put_records(claim, std::slice::from_ref(record))).await;
            match put {
                Ok(Ok(put)) => stored.extend(put),
                Ok(Err(error)) => failed.extend(error.failed),
                Err(elapsed) => failed.push((record.id(), late("logging", claim, elapsed))),
            }
            // What is wrong with one record only does not keep the others.
            if failed.last().is_some_and(|(_, error)| error.is_of_all_records()) {
                break;
            }
        }
        Outcome::Put { records, is_spooled, stored, failed }
    }

    async fn within<T>(
        &self,
        what: &str,
        claim: &Claim,
        done: impl Future<Output = Result<T, LogError>>,
    ) -> Result<T, LogError> {
        timeout(self.time, done).await.unwrap_or_else(|elapsed| Err(late(what, claim, elapsed)))
    }

    async fn read_spool(&self, claim: &Claim) -> Result<Vec<Record>, SpoolError> {
        let Some(spool) = self.spool.clone() else { return Ok(Vec::new()) };
        let (call_id, batch) = (claim.call_id().clone(), self.batch);
        super::spooling::aside(spool, move |spool| spool.batch(&call_id, batch, BATCH_BYTES)).await
    }
}

fn late(what: &str, claim: &Claim, elapsed: tokio::time::error::Elapsed) -> LogError {
    LogError::backend(format!("{what} call {}", claim.call_id()), Remedy::Retry, elapsed)
}
