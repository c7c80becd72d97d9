//! One attempt at one thing: a future of its own, with a deadline.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::call::Step;
use crate::log::{CallChange, CallLog, Claim, LogError, PutError, Remedy, Spool, SpoolError, Stored};
use crate::message::Record;

/// What an attempt came to.
pub(super) enum Outcome {
    Opened(Result<(), LogError>),
    /// What was sent, and what became of it.
    Put {
        records: Vec<Record>,
        is_spooled: bool,
        result: Result<Vec<Stored>, PutError>,
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

    async fn put(&self, claim: &Claim, records: Vec<Record>, is_spooled: bool) -> Outcome {
        let time = self.time.saturating_mul(records.len() as u32);
        let result = match timeout(time, self.log.put_records(claim, &records)).await {
            Ok(result) => result,
            Err(elapsed) => {
                let failed = |record: &Record| (record.id(), late("logging", claim, elapsed));
                Err(PutError::new(Vec::new(), records.first().map(failed).into_iter().collect(), records.len() - 1))
            }
        };
        Outcome::Put { records, is_spooled, result }
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
        super::spooling::aside(move || spool.batch(&call_id, batch, BATCH_BYTES)).await
    }
}

fn late(what: &str, claim: &Claim, elapsed: tokio::time::error::Elapsed) -> LogError {
    LogError::backend(format!("{what} call {}", claim.call_id()), Remedy::Retry, elapsed)
}
