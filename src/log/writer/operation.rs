//! One attempt at one thing: a future of its own, with a deadline.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::call::Step;
use crate::log::{CallChange, CallLog, LogError, Opening, Remedy, Spool, SpoolError, WriterLease};
use crate::message::{MessageId, Record};

/// What an attempt came to.
pub(super) enum Outcome {
    Opened(Result<Opening, LogError>),
    /// What was sent, and what became of it.
    Put {
        records: Vec<Record>,
        is_spooled: bool,
        stored: Vec<MessageId>,
        failed: Vec<(MessageId, LogError)>,
    },
    Closed(Result<(), LogError>),
    Erased(Result<(), LogError>),
    /// The spool did not give the records.
    Unread(Box<dyn Error + Send + Sync>),
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
    /// Makes one. `has_gap`: whether the log may lack a record in front of those that are to be put.
    pub async fn make(self, lease: WriterLease, has_gap: bool, step: Step) -> Outcome {
        let call_id = lease.call_id();
        match step {
            Step::Open(header) => Outcome::Opened(self.within("opening", &lease, self.log.open_call(&header)).await),
            Step::Put(records) => self.put(&lease, has_gap, records, false).await,
            Step::PutSpooled => match self.read_spool(&lease).await {
                Ok(records) if records.is_empty() => Outcome::Unread("what was spooled is not there".into()),
                Ok(records) => self.put(&lease, has_gap, records, true).await,
                Err(error) => Outcome::Unread(error.into()),
            },
            Step::Close(call_end) => {
                let change = CallChange::Close { lease: lease.clone(), call_end };
                let closed = self.within("closing", &lease, self.log.change_call(call_id, &change)).await;
                Outcome::Closed(closed.map(drop))
            }
            Step::Erase => Outcome::Erased(self.within("erasing", &lease, self.log.erase_call(call_id)).await),
        }
    }

    /// Each record has the whole time for itself, so that what was stored before one that hangs is known to be.
    ///
    /// What stands behind a gap meets no fence: there the header tells whether the call was taken over. If it was not
    /// once a record is stored, whoever takes it over later finds the record. It is read before that, too, so that a
    /// writer that has lost its call leaves nothing behind the fences of one that did not come to the end of resuming.
    async fn put(&self, lease: &WriterLease, has_gap: bool, records: Vec<Record>, is_spooled: bool) -> Outcome {
        let (mut stored, mut failed) = (Vec::new(), Vec::new());
        let mut before_gap = has_gap.then_some(0);
        if let (true, Some(first)) = (has_gap, records.first())
            && let Err(error) = self.check(lease).await
        {
            failed.push((first.id(), error));
            return Outcome::Put { records, is_spooled, stored, failed };
        }
        for record in &records {
            match self.within("logging", lease, self.log.put_record(lease, record)).await {
                Ok(_) => stored.push(record.id()),
                Err(error) => failed.push((record.id(), error)),
            }
            // What is wrong with one record only does not keep the others.
            match failed.last() {
                Some((_, error)) if error.is_of_all_records() => break,
                Some(_) => before_gap = before_gap.or(Some(stored.len())),
                None => {}
            }
        }
        if let Some(before) = before_gap
            && let Some(behind) = stored.get(before).copied()
            && let Err(error) = self.check(lease).await
        {
            stored.truncate(before);
            failed.push((behind, error));
        }
        Outcome::Put { records, is_spooled, stored, failed }
    }

    /// Whether this is still the call's newest writer.
    async fn check(&self, lease: &WriterLease) -> Result<(), LogError> {
        let header = self.within("checking", lease, self.log.read_header(lease.call_id())).await?;
        match header.map(|header| header.epoch()).filter(|current| *current > lease.epoch()) {
            Some(current) => {
                let (call_id, epoch) = (lease.call_id().clone(), lease.epoch());
                Err(LogError::Fenced { call_id, epoch, current })
            }
            None => Ok(()),
        }
    }

    async fn within<T>(
        &self,
        what: &str,
        lease: &WriterLease,
        done: impl Future<Output = Result<T, LogError>>,
    ) -> Result<T, LogError> {
        let late = |late| LogError::backend(format!("{what} call {}", lease.call_id()), Remedy::Retry, late);
        timeout(self.time, done).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
    }

    async fn read_spool(&self, lease: &WriterLease) -> Result<Vec<Record>, SpoolError> {
        let Some(spool) = self.spool.clone() else { return Ok(Vec::new()) };
        let (call_id, batch) = (lease.call_id().clone(), self.batch);
        super::spooling::aside(spool, move |spool| spool.batch(&call_id, batch, BATCH_BYTES)).await
    }
}
