//! [`Offloading`]: a log that moves large and binary contents into a content store.

use std::collections::HashSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use super::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogError, LogErrorKind, LogFuture, LoggedCall,
    Put, Span, WriterLease,
};
use crate::contents::{Blob, ContentError, ContentStore, Offload, hydrate};
use crate::message::Record;

/// A log that moves large contents into a content store.
///
/// Large texts, system instructions and all binaries go to the store; small [references](crate::contents) replace them
/// in the record. Records then stay below the log's size limit, and calls share equal contents.
///
/// ```
/// # use std::sync::Arc;
/// # use verbale::contents::MemoryStore;
/// # use verbale::log::{CallId, CallLog, WriterLease, MemoryLog, Offloading};
/// # use verbale::{MessagesManager, PlainMessage};
/// # async fn logged() -> Result<(), Box<dyn std::error::Error>> {
/// // Offloading::new(DynamoLog::new(client.clone()), Cached::new(DynamoContents::new(client), 64 << 20))
/// let store = Arc::new(MemoryStore::default());
/// let log = Offloading::new(MemoryLog::default(), store.clone());
///
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("terms and conditions ".repeat(100))?;
/// let lease = WriterLease::from(CallId::new("CA1")?);
/// for record in manager.records() {
///     log.put_record(&lease, &record).await?;
/// }
/// assert_eq!(store.count(), 1);
///
/// let call = log.read_call(lease.call_id()).await?;
/// assert!(call.problems.is_empty()); // they would name missing contents; the rest of the call is there
/// assert!(MessagesManager::restore(call.records)? == manager);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(logged()).unwrap();
/// ```
///
/// - **Putting.** The contents of a record are put before the record, with the call's id as their owner. Equal records
///   have equal references, so the log [already has](super::Put::Kept) a record that is put again. A record that was
///   written without offloading, or with another [threshold](Self::with_threshold), conflicts at the same revision: do
///   not change the setting of a live call. A [`Cached`](crate::contents::Cached) store remembers the contents that it
///   has put; without it, each new revision of a message asks the store for its contents again.
/// - **Slow or failing stores.** If the store fails, or has not taken a content after two seconds, the record is
///   written all the same, and its put returns the store's error: the record counts as stored only once its contents
///   are. The background writer retries it and meanwhile writes the call's later records, but not the call's end. Later
///   records wait for about two seconds plus two requests, if a request takes at most about a second. Until the
///   contents are stored, a reader finds the record with a [problem](LoggedCall::problems). If the process ends without
///   a [spool](super::Spool), the problem stays; with a spool, the next process completes the contents.
/// - **Reading.** A content that is missing, corrupt or unreachable is one of the call's
///   [problems](LoggedCall::problems). Its reference stays in the record and is written back with the next revision.
///   The problem's error reports whether reading again may help.
/// - **Erasing.** The log erases the call, then the store releases its contents. Contents that other calls use stay.
///   Erasing again completes an erasure that failed. If the log refuses a put because the call is erased, the put
///   removes its own contents. [`sweep`](CallLog::sweep) removes the contents of a put that ended before it could do
///   so.
/// - **Expiry.** A content store has no clock: when a call expires, its contents stay until the call is
///   [erased](CallLog::erase_call), which also works for an expired call. If calls expire, erase them at that time.
///   Keep the ids that [`list_calls`](CallLog::list_calls) returned before, or take them from the owners in the store.
/// - **Not offloaded** are custom data, fields of newer writers, and texts below the threshold, however many. The log
///   refuses a record that is still too large.
#[derive(Debug)]
pub struct Offloading<L, S> {
    log: L,
    store: S,
    offload: Offload,
}

/// The number of contents that are put concurrently.
const CONCURRENT_PUTS: usize = 8;

/// The time for putting contents, after which the record is written without the rest of them. This time and the last
/// request stay within the deadline of the writer's attempt.
const PUT_TIME: Duration = Duration::from_secs(2);

impl<L: CallLog, S: ContentStore> Offloading<L, S> {
    /// Creates a log that keeps its records in `log` and their large contents in `store`.
    pub fn new(log: L, store: S) -> Self {
        Self { log, store, offload: Offload::default() }
    }

    /// Sets the size from which texts and JSON values are offloaded, in bytes. The default is 1,024. A reference takes about
    /// 150 bytes, so lower values save nothing.
    #[must_use]
    pub fn with_threshold(mut self, bytes: usize) -> Self {
        self.offload = self.offload.with_threshold(bytes);
        self
    }

    /// Puts contents, a few concurrently. After an error, running puts end, and no further ones begin.
    async fn put_contents(&self, mut blobs: Vec<Blob>, owner: &str) -> Result<(), ContentError> {
        let mut seen = HashSet::new();
        blobs.retain(|blob| seen.insert(blob.id()));
        for chunk in blobs.chunks(CONCURRENT_PUTS) {
            let puts = chunk.iter().map(|blob| self.store.put_within(blob, owner, PUT_TIME));
            ended(puts.collect()).await.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// Returns the record with references, and the result of putting its contents.
    async fn offloaded(&self, call_id: &CallId, record: &Record) -> (Record, Result<(), LogError>) {
        let (record, blobs) = self.offload.detach(record);
        let put = self.put_contents(blobs, call_id.as_str()).await;
        let operation = |error| store_error(format!("putting contents of call {call_id}"), error).of_one_record();
        (record, put.map_err(operation))
    }

    async fn release(&self, call_id: &CallId) -> Result<(), LogError> {
        let released = self.store.release(call_id.as_str()).await;
        released.map_err(|error| store_error(format!("releasing the contents of call {call_id}"), error))
    }

    async fn hydrated(&self, mut call: LoggedCall) -> LoggedCall {
        let (records, problems) = hydrate(call.records, &self.store).await;
        call.records = records;
        call.problems.extend(problems);
        call
    }
}

impl<L: CallLog, S: ContentStore> CallLog for Offloading<L, S> {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        self.log.open_call(header)
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move {
            let (record, contents) = self.offloaded(lease.call_id(), record).await;
            // The record does not wait for its contents, so that they do not block the call's later records.
            let put = self.log.put_record(lease, &record).await;
            if is_erased(&put) {
                // An error of the release is returned first, because it can be retried.
                self.release(lease.call_id()).await?;
            }
            put.and_then(|put| contents.map(|()| put))
        })
    }

    fn stores_spans(&self) -> bool {
        self.log.stores_spans()
    }

    /// A content that fails delays only its own record.
    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        Box::pin(async move {
            let offloaded = records.iter().map(|record| Box::pin(self.offloaded(lease.call_id(), record)));
            let (detached, contents): (Vec<_>, Vec<_>) = ended(offloaded.collect()).await.into_iter().unzip();
            let put = self.log.put_span(lease, span, &detached).await;
            if is_erased(&put) || put.iter().flatten().any(is_erased) {
                self.release(lease.call_id()).await?;
            }
            let put = put?.into_iter().zip(contents);
            Ok(put.map(|(put, contents)| put.and_then(|put| contents.map(|()| put))).collect())
        })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        self.log.change_call(call_id, change)
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { Ok(self.hydrated(self.log.read_call(call_id).await?).await) })
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        self.log.read_header(call_id)
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        self.log.list_calls(query)
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(async move {
            // The log erases first: a held call then stays whole, and no record outlives its contents.
            self.log.erase_call(call_id).await?;
            self.release(call_id).await
        })
    }

    /// Removes the late contents of the erased calls as well.
    fn sweep(&self, erased_on: Day) -> LogFuture<'_, Vec<CallId>> {
        Box::pin(async move {
            let erased = self.log.sweep(erased_on).await?;
            for call_id in &erased {
                let swept = self.store.sweep(call_id.as_str()).await;
                swept.map_err(|error| store_error(format!("sweeping the contents of call {call_id}"), error))?;
            }
            Ok(erased)
        })
    }

    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { Ok(self.hydrated(self.log.fence_call(lease).await?).await) })
    }
}

/// Runs futures concurrently to their ends, and returns their results in order.
async fn ended<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut results: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results).filter(|(_, result)| result.is_none()) {
            if let Poll::Ready(done) = Pin::new(future).poll(context) {
                *result = Some(done);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}

fn is_erased<T>(put: &Result<T, LogError>) -> bool {
    put.as_ref().is_err_and(|error| error.kind() == LogErrorKind::Erased)
}

/// The error is never permanent, because the store failed, not the record.
fn store_error(operation: String, error: ContentError) -> LogError {
    let kind = if error.is_retryable() { LogErrorKind::Unavailable } else { LogErrorKind::NeedsOperator };
    LogError::backend(operation, kind, error)
}
