//! [`MemoryLog`]: calls in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::call::Call;
use super::{CallHeader, CallId, CallLog, CallPage, CallQuery, LogFuture, Opening, PutError, Stored};
use crate::message::Record;

/// Calls in memory, for tests and for services that keep nothing. Refuses all that is put to an erased call.
///
/// A put takes O(log n) in a call of n messages, a list looks at every call there is. The ids of erased calls stay.
#[derive(Default)]
pub struct MemoryLog(Mutex<HashMap<CallId, Call>>);

impl MemoryLog {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<CallId, Call>> {
        // Each change is one insertion: nobody can leave a call half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallLog for MemoryLog {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Opening> {
        Box::pin(async move {
            let mut calls = self.calls();
            let call = calls.entry(header.call_id().clone()).or_default();
            let opening = call.opening(header)?;
            call.open(header.clone());
            Ok(opening)
        })
    }

    fn put_records<'a>(&'a self, call_id: &'a CallId, records: &'a [Record]) -> LogFuture<'a, Vec<Stored>, PutError> {
        Box::pin(async move { self.calls().entry(call_id.clone()).or_default().put(call_id, records, |_| ()) })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Vec<Record>> {
        Box::pin(async move {
            Ok(self.calls().get(call_id).map_or_else(Vec::new, |call| call.records().cloned().collect()))
        })
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(async move { Ok(query.page_of(self.calls().values().filter_map(Call::header).cloned())) })
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(async move {
            self.calls().insert(call_id.clone(), Call::Erased);
            Ok(())
        })
    }
}

/// How many calls, not what was said.
impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog").field("calls", &self.calls().len()).finish()
    }
}
