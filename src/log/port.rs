//! [`CallLog`]: the port to a store of calls.

use std::pin::Pin;
use std::sync::Arc;

use super::{
    CallChange, CallHeader, CallId, CallPage, CallQuery, LogError, LoggedCall, Put, TenureChange, WriterLease,
};
use crate::message::Record;

/// The future that a method of [`CallLog`] returns.
pub type LogFuture<'a, T, E = LogError> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A store of calls and their records.
///
/// Every implementation keeps this contract, and `testing::call_log_conformance` checks it (feature `testing`). A backend
/// returns its errors with [`LogError::backend`] and the [kind](super::LogErrorKind) that the contract names.
///
/// - **Puts are idempotent and need no order.** The log keeps the newest revision of each message that it was given, in
///   whatever order and however often. A record is stored once the future of its put returns a [`Put`].
/// - **One writer per call.** After a call was [resumed](Self::resume_call), the log refuses the records of older
///   writers ([`Fenced`](super::LogErrorKind::Fenced)), however late they come, and keeps the records that they stored
///   before. It may refuse them from the first step of a [takeover](CallChange::Takeover) on; if the candidate gives up,
///   the writer takes the call back and puts them again. For a record that is put out of the order of the list, a
///   backend may guarantee only that no read returns it, and must document that. So a writer that writes out of order
///   reads [the header](Self::read_header) afterwards. A takeover raises the epoch in the header before it reads the
///   call; if the header still has the writer's epoch, the record is kept. Another message at the same position, or other contents at the same revision, is a
///   [conflict](super::LogErrorKind::Conflict) and changes nothing.
/// - **Results are reliable.** A record whose put returned a [`Put`] is stored. A record whose put failed is not
///   stored, unless the error is [retryable](LogError::is_retryable): then its state is unknown.
/// - **Erased calls stay erased.** After [`erase_call`](Self::erase_call), the call is neither read nor listed for the
///   life of the log, and late records and headers of it are refused ([`Erased`](super::LogErrorKind::Erased)). For a
///   record that the log did not have when the call was erased, a backend may guarantee only that no read returns it
///   and that erasing again removes it, and must document that. The log keeps only the ids of erased calls.
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
    /// Returns [`Conflict`](super::LogErrorKind::Conflict) if the call was opened with another start, tenant, caller, attributes or expiry,
    /// [`Erased`](super::LogErrorKind::Erased) if the call was erased, or the error of a backend that failed.
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put>;

    /// Stores a record, replacing an older revision of it.
    ///
    /// Returns [`Conflict`](super::LogErrorKind::Conflict) if the log has another message at this position or other
    /// contents at this revision, [`Erased`](super::LogErrorKind::Erased) if the call was erased,
    /// [`Fenced`](super::LogErrorKind::Fenced) if a newer writer has resumed it, or the error of a backend that failed.
    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put>;

    /// Changes a call as a whole and returns its new header.
    ///
    /// Returns [`NotOpened`](super::LogErrorKind::NotOpened) if the call was never opened or has expired,
    /// [`Erased`](super::LogErrorKind::Erased) if it was erased, [`Fenced`](super::LogErrorKind::Fenced) if an older
    /// writer closes it, or the error of a backend that failed. After such a failure the change may be partly made;
    /// make it again.
    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader>;

    /// Reads the header and records of a call, including everything that was stored before the read. The result is empty
    /// if the call is unknown, erased or expired. Contents that are missing are
    /// [problems](LoggedCall::problems), not errors.
    ///
    /// Returns the error of a backend that failed or cannot read what it stored.
    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall>;

    /// Reads the header of a call, as [`read_call`](Self::read_call) returns it: `None` if the call was never opened,
    /// was erased or has expired.
    ///
    /// Errors are those of [`read_call`](Self::read_call).
    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        Box::pin(async move { Ok(self.read_call(call_id).await?.header) })
    }

    /// Lists a page of the opened calls of a day or of a caller, newest first.
    ///
    /// A backend may document a short delay, in which a newly opened call is missing or an erased call is still listed.
    /// An erased call cannot be read even then. Pages follow each other by start and id: no call is listed twice, and
    /// every call that existed before the first page is listed, whatever is opened or erased in between.
    ///
    /// Returns the error of a backend if it failed or a stored header cannot be read.
    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage>;

    /// Removes a call and everything it owns for good, unless the call is held. Records of it that come later are
    /// refused, even if the log does not know the call yet. Erasing again changes nothing, or completes an erasure that
    /// failed.
    ///
    /// Returns [`Held`](super::LogErrorKind::Held) if the call is held, or the error of a backend that failed. After
    /// such a failure the call may be partly erased; erase it again.
    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()>;

    /// Fences the older writers of a call for the candidate with this lease, which has
    /// [committed](CallChange::Takeover) to take the call over, and returns the call as the candidate will have it. No
    /// older writer can change what is returned. Can be repeated after an error, and goes on where it stopped.
    ///
    /// A log that compares the epochs in every put has nothing to fence and uses this default.
    ///
    /// Returns the errors of [`read_call`](Self::read_call), and [`Fenced`](super::LogErrorKind::Fenced) if another
    /// process has taken a higher epoch.
    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            self.change_call(lease.call_id(), &CallChange::Takeover(TenureChange::fence(lease))).await?;
            self.read_call(lease.call_id()).await
        })
    }

    /// Takes a call over from another process at once: fences the older writers, then reads the call.
    /// [`LogWriter::resume`](super::LogWriter::resume) does this with retries and respects other candidates.
    /// [Restore](crate::MessagesManager::restore) a manager from the records, and write with the
    /// [lease](LoggedCall::lease).
    ///
    /// Returns [`NotOpened`](super::LogErrorKind::NotOpened) if the call was never opened or has expired,
    /// [`Erased`](super::LogErrorKind::Erased) if it was erased, [`Fenced`](super::LogErrorKind::Fenced) if another
    /// process resumes the call at the same time, or the error of a backend that failed. After an error the older
    /// writer can take the call back.
    fn resume_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            self.change_call(call_id, &CallChange::Resume).await?;
            self.read_call(call_id).await
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

    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        (**self).fence_call(lease)
    }

    fn resume_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        (**self).resume_call(call_id)
    }
}
