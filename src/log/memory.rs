//! [`MemoryLog`]: a log in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call::Call;
use super::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogError, LogFuture, LoggedCall, Put, Span,
    WriterLease,
};
use crate::clock::{Clock, SystemClock};
use crate::message::Record;

/// A log in memory, for tests and for services that keep no log.
///
/// A put takes O(log n) in a call of n messages; a list visits every call. Expired calls are neither read nor listed,
/// but still take memory, and so do the ids of erased calls.
pub struct MemoryLog {
    calls: Mutex<HashMap<CallId, Call>>,
    clock: Arc<dyn Clock>,
    stores_spans: bool,
}

impl MemoryLog {
    /// Creates an empty log with a clock that decides which calls have expired.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { calls: Mutex::default(), clock, stores_spans: false }
    }

    /// Makes the log [store spans](CallLog::stores_spans), as a log in DynamoDB does, so that a test sees the same puts.
    #[must_use]
    pub fn with_spans(mut self) -> Self {
        self.stores_spans = true;
        self
    }

    fn now_s(&self) -> i64 {
        self.clock.now_ms().div_euclid(1_000)
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<CallId, Call>> {
        // Each change is one insertion, so a panic cannot leave a call half changed.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallLog for MemoryLog {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        Box::pin(async move {
            let mut calls = self.calls();
            let call = calls.entry(header.call_id().clone()).or_default();
            let put = call.check_open(header)?;
            if put == Put::Written {
                call.set_header(header.clone());
            }
            Ok(put)
        })
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move { self.calls().entry(lease.call_id().clone()).or_default().put(lease, record) })
    }

    fn stores_spans(&self) -> bool {
        self.stores_spans
    }

    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        Box::pin(async move {
            let mut calls = self.calls();
            let call = calls.entry(lease.call_id().clone()).or_default();
            if self.stores_spans {
                return Ok(call.put_span(lease, span, records));
            }
            Ok(records.iter().map(|record| call.put(lease, record)).collect())
        })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(async move {
            let mut calls = self.calls();
            let call = calls.entry(call_id.clone()).or_default();
            let header = call.changed(call_id, change, self.now_s())?;
            call.set_header(header.clone());
            Ok(header)
        })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            let read = self.calls().get(call_id).map(|call| call.read(call_id, self.now_s()));
            read.unwrap_or_else(|| Ok(LoggedCall::default()))
        })
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(async move {
            Ok(query.page_of(self.calls().values().filter_map(|call| call.listed(self.now_s())).cloned()))
        })
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(async move {
            let mut calls = self.calls();
            let call = calls.entry(call_id.clone()).or_default();
            call.check_erase(call_id)?;
            *call = Call::Erased(Some(Day::of_ms(self.clock.now_ms())));
            Ok(())
        })
    }

    fn sweep(&self, erased_on: Day) -> LogFuture<'_, Vec<CallId>> {
        Box::pin(async move {
            let calls = self.calls();
            let erased = calls.iter().filter(|(_, call)| call.was_erased_on(erased_on));
            Ok(erased.map(|(call_id, _)| call_id.clone()).collect())
        })
    }
}

/// An empty log.
impl Default for MemoryLog {
    fn default() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }
}

/// Prints the number of calls, not their words.
impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog").field("calls", &self.calls().len()).finish()
    }
}
