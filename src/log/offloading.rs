//! [`Offloading`]: a log that moves large and binary contents into a content store.

use std::collections::HashSet;
use std::future::poll_fn;
use std::task::Poll;

use super::call_id::MAX_BYTES;
use super::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogError, LogErrorKind, LogFuture, LoggedCall, Put,
    WriterLease,
};
use crate::contents::{Blob, ContentError, ContentStore, Offload, Owner, hydrate};
use crate::message::Record;

/// A log that moves large contents into a content store.
///
/// Large texts, system instructions and all binaries go to the store; small [references](crate::contents) take their
/// place in the record. So records stay below the log's size limit, and calls share equal contents.
///
/// ```
/// # use std::sync::Arc;
/// # use verbale::contents::MemoryStore;
/// # use verbale::log::{CallId, CallLog, WriterLease, MemoryLog, Offloading};
/// # use verbale::{MessagesManager, PlainMessage};
/// # async fn logged() -> Result<(), Box<dyn std::error::Error>> {
/// // Offloading::new(DynamoLog::new(client.clone()), Cached::new(DynamoContents::new(client), 64 << 20))
/// let store = Arc::new(MemoryStore::default());
/// let log = Offloading::new(MemoryLog::new(), store.clone());
///
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("terms and conditions ".repeat(100))?;
/// let lease = WriterLease::from(CallId::new("CA1")?);
/// for record in manager.records() {
///     log.put_record(&lease, &record).await?;
/// }
/// assert_eq!(store.len(), 1);
///
/// let call = log.read_call(lease.call_id()).await?;
/// assert!(call.problems.is_empty()); // they would name missing contents; the rest of the call is there
/// assert!(MessagesManager::restore(call.records)? == manager);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(logged()).unwrap();
/// ```
///
/// - **Putting.** The contents of a record are stored before the record, with the call as their [`Owner`]. Equal records
///   have equal references, so putting a record again finds it [there](super::Put::Kept). A record that was
///   written without offloading, or with another [threshold](Self::with_threshold), conflicts at the same revision:
///   do not change the setting of a live call. A [`Cached`](crate::contents::Cached) store remembers what it has put;
///   without it, each new revision of a message asks the store for its contents again. A background writer should
///   [allow](super::WriterSettings::with_attempt_timeout) enough time for the largest content.
/// - **Reading.** A content that is missing, corrupt or unreachable is one of the call's
///   [problems](LoggedCall::problems). Its reference stays in the record and is written back with the next revision.
///   The problem's error reports whether reading again may help.
/// - **Erasing.** The log erases the call, then the store releases its contents. Contents that other calls use stay.
///   Erasing again completes an erasure that failed, and removes contents that a late put brought. A put that the log
///   refuses because the call is erased removes its own contents.
/// - **Expiry.** A content store has no clock: when a call expires, its contents stay until the call is
///   [erased](CallLog::erase_call), which still works then. If calls expire, erase them at that time. Keep the ids that
///   [`list_calls`](CallLog::list_calls) returned before, or take them from the owners in the store.
/// - **In the record** stay custom data, fields of newer writers, and texts below the threshold, however many. The log
///   refuses a record that is still too large.
#[derive(Debug)]
pub struct Offloading<L, S> {
    log: L,
    store: S,
    offload: Offload,
}

/// The number of contents that are put concurrently.
const CONCURRENT_PUTS: usize = 8;

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

    /// Puts contents, a few concurrently, and stops at the first error.
    async fn put_contents(&self, mut blobs: Vec<Blob>, owner: &Owner) -> Result<(), ContentError> {
        let mut seen = HashSet::new();
        blobs.retain(|blob| seen.insert(blob.id()));
        for chunk in blobs.chunks(CONCURRENT_PUTS) {
            let mut puts: Vec<_> = chunk.iter().map(|blob| self.store.put(blob, owner)).collect();
            poll_fn(|context| {
                let mut failed = None;
                puts.retain_mut(|put| match put.as_mut().poll(context) {
                    Poll::Pending => true,
                    Poll::Ready(done) => {
                        failed = failed.take().or(done.err());
                        false
                    }
                });
                match failed {
                    Some(error) => Poll::Ready(Err(error)),
                    None if puts.is_empty() => Poll::Ready(Ok(())),
                    None => Poll::Pending,
                }
            })
            .await?;
        }
        Ok(())
    }

    async fn release(&self, call_id: &CallId) -> Result<(), LogError> {
        let released = self.store.release(&owner(call_id)).await;
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
            let call_id = lease.call_id();
            let (record, blobs) = self.offload.detach(record);
            let put = self.put_contents(blobs, &owner(call_id)).await;
            put.map_err(|error| store_error(format!("putting contents of call {call_id}"), error))?;
            let put = self.log.put_record(lease, &record).await;
            if put.as_ref().is_err_and(|error| error.kind() == LogErrorKind::Erased) {
                // An error of the release is returned first, because it can be retried.
                self.release(call_id).await?;
            }
            put
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
            // The log goes first: a held call stays whole, and no record outlives its contents.
            self.log.erase_call(call_id).await?;
            self.release(call_id).await
        })
    }

    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { Ok(self.hydrated(self.log.fence_call(lease).await?).await) })
    }

    fn resume_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { Ok(self.hydrated(self.log.resume_call(call_id).await?).await) })
    }
}

#[expect(clippy::expect_used, reason = "a call id is not empty and not longer than an owner")]
fn owner(call_id: &CallId) -> Owner {
    const { assert!(MAX_BYTES <= Owner::MAX_BYTES) };
    Owner::new(call_id.as_str()).expect("a call id is a valid owner")
}

/// The error is never permanent: a failure of the store is not the fault of the record.
fn store_error(operation: String, error: ContentError) -> LogError {
    let kind = if error.is_retryable() { LogErrorKind::Unavailable } else { LogErrorKind::NeedsOperator };
    LogError::backend(operation, kind, error)
}
