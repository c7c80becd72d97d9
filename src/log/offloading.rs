//! [`Offloading`]: a log that keeps large and binary contents in a store beside it.

use std::collections::HashSet;
use std::future::poll_fn;
use std::task::Poll;

use super::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogError, LogFuture, LoggedCall, Opening, Put,
    Remedy, WriterLease,
};
use crate::contents::{Blob, ContentError, ContentStore, Offload, Owner, hydrate};
use crate::message::Record;

/// A log that keeps large texts, system instructions and all binaries in a content store, and in their place small
/// [references](crate::contents): what a log's items have no room for, and what many calls share.
///
/// ```
/// # use verbale::contents::MemoryStore;
/// # use verbale::log::{CallId, CallLog, WriterLease, MemoryLog, Offloading};
/// # use verbale::{MessagesManager, PlainMessage};
/// # async fn logged() -> Result<(), Box<dyn std::error::Error>> {
/// // Offloading::new(DynamoLog::new(client.clone()), Cached::new(DynamoContents::new(client), 64 << 20))
/// let log = Offloading::new(MemoryLog::new(), MemoryStore::default());
///
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("terms and conditions ".repeat(100))?;
/// let claim = WriterLease::first(CallId::new("CA1")?);
/// for record in manager.records() {
///     log.put_record(&claim, &record).await?;
/// }
/// assert_eq!(log.store().len(), 1);
///
/// let call = log.read_call(claim.call_id()).await?;
/// assert!(call.problems.is_empty()); // else they say what is missing, and the rest of the call is there
/// assert!(MessagesManager::restore(call.records)? == manager);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(logged()).unwrap();
/// ```
///
/// - **Putting.** The contents of a record are put before it, the call being their [`Owner`]. Equal records have equal
///   references, so that a record that is put again is found [there](super::Put::AlreadyThere). At the same revision, one
///   that was written without offloading, or with another [threshold](Self::with_threshold), is a conflict: of a call
///   that goes on, keep to one way. A [`Cached`](crate::contents::Cached) store remembers what it has put: without it
///   each new revision of a message asks the store for its contents again. A writer in the background should
///   [allow](super::WriterSettings::attempt) for the largest content.
/// - **Reading.** A content that is missing, corrupt or out of reach is one of the call's
///   [problems](LoggedCall::problems); its reference stays, and is written back with the next revision. Whether reading
///   again may help, its error says.
/// - **Erasing.** The log erases the call, then the store releases its contents; those that other calls use stay. To erase
///   again finishes what an error or a crash left, and takes away what a late put brought. A put that the log refuses
///   since the call is erased takes its contents away again by itself.
/// - **Expiry.** A store keeps no time: when a call expires, its contents stay, until the call is
///   [erased](CallLog::erase_call), which is possible then as well. Where calls expire, erase them when their time is
///   over. The ids are those that [`list_calls`](CallLog::list_calls) gave before, or of the owners in the store.
/// - **What stays in the record**: custom data, what a newer writer added, and texts below the threshold, however many.
///   A record that is too large all the same is refused by the log as it would be without offloading.
#[derive(Debug)]
pub struct Offloading<L, S> {
    log: L,
    store: S,
    offload: Offload,
}

/// How many contents are put at a time.
const AT_ONCE: usize = 8;

impl<L: CallLog, S: ContentStore> Offloading<L, S> {
    /// `log`, with its large contents in `store`.
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

    /// The log, which knows the small records.
    pub fn log(&self) -> &L {
        &self.log
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Puts contents, a few at a time. The first error ends it.
    async fn put_contents(&self, mut blobs: Vec<Blob>, owner: &Owner) -> Result<(), ContentError> {
        let mut seen = HashSet::new();
        blobs.retain(|blob| seen.insert(blob.id()));
        for some in blobs.chunks(AT_ONCE) {
            let mut puts: Vec<_> = some.iter().map(|blob| self.store.put(blob, owner)).collect();
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
        released.map_err(|error| of_store(format!("releasing the contents of call {call_id}"), error))
    }

    async fn hydrated(&self, mut call: LoggedCall) -> LoggedCall {
        let (records, problems) = hydrate(call.records, &self.store).await;
        call.records = records;
        call.problems.extend(problems);
        call
    }
}

impl<L: CallLog, S: ContentStore> CallLog for Offloading<L, S> {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Opening> {
        self.log.open_call(header)
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move {
            let call_id = lease.call_id();
            let (record, blobs) = self.offload.detach(record);
            let put = self.put_contents(blobs, &owner(call_id)).await;
            put.map_err(|error| of_store(format!("putting contents of call {call_id}"), error))?;
            let put = self.log.put_record(lease, &record).await;
            if let Err(LogError::Erased { .. }) = put {
                // Its error comes first, so that it is tried again.
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
            // First: what is held stays whole, and no record outlives its contents.
            self.log.erase_call(call_id).await?;
            self.release(call_id).await
        })
    }

    fn resume_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { Ok(self.hydrated(self.log.resume_call(call_id).await?).await) })
    }
}

#[expect(clippy::expect_used, reason = "the id of a call is not empty, and no longer than the name of an owner")]
fn owner(call_id: &CallId) -> Owner {
    const { assert!(CallId::MAX_BYTES <= Owner::MAX_BYTES) };
    Owner::new(call_id.as_str()).expect("the id of a call is the name of an owner")
}

/// No record is to blame for what a store cannot do.
fn of_store(what: String, error: ContentError) -> LogError {
    let remedy = if error.is_retryable() { Remedy::Retry } else { Remedy::Operator };
    LogError::backend(what, remedy, error)
}
