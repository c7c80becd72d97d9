//! [`DynamoLog`] as a [`CallLog`].

use super::{DynamoError, DynamoLog};
use crate::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogError, LogFuture, LoggedCall, Put, WriterLease,
};
use crate::message::Record;

/// The guarantees where [`CallLog`] leaves a choice:
///
/// - **Erased calls.** A late record that the table had when the call was erased is refused. A record that the table
///   did not have may be stored. No read returns it, and erasing the call again removes it.
/// - **Resumed calls.** Records that an older writer writes in the order of its list are refused. A record that it
///   writes out of order may be stored, but no read returns it. The header has the epoch of the writer that owns the
///   call.
/// - **Lists.** A list may miss a change of the last moment.
/// - **Deadlines.** The client's timeouts limit every wait; see [`log_client`](super::log_client).
impl CallLog for DynamoLog {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        Box::pin(async move { self.open(header).await.map_err(|error| at("opening", header.call_id(), error)) })
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move { self.put(lease, record).await.map_err(|error| at("logging", lease.call_id(), error)) })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(async move { self.change(call_id, change).await.map_err(|error| at("changing", call_id, error)) })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { self.read(call_id).await.map_err(|error| at("reading", call_id, error)) })
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        let failed = |error| at("reading the header of", call_id, error);
        Box::pin(async move { DynamoLog::read_header(self, call_id).await.map_err(failed) })
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(async move {
            let failed = |error: DynamoError| error.into_log_error(format!("listing the calls of {}", query.day));
            self.list(query).await.map_err(failed)
        })
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(async move { self.erase(call_id).await.map_err(|error| at("erasing", call_id, error)) })
    }

    fn resume_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { self.resume(call_id).await.map_err(|error| at("resuming", call_id, error)) })
    }
}

fn at(action: &str, call_id: &CallId, error: DynamoError) -> LogError {
    error.into_log_error(format!("{action} call {call_id}"))
}
