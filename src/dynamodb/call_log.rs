//! [`DynamoLog`] as a [`CallLog`].

use super::{DynamoError, DynamoLog, PutAllError};
use crate::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Claim, LogError, LogFuture, LoggedCall, Opening,
    PutError, Stored,
};
use crate::message::Record;

/// The table as the port wants it: the methods of [`DynamoLog`] without what they cost. What was erased is refused; a
/// message that had never arrived may be stored behind the mark, where nobody reads it: see [`DynamoLog::erase`]. An older
/// writer of a call that was resumed is refused as long as it writes its records in the order of its list; what it
/// puts further behind may be stored, where nobody reads it: see [`DynamoLog::resume`]. The header says who is the writer.
/// A list may lag behind by a moment. The client's time-outs bound every wait: take one from
/// [`log_client`](super::log_client).
impl CallLog for DynamoLog {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Opening> {
        Box::pin(async move {
            let opened = self.open(header).await;
            opened.map(|(opening, _)| opening).map_err(|error| at("opening", header.call_id(), None, error))
        })
    }

    fn put_records<'a>(&'a self, claim: &'a Claim, records: &'a [Record]) -> LogFuture<'a, Vec<Stored>, PutError> {
        Box::pin(async move {
            let call_id = claim.call_id();
            let error = match self.put_all(claim, records).await {
                Ok(report) => return Ok(report.stored),
                Err(error) => error,
            };
            let PutAllError { report, failed, untried } = error;
            let failed = failed.into_iter().map(|(id, error)| {
                let record = records.iter().find(|record| record.id() == id);
                (id, at("logging", call_id, record, error))
            });
            Err(PutError::new(report.stored, failed.collect(), untried))
        })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(async move {
            let changed = self.change(call_id, change).await;
            changed.map(|(header, _)| header).map_err(|error| at("changing", call_id, None, error))
        })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            let read = self.read(call_id).await;
            read.map(|(call, _)| call).map_err(|error| at("reading", call_id, None, error))
        })
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        Box::pin(async move {
            let read = self.read_header(call_id).await;
            read.map(|(header, _)| header).map_err(|error| at("reading the header of", call_id, None, error))
        })
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(async move {
            let listed = self.list(query).await;
            listed.map(|(page, _)| page).map_err(|error| {
                LogError::backend(format!("listing the calls of {}", query.day), error.remedy(), error)
            })
        })
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(
            async move { self.erase(call_id).await.map(drop).map_err(|error| at("erasing", call_id, None, error)) },
        )
    }

    fn resume_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            let resumed = self.resume(call_id).await;
            resumed.map(|(call, _)| call).map_err(|error| at("resuming", call_id, None, error))
        })
    }
}

fn at(what: &str, call_id: &CallId, record: Option<&Record>, error: DynamoError) -> LogError {
    match (error, record) {
        (DynamoError::Erased { call_id }, _) => LogError::Erased { call_id },
        (DynamoError::Fenced { call_id, epoch, current }, _) => LogError::Fenced { call_id, epoch, current },
        (DynamoError::Held { call_id }, _) => LogError::Held { call_id },
        (DynamoError::NotOpened { call_id }, _) => LogError::NotOpened { call_id },
        (DynamoError::OtherHeader { call_id }, _) => LogError::OtherHeader { call_id },
        (DynamoError::OtherMessage { id, found, .. }, Some(record)) => {
            LogError::OtherMessage { call_id: call_id.clone(), position: record.position(), id, found }
        }
        (DynamoError::OtherContents { id, revision, .. }, Some(record)) => {
            LogError::OtherContents { call_id: call_id.clone(), position: record.position(), id, revision }
        }
        (error, _) => LogError::backend(format!("{what} call {call_id}"), error.remedy(), error),
    }
}
