//! [`Attempts`]: runs one attempt for a call as a future with deadlines.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::blocking::run_blocking;
use super::contest::Contested;
use super::next::Operation;
use crate::log::{
    CallChange, CallLog, LogError, LogErrorKind, Nonce, Put, Span, Spool, TenureChange, TenureStep, WriterLease,
};
use crate::message::{MessageId, Position, Record};

/// The result of an attempt.
pub(super) enum Attempted {
    Opened(Result<Put, LogError>),
    Put {
        records: Vec<Record>,
        is_spooled: bool,
        stored: Vec<MessageId>,
        failed: Vec<(MessageId, LogError)>,
    },
    Closed(Result<(), LogError>),
    Contested(Contested),
    Renewed(Result<(), LogError>),
    Checked(Result<(), LogError>),
    Erased(Result<(), LogError>),
    /// The records could not be read from the spool.
    Unread(Box<dyn std::error::Error + Send + Sync>),
}

/// The parts that attempts need: the log, the spool and the timeouts.
#[derive(Clone)]
pub(super) struct Attempts {
    pub log: Arc<dyn CallLog>,
    pub spool: Option<Arc<Spool>>,
    /// The timeout of each request to the log.
    pub timeout: Duration,
    pub batch: usize,
}

/// The maximum bytes of a batch from the spool. A larger record is a batch of its own.
const BATCH_BYTES: usize = 1 << 20;

/// Records that are put with one request: those of a span, or a single one.
struct Item {
    span: Option<Span>,
    records: Vec<Record>,
}

/// Returns the items of records, in the order of their first records.
fn items(records: Vec<Record>, spans: &[Span]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for record in records {
        let span = spans.iter().find(|span| span.contains(record.position())).copied();
        // A summary between the messages of a span is put after them.
        match items.iter_mut().find(|item| span.is_some() && item.span == span) {
            Some(item) => item.records.push(record),
            None => items.push(Item { span, records: vec![record] }),
        }
    }
    items
}

impl Attempts {
    /// Runs an operation. `has_gap` is true if the log may lack a record before those of the operation.
    pub async fn run(self, lease: WriterLease, has_gap: bool, operation: Operation) -> Attempted {
        let call_id = lease.call_id();
        match operation {
            Operation::Open(header) => {
                Attempted::Opened(self.with_timeout("opening", &lease, self.log.open_call(&header)).await)
            }
            Operation::Put { records, spans } => self.put(&lease, has_gap, items(records, &spans), false).await,
            Operation::PutSpooled { until, except, spans } => {
                match self.read_spool(&lease, until, except, spans.clone()).await {
                    Ok(read) if read.is_empty() => Attempted::Unread("the spool has no records of the call".into()),
                    Ok(read) => self.put(&lease, has_gap, items(read, &spans), true).await,
                    Err(error) => Attempted::Unread(error.into()),
                }
            }
            Operation::Close(call_end) => {
                let change = CallChange::Close { lease: lease.clone(), call_end };
                let closed = self.with_timeout("closing", &lease, self.log.change_call(call_id, &change)).await;
                Attempted::Closed(closed.map(drop))
            }
            Operation::Contest(watch) => Attempted::Contested(self.contest(&lease, watch, Nonce::random()).await),
            Operation::Renew => {
                let (step, epoch, nonce) = (TenureStep::Renew, lease.epoch(), Nonce::random());
                let change = CallChange::Takeover(TenureChange { step, epoch, seen: None, nonce });
                let renewed =
                    self.with_timeout("renewing the lease of", &lease, self.log.change_call(call_id, &change));
                Attempted::Renewed(renewed.await.map(drop))
            }
            Operation::Check => {
                let read = self.with_timeout("checking", &lease, self.log.read_header(call_id)).await;
                Attempted::Checked(read.map(drop))
            }
            Operation::Erase => {
                Attempted::Erased(self.with_timeout("erasing", &lease, self.log.erase_call(call_id)).await)
            }
        }
    }

    /// Puts records in order. Each has its own timeout, so that a hanging put does not hide the success of earlier
    /// ones.
    ///
    /// No fence protects positions after a gap. There the header decides whether this writer still owns the call:
    ///
    /// - The check after the puts detects a takeover that happened before them. A later takeover reads the new records.
    /// - The check before the puts keeps a writer that has lost its call from writing past the fences of a takeover
    ///   that did not complete.
    async fn put(&self, lease: &WriterLease, has_gap: bool, items: Vec<Item>, is_spooled: bool) -> Attempted {
        let (mut stored, mut failed) = (Vec::new(), Vec::new());
        let mut before_gap = has_gap.then_some(0);
        let records = |items: Vec<Item>| items.into_iter().flat_map(|item| item.records).collect();
        if let (true, Some(first)) = (has_gap, items.iter().flat_map(|item| &item.records).next())
            && let Err(error) = self.check_ownership(lease).await
        {
            failed.push((first.id(), error));
            return Attempted::Put { records: records(items), is_spooled, stored, failed };
        }
        for item in &items {
            for (record, put) in item.records.iter().zip(self.put_item(lease, item).await) {
                match put {
                    Ok(_) => stored.push(record.id()),
                    Err(error) => {
                        if error.is_permanent() {
                            before_gap = before_gap.or(Some(stored.len()));
                        }
                        failed.push((record.id(), error));
                    }
                }
            }
            // A record whose contents alone failed does not block later records. The messages of a refused span may be
            // put again one by one, before all later ones.
            let ends = |(_, error): &(MessageId, LogError)| {
                error.is_of_all_records() || item.span.is_some() && error.is_permanent()
            };
            if failed.iter().any(ends) {
                break;
            }
        }
        if let Some(before) = before_gap
            && let Some(unprotected) = stored.get(before).copied()
            && let Err(error) = self.check_ownership(lease).await
        {
            stored.truncate(before);
            failed.push((unprotected, error));
        }
        Attempted::Put { records: records(items), is_spooled, stored, failed }
    }

    /// Puts the records of an item, and returns the result of each.
    async fn put_item(&self, lease: &WriterLease, Item { span, records }: &Item) -> Vec<Result<Put, LogError>> {
        let put = match (span, records.as_slice()) {
            (Some(span), records) => {
                self.with_timeout("logging", lease, self.log.put_span(lease, *span, records)).await
            }
            (None, [record]) => {
                self.with_timeout("logging", lease, self.log.put_record(lease, record)).await.map(|put| vec![Ok(put)])
            }
            (None, _) => Ok(Vec::new()),
        };
        put.unwrap_or_else(|error| records.iter().map(|_| Err(error.clone())).collect())
    }

    /// Returns an error if the header shows a newer epoch.
    async fn check_ownership(&self, lease: &WriterLease) -> Result<(), LogError> {
        let header = self.with_timeout("checking", lease, self.log.read_header(lease.call_id())).await?;
        match header.map(|header| header.epoch()).filter(|current| *current > lease.epoch()) {
            Some(current) => Err(LogError::superseded(lease.call_id(), lease.epoch(), current)),
            None => Ok(()),
        }
    }

    pub(super) async fn with_timeout<T>(
        &self,
        verb: &str,
        lease: &WriterLease,
        request: impl Future<Output = Result<T, LogError>>,
    ) -> Result<T, LogError> {
        let late =
            |late| LogError::backend(format!("{verb} call {}", lease.call_id()), LogErrorKind::Unavailable, late);
        timeout(self.timeout, request).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
    }

    async fn read_spool(
        &self,
        lease: &WriterLease,
        until: Option<Position>,
        except: BTreeSet<Position>,
        spans: Vec<Span>,
    ) -> Result<Vec<Record>, LogError> {
        let Some(spool) = self.spool.clone() else { return Ok(Vec::new()) };
        let (call_id, batch) = (lease.call_id().clone(), self.batch);
        let read = move |spool: &Spool| spool.batch(&call_id, &except, &spans, batch, BATCH_BYTES);
        let read = run_blocking(spool, read);
        let mut records = read.await?;
        records.retain(|record| until.is_none_or(|until| record.position() < until));
        Ok(records)
    }
}
