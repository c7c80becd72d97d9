//! [`Spanning`]: checks that each message is put with the same span.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogError, LogFuture, LoggedCall, Put, Span,
    WriterLease,
};
use verbale::message::Position;
use verbale::{MessageId, Record};

pub struct Spanning {
    log: Arc<dyn CallLog>,
    seen: Mutex<Seen>,
}

/// The spans that all processes have put.
#[derive(Default)]
struct Seen {
    spans: BTreeMap<MessageId, Span>,
    /// The first messages of the spans that are stored.
    stored: BTreeSet<MessageId>,
    wrong: Vec<String>,
}

impl Spanning {
    pub fn over(log: Arc<dyn CallLog>) -> Self {
        Self { log, seen: Mutex::default() }
    }

    /// Returns how many spans were stored. Panics if one has changed.
    pub fn check(&self) -> u64 {
        let seen = self.seen.lock().unwrap();
        assert_eq!(seen.wrong, Vec::<String>::new());
        seen.stored.len() as u64
    }

    fn see(&self, span: Span, records: &[Record]) {
        let mut seen = self.seen.lock().unwrap();
        for record in records {
            let first = *seen.spans.entry(record.id()).or_insert(span);
            if first != span || !is_in(span, record.position()) {
                seen.wrong.push(format!("{record:?} was put in {first:?}, then in {span:?}"));
            }
        }
        let is_stored = records.iter().any(|record| seen.stored.contains(&record.id()));
        if !is_stored && !RangeInclusive::from(span).eq(records.iter().map(|record| record.position().seq())) {
            seen.wrong.push(format!("the first put of {span:?} has {} records", records.len()));
        }
    }
}

impl Spanning {
    /// Notes what a read shows: a put may be applied although its answer is lost.
    fn read(&self, call: LoggedCall) -> LoggedCall {
        self.seen.lock().unwrap().stored.extend(call.records.iter().map(|record| record.id()));
        call
    }
}

impl CallLog for Spanning {
    fn stores_spans(&self) -> bool {
        true
    }

    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        Box::pin(async move {
            self.see(span, records);
            let put = self.log.put_span(lease, span, records).await?;
            if put.iter().any(Result::is_ok) {
                self.seen.lock().unwrap().stored.extend(records.iter().map(|record| record.id()));
            }
            Ok(put)
        })
    }

    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        self.log.open_call(header)
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        self.log.put_record(lease, record)
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        self.log.change_call(call_id, change)
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { Ok(self.read(self.log.read_call(call_id).await?)) })
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        self.log.read_header(call_id)
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        self.log.list_calls(query)
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        self.log.erase_call(call_id)
    }

    fn sweep(&self, erased_on: Day) -> LogFuture<'_, Vec<CallId>> {
        self.log.sweep(erased_on)
    }

    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { Ok(self.read(self.log.fence_call(lease).await?)) })
    }
}

/// Whether a message is in a span. A summary is in none.
fn is_in(span: Span, position: Position) -> bool {
    position.summary_number().is_none() && RangeInclusive::from(span).contains(&position.seq())
}
