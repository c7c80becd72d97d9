//! [`DynamoLog`] as a [`CallLog`].

use super::{DynamoLog, Layout};
use crate::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogError, LogFuture, LoggedCall, Put, Span,
    WriterLease,
};
use crate::message::Record;

/// The guarantees of DynamoDB where [`CallLog`] leaves a choice:
///
/// - **Erased calls.** Late records up to the next message and the next summary are refused. A record after them may be
///   stored. No read returns it, and a sweep of the day of the erasure removes it.
/// - **Resumed calls.** Records that an older writer writes in the order of its list are refused. A record that it
///   writes out of order may be stored, but no read returns it.
/// - **Lists.** A list may miss the most recent changes.
/// - **Deadlines.** The client's timeouts limit every wait; see [`log_client`](super::log_client).
impl CallLog for DynamoLog {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        Box::pin(self.open(header))
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(self.put(lease, record))
    }

    fn stores_spans(&self) -> bool {
        self.layout == Layout::Spans
    }

    /// Stores the records in one item in either layout, because a call may have spans from a log with the other layout.
    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        Box::pin(self.put_all(lease, span, records))
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(self.change(call_id, change))
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(self.read(call_id))
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        Box::pin(DynamoLog::read_header(self, call_id))
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(self.list(query))
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(self.erase(call_id))
    }

    fn sweep(&self, erased_on: Day) -> LogFuture<'_, Vec<CallId>> {
        Box::pin(self.sweep_day(erased_on))
    }

    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        Box::pin(self.fence(lease))
    }
}
