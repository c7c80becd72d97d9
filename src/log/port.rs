//! [`CallLog`]: the port to whatever keeps calls.

use std::pin::Pin;
use std::sync::Arc;

use super::{CallChange, CallHeader, CallId, CallPage, CallQuery, LogError, LoggedCall, Opening, Put, WriterLease};
use crate::message::Record;

/// What the methods of a [`CallLog`] give, later.
pub type LogFuture<'a, T, E = LogError> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// Keeps the records of calls.
///
/// What every implementor owes, and `tests/call_log/` asks of each:
///
/// - **Putting needs no order and can be repeated.** Of each message the log keeps the newest revision it was ever
///   given, in whatever order, however often. What is put is there once the future is ready.
/// - **One writer a call.** Once a call was [resumed](Self::resume_call), what its older writers put is refused
///   ([`LogError::Fenced`]) and not there, however late it comes; what they had stored before stays. Of what comes out
///   of the order of its list a backend may only promise that no read shows it. It says so; who writes out of order
///   asks [the header](Self::read_header) behind it, which has the newer epoch before the call is read. Another message
///   in the same place, or other contents at the same revision, is a [conflict](LogError::is_conflict), and what was there stays.
/// - **What is reported is so.** A record with a [`Put`] is in the log; a failed one is not, or, after an error that
///   [may pass](LogError::is_retryable), it is not known to be.
/// - **Erased is erased.** Once [`erase_call`](Self::erase_call) is done, the call is neither read nor listed, however
///   late a put or an open of it comes, for as long as the log lives; what was erased is not stored again either, and
///   who tries is told so ([`LogError::Erased`]). Of a record that the log did not have when the call was erased a
///   backend may only promise the first half: that no read shows it, and that erasing again takes it away. It says so.
///   A log keeps the ids of erased calls for this, and nothing else of them.
/// - **Expired is gone.** What has expired is neither read nor listed; what is held does not expire.
/// - **A dropped future undoes nothing**: its work may be done, or still to be done, or never. Each method can be
///   called again after any error and any drop.
/// - **It ends**: every wait in it has a deadline. It does not try again by itself; that is the caller's, who knows
///   how urgent it is.
/// - **Errors tell nothing of what was said.**
///
/// Calls do not know each other: whatever happens to one leaves the others as they are.
pub trait CallLog: Send + Sync {
    /// Writes down that a call has begun, so that it is listed. Before or after its first records, or never: a call
    /// that is not opened is kept all the same, and not listed.
    ///
    /// Errors: [opened](LogError::OtherHeader) with another start, tenant or expiry, and that stays; erased; a backend that
    /// failed.
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Opening>;

    /// Puts a record of a call over an older revision of itself, or over nothing.
    ///
    /// Errors: another message there, or other contents at the same revision; erased; fenced; a backend that failed.
    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put>;

    /// Changes the call as a whole, and gives its header as it is then.
    ///
    /// Errors: never opened, or expired; erased; closed by a writer that is fenced; a backend that failed. The change may
    /// then be made in part, and is to be made again.
    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader>;

    /// A call's header and its records; nothing of a call that is unknown, erased or expired. All that was stored
    /// before is among them. What is missing of a record, and can be told by name, is one of the call's
    /// [problems](LoggedCall::problems), and no error.
    ///
    /// Errors: something that does not read as a record; a backend that failed.
    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall>;

    /// A call's header alone, as [`read_call`](Self::read_call) gives it.
    ///
    /// Errors: something that does not read as a header; a backend that failed.
    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        Box::pin(async move { Ok(self.read_call(call_id).await?.header) })
    }

    /// The opened calls of a day, newest first, a page at a time. A call that was opened or erased just now may be
    /// missing or there for a moment, where the backend says so; one that was erased cannot be read all the same.
    ///
    /// Pages follow each other by start and id, so that no call comes twice and none that was there before the first
    /// page is missing, whatever is opened or erased in between.
    ///
    /// Errors: something that does not read as a header; a backend that failed.
    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage>;

    /// Removes a call with all it owns, for good, unless it is held. The same for a call that the log has never heard of:
    /// what is still to come of it stays away. To do it again changes nothing, and finishes what an error left.
    ///
    /// Errors: held; a backend that failed; the call may then be erased in part, and is to be erased again.
    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()>;

    /// Takes a call over, in a process that goes on with it when another one fell: fences its older writers, then reads
    /// it. [Restore](crate::MessagesManager::restore) a manager from the records, and log with the
    /// [claim](LoggedCall::claim).
    ///
    /// Errors: never opened, or expired; erased; fenced by a third one that resumes it at the same time; something that
    /// does not read as a record; a backend that failed. The older writers may be fenced all the same.
    fn resume_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            self.change_call(call_id, &CallChange::Resume).await?;
            self.read_call(call_id).await
        })
    }
}

impl<L: CallLog + ?Sized> CallLog for Arc<L> {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Opening> {
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

    fn resume_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        (**self).resume_call(call_id)
    }
}
