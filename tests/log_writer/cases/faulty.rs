//! [`Faulty`]: a log in memory that hangs and fails on demand.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use verbale::Record;
use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogError, LogErrorKind, LogFuture, LoggedCall,
    MemoryLog, Put, Span, WriterLease,
};
use verbale::message::Position;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Go,
    Hang,
    /// The request is performed, and its answer is lost.
    Lose,
    Unavailable,
    Denied,
    Refuse,
}

#[derive(Default)]
pub struct Faulty {
    log: MemoryLog,
    always: Mutex<HashMap<CallId, Next>>,
    next: Mutex<HashMap<CallId, Next>>,
    attempts: AtomicU64,
    puts: Mutex<Vec<Position>>,
    items: Mutex<Vec<Item>>,
}

/// A put: its span, and the numbers and revisions of its messages.
pub type Item = (Option<(u32, u32)>, Vec<(u32, u32)>);

impl Faulty {
    /// Returns a log that stores spans in `tests/log_writer/spans.rs`, and single records elsewhere.
    pub fn new() -> Self {
        if module_path!().starts_with("log_writer::spans::") { Self::with_spans() } else { Self::default() }
    }

    /// Returns a log that stores spans.
    pub fn with_spans() -> Self {
        Self { log: MemoryLog::default().with_spans(), ..Self::default() }
    }

    /// Removes and returns the puts, including failed ones.
    pub fn take_items(&self) -> Vec<Item> {
        std::mem::take(&mut self.items.lock().unwrap())
    }

    pub fn always(&self, call_id: &CallId, next: Next) {
        self.always.lock().unwrap().insert(call_id.clone(), next);
    }

    pub fn next(&self, call_id: &CallId, next: Next) {
        self.next.lock().unwrap().insert(call_id.clone(), next);
    }

    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// The number of records that were put.
    pub fn puts(&self) -> usize {
        self.puts.lock().unwrap().len()
    }

    /// The positions that were put, in the order of their first put.
    pub fn first_puts(&self) -> Vec<Position> {
        let mut first = Vec::new();
        for position in self.puts.lock().unwrap().iter() {
            if !first.contains(position) {
                first.push(*position);
            }
        }
        first
    }

    async fn pass(&self, call_id: &CallId) -> Result<(), LogError> {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        let next = self.next.lock().unwrap().remove(call_id);
        let next = next.or_else(|| self.always.lock().unwrap().get(call_id).copied()).unwrap_or(Next::Go);
        let error = |kind| Err(LogError::backend(format!("logging call {call_id}"), kind, "refused"));
        match next {
            Next::Go | Next::Lose => Ok(()),
            Next::Hang => std::future::pending().await,
            Next::Unavailable => error(LogErrorKind::Unavailable),
            Next::Denied => error(LogErrorKind::NeedsOperator),
            Next::Refuse => error(LogErrorKind::Refused),
        }
    }
}

impl CallLog for Faulty {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        Box::pin(async move {
            self.pass(header.call_id()).await?;
            self.log.open_call(header).await
        })
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move {
            self.items.lock().unwrap().push((None, vec![(record.position().seq(), record.revision())]));
            self.pass(lease.call_id()).await?;
            self.puts.lock().unwrap().push(record.position());
            self.log.put_record(lease, record).await
        })
    }

    fn stores_spans(&self) -> bool {
        self.log.stores_spans()
    }

    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        Box::pin(async move {
            let revisions = records.iter().map(|record| (record.position().seq(), record.revision())).collect();
            self.items.lock().unwrap().push((Some(RangeInclusive::from(span).into_inner()), revisions));
            self.pass(lease.call_id()).await?;
            self.puts.lock().unwrap().extend(records.iter().map(|record| record.position()));
            let put = self.log.put_span(lease, span, records).await;
            if self.always.lock().unwrap().get(lease.call_id()) == Some(&Next::Lose) {
                std::future::pending::<()>().await;
            }
            put
        })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(async move {
            self.pass(call_id).await?;
            self.log.change_call(call_id, change).await
        })
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        Box::pin(async move {
            self.pass(call_id).await?;
            self.log.read_header(call_id).await
        })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        self.log.read_call(call_id)
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        self.log.list_calls(query)
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(async move {
            self.pass(call_id).await?;
            self.log.erase_call(call_id).await
        })
    }
}
