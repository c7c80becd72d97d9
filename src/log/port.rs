//! [`CallLog`]: the port to a store of calls.

use std::pin::Pin;
use std::sync::Arc;

use super::{
    CallChange, CallHeader, CallId, CallPage, CallQuery, Day, LogError, LoggedCall, Put, Span, TenureChange,
    WriterLease,
};
use crate::message::Record;

/// The future that a method of [`CallLog`] returns.
pub type LogFuture<'a, T, E = LogError> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A store of calls and their records.
///
/// Every implementation keeps this contract, and `testing::call_log_conformance` checks it (feature `testing`). A backend
/// returns its errors with [`LogError::backend`] and the [kind](super::LogErrorKind) that the contract names.
///
/// - **Puts are idempotent and need no order.** The log keeps the newest revision of each message, in whatever order
///   and however often it gets them. A record is stored once the future of its put returns a [`Put`].
/// - **Conflicts change nothing.** Another message at the same position, or other contents at the same revision, is a
///   [conflict](super::LogErrorKind::Conflict).
/// - **One writer per call.** [`LogWriter::resume`](super::LogWriter::resume) takes a call over from another writer in
///   [steps](CallChange::Takeover): committing raises the epoch in the header, [fencing](Self::fence_call) stops the
///   older writers, and serving makes the candidate the writer. Once the candidate serves, the log refuses late records
///   of older writers ([`Fenced`](super::LogErrorKind::Fenced)), and keeps the records that they stored before. The log
///   may refuse late records from the commit on; if the candidate gives up, the older writer takes the call back and
///   puts them again.
/// - **Out of order, fencing may be weaker.** For a record that is put out of the order of the list, a backend may
///   guarantee only that no read returns a record of an older writer, and must document that. A writer that writes out
///   of order therefore reads [the header](Self::read_header) after the put. A takeover raises the epoch in the header
///   before it reads the call; if the header still has the writer's epoch, the record is kept.
/// - **Results are reliable.** A record whose put returned a [`Put`] is stored. A record whose put failed is not
///   stored, unless the error is [retryable](LogError::is_retryable): then its state is unknown.
/// - **Erased calls stay erased.** After [`erase_call`](Self::erase_call), the call is not listed for the life of the
///   log, and its reads, changes, late records and headers are refused ([`Erased`](super::LogErrorKind::Erased)). For a
///   record after the next message or summary, a backend may guarantee only that no read returns it and that
///   [sweeping](Self::sweep) removes it, and must document that. A writer that writes out of order therefore reads [the
///   header](Self::read_header) before and after the put. The log keeps only the ids of erased calls, and the day of
///   the erasure.
/// - **Expired calls are gone.** They are neither read nor listed. A held call does not expire.
/// - **Dropping a future undoes nothing.** Its work may be done, still pending, or never done. Every method can be
///   called again after an error or a drop.
/// - **Every wait has a deadline.** A log does not retry; the caller does, because it knows how urgent the call is.
/// - **Errors never contain the words of a caller.**
///
/// Calls are independent: nothing that happens to one call affects another.
pub trait CallLog: Send + Sync {
    /// Stores the header of a call, so that the call is listed. The header may come before the first records, after
    /// them, or never: a call that was never opened is kept but not listed.
    ///
    /// Returns [`Conflict`](super::LogErrorKind::Conflict) if the call was opened with another start, tenant, caller,
    /// attributes or expiry, [`Erased`](super::LogErrorKind::Erased) if the call was erased, or the error of a backend
    /// that failed.
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put>;

    /// Stores a record, replacing an older revision of it.
    ///
    /// Returns [`Conflict`](super::LogErrorKind::Conflict) if the log has another message at this position or other
    /// contents at this revision, [`Erased`](super::LogErrorKind::Erased) if the call was erased,
    /// [`Fenced`](super::LogErrorKind::Fenced) if another writer has taken it over, or the error of a backend that failed.
    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put>;

    /// Returns whether the log stores the messages of a [`Span`] as one item. [`LogWriter`](super::LogWriter) forms spans
    /// only for such a log.
    fn stores_spans(&self) -> bool {
        false
    }

    /// Stores records whose messages are in a span, and returns one result of [`put_record`](Self::put_record) for
    /// each, in their order. The first put of a span has the records of all its messages; later puts have those that
    /// changed. A record that is in no span is an item of its own.
    ///
    /// Returns the error of a backend that failed as a whole. The state of all records is then unknown.
    ///
    /// The default puts the records one after the other, until one fails with an error that all records of the call
    /// would get.
    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        let _ = span;
        Box::pin(async move {
            let mut put: Vec<Result<Put, LogError>> = Vec::with_capacity(records.len());
            for record in records {
                // Records after a failed one that may be put again must wait for it.
                let failed = put.last().and_then(|put| put.as_ref().err()).filter(|error| error.is_of_all_records());
                let failed = failed.cloned();
                put.push(match failed {
                    Some(error) => Err(error),
                    None => self.put_record(lease, record).await,
                });
            }
            Ok(put)
        })
    }

    /// Changes a call as a whole and returns its new header.
    ///
    /// Returns [`NotOpened`](super::LogErrorKind::NotOpened) if the call was never opened or has expired,
    /// [`Erased`](super::LogErrorKind::Erased) if it was erased, [`Fenced`](super::LogErrorKind::Fenced) if an older
    /// writer closes it, or the error of a backend that failed. After such a failure the change may be partly made;
    /// make it again.
    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader>;

    /// Reads the header and records of a call, including everything that was stored before the read. The result is empty
    /// if the call is unknown or expired. Contents that are missing are [problems](LoggedCall::problems), and records that
    /// cannot be read are [left out](LoggedCall::left_out); neither is an error.
    ///
    /// Returns [`Erased`](super::LogErrorKind::Erased) if the call was erased, or the error of a backend that failed or
    /// cannot read the call as a whole.
    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall>;

    /// Reads the header of a call, as [`read_call`](Self::read_call) returns it: `None` if the call was never opened or
    /// has expired.
    ///
    /// Errors are those of [`read_call`](Self::read_call).
    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        Box::pin(async move { Ok(self.read_call(call_id).await?.header) })
    }

    /// Lists a page of the opened calls of a day or of a caller, newest first.
    ///
    /// A backend may document a short delay, during which a newly opened call is missing or an erased call is still
    /// listed. An erased call cannot be read even then. Pages are sorted by start and id: no call is listed twice, and
    /// every call that existed before the first page is listed, whatever is opened or erased in between.
    ///
    /// A stored header that cannot be read does not hide other calls: it is reported as
    /// [unreadable](CallPage::unreadable). Returns the error of a backend that failed.
    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage>;

    /// Removes a call and everything it owns for good, unless the call is held. Later records of the call are refused,
    /// even if the log does not know the call yet. Erasing again completes an erasure that failed.
    ///
    /// Returns [`Held`](super::LogErrorKind::Held) if the call is held, or the error of a backend that failed. After
    /// such a failure the call may be partly erased; erase it again.
    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()>;

    /// Removes leftovers of late requests from the calls that were erased on a day, in UTC, and returns the ids of
    /// these calls. Run it for each day, some minutes after the day's end. A call that was erased several times counts
    /// for the last day.
    ///
    /// The default is for a log in which late requests leave nothing, and returns no ids.
    /// [`Offloading`](super::Offloading) over such a log cannot remove contents that arrived late.
    ///
    /// Returns the error of a backend that failed. Sweep the day again then.
    fn sweep(&self, erased_on: Day) -> LogFuture<'_, Vec<CallId>> {
        let _ = erased_on;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Fences the older writers of a call for a candidate that has [committed](CallChange::Takeover) to take the call
    /// over, and returns the call as the candidate will have it. No older writer can change the returned records. Can
    /// be repeated after an error, and continues where it stopped.
    ///
    /// The default suits a log that compares the epochs in every put, because such a log has nothing to fence.
    ///
    /// Returns the errors of [`read_call`](Self::read_call), and [`Fenced`](super::LogErrorKind::Fenced) if another
    /// process has taken a higher epoch.
    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            self.change_call(lease.call_id(), &CallChange::Takeover(TenureChange::fence(lease))).await?;
            self.read_call(lease.call_id()).await
        })
    }
}

impl<L: CallLog + ?Sized> CallLog for Arc<L> {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        (**self).open_call(header)
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        (**self).put_record(lease, record)
    }

    fn stores_spans(&self) -> bool {
        (**self).stores_spans()
    }

    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        (**self).put_span(lease, span, records)
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        (**self).change_call(call_id, change)
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        (**self).read_call(call_id)
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        (**self).read_header(call_id)
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        (**self).list_calls(query)
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        (**self).erase_call(call_id)
    }

    fn sweep(&self, erased_on: Day) -> LogFuture<'_, Vec<CallId>> {
        (**self).sweep(erased_on)
    }

    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        (**self).fence_call(lease)
    }
}
