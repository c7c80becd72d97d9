//! [`Scripted`]: a log that waits, fails and refuses on demand, and records the order of its puts.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use verbale::Record;
use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogError, LogErrorKind, LogFuture, LoggedCall,
    MemoryLog, Put, Span, WriterLease,
};

use crate::resumed::resume;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Go,
    /// No request is answered until the mode changes.
    Wait,
    Unavailable,
    Denied,
}

type IsRefused = fn(&CallHeader) -> bool;

/// A stored record: its `seq` and revision, and the lease of its writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub seq: u32,
    pub revision: u32,
    pub epoch: u32,
    pub expires_at_s: Option<i64>,
}

pub struct Scripted {
    log: Arc<dyn CallLog>,
    modes: Mutex<HashMap<CallId, Mode>>,
    /// The records to refuse, by `seq` and revision.
    refused: Mutex<HashSet<(u32, u32)>>,
    refuses_summaries: AtomicBool,
    refuses_headers: Mutex<Option<IsRefused>>,
    /// The spans that are stored.
    spans: Mutex<HashSet<Span>>,
    kept: Mutex<HashMap<CallId, Vec<Kept>>>,
    header_reads: AtomicUsize,
    /// The number of header reads after which another process takes the call over, or erases it.
    take_over_after: AtomicUsize,
    erases: AtomicBool,
}

/// A log that stores spans in `tests/log_writer/spans.rs`, and single records elsewhere.
impl Default for Scripted {
    fn default() -> Self {
        let log = MemoryLog::default();
        let stores_spans = module_path!().starts_with("log_writer::spans::");
        Self::over(Arc::new(if stores_spans { log.with_spans() } else { log }))
    }
}

impl Scripted {
    /// Wraps another log.
    pub fn over(log: Arc<dyn CallLog>) -> Self {
        let (modes, refused, refuses_summaries, refuses_headers, spans) = Default::default();
        let (kept, header_reads, take_over_after, erases) = Default::default();
        Self {
            log,
            modes,
            refused,
            refuses_summaries,
            refuses_headers,
            spans,
            kept,
            header_reads,
            take_over_after,
            erases,
        }
    }

    pub fn set(&self, call_id: &CallId, mode: Mode) {
        self.modes.lock().unwrap().insert(call_id.clone(), mode);
    }

    pub fn refuse(&self, seq: u32, revision: u32) {
        self.refused.lock().unwrap().insert((seq, revision));
    }

    pub fn allow(&self, seq: u32, revision: u32) {
        self.refused.lock().unwrap().remove(&(seq, revision));
    }

    pub fn refuse_summaries(&self) {
        self.refuses_summaries.store(true, Ordering::Relaxed);
    }

    pub fn refuse_headers(&self, which: IsRefused) {
        *self.refuses_headers.lock().unwrap() = Some(which);
    }

    pub fn kept(&self, call_id: &CallId) -> Vec<Kept> {
        self.kept.lock().unwrap().get(call_id).cloned().unwrap_or_default()
    }

    /// Takes a call over as another process, in any mode.
    pub async fn take_over_beside(&self, call_id: &CallId) {
        resume(&self.log, call_id).await.unwrap();
    }

    pub fn take_over_after_header_read(&self, number: usize) {
        self.take_over_after.store(number, Ordering::Relaxed);
    }

    pub fn erase_after_header_read(&self, number: usize) {
        self.erases.store(true, Ordering::Relaxed);
        self.take_over_after_header_read(number);
    }

    pub fn header_reads(&self) -> usize {
        self.header_reads.load(Ordering::Relaxed)
    }

    fn mode(&self, call_id: &CallId) -> Mode {
        self.modes.lock().unwrap().get(call_id).copied().unwrap_or_default()
    }

    async fn pass(&self, call_id: &CallId) -> Result<(), LogError> {
        while self.mode(call_id) == Mode::Wait {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let error = |kind| Err(LogError::backend(format!("logging call {call_id}"), kind, "scripted"));
        match self.mode(call_id) {
            Mode::Unavailable => error(LogErrorKind::Unavailable),
            Mode::Denied => error(LogErrorKind::NeedsOperator),
            _ => Ok(()),
        }
    }
}

impl CallLog for Scripted {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        Box::pin(async move {
            self.pass(header.call_id()).await?;
            if self.refuses_headers.lock().unwrap().is_some_and(|refuses| refuses(header)) {
                return Err(LogError::backend("opening a call", LogErrorKind::Refused, "scripted"));
            }
            self.log.open_call(header).await
        })
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move {
            let (seq, revision) = (record.position().seq(), record.revision());
            self.pass(lease.call_id()).await?;
            let is_refused_summary =
                self.refuses_summaries.load(Ordering::Relaxed) && record.position().summary_number().is_some();
            if is_refused_summary || self.refused.lock().unwrap().contains(&(seq, revision)) {
                return Err(LogError::backend("logging a record", LogErrorKind::Refused, "scripted"));
            }
            let put = self.log.put_record(lease, record).await?;
            let kept = Kept { seq, revision, epoch: lease.epoch(), expires_at_s: lease.expires_at_s() };
            self.kept.lock().unwrap().entry(lease.call_id().clone()).or_default().push(kept);
            Ok(put)
        })
    }

    fn stores_spans(&self) -> bool {
        self.log.stores_spans()
    }

    /// Refuses the whole first put of a span, and later the refused records alone.
    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        Box::pin(async move {
            self.pass(lease.call_id()).await?;
            let refusal = || LogError::backend("logging a record", LogErrorKind::Refused, "scripted");
            let refused = self.refused.lock().unwrap().clone();
            let is_refused = |record: &Record| refused.contains(&(record.position().seq(), record.revision()));
            let is_new = !self.spans.lock().unwrap().contains(&span);
            if is_new && records.iter().any(is_refused) {
                return Ok(records.iter().map(|_| Err(refusal())).collect());
            }
            let taken: Vec<Record> = records.iter().filter(|record| !is_refused(record)).cloned().collect();
            let mut put = self.log.put_span(lease, span, &taken).await?.into_iter();
            if taken.is_empty() || put.as_slice().iter().any(Result::is_ok) {
                self.spans.lock().unwrap().insert(span);
            }
            for (record, _) in taken.iter().zip(put.as_slice()).filter(|(_, put)| put.is_ok()) {
                let (seq, revision) = (record.position().seq(), record.revision());
                let kept = Kept { seq, revision, epoch: lease.epoch(), expires_at_s: lease.expires_at_s() };
                self.kept.lock().unwrap().entry(lease.call_id().clone()).or_default().push(kept);
            }
            Ok(records
                .iter()
                .map(|record| if is_refused(record) { Err(refusal()) } else { put.next().unwrap() })
                .collect())
        })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(async move {
            self.pass(call_id).await?;
            self.log.change_call(call_id, change).await
        })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        self.log.read_call(call_id)
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        Box::pin(async move {
            self.pass(call_id).await?;
            let header = self.log.read_header(call_id).await;
            self.header_reads.fetch_add(1, Ordering::Relaxed);
            if self.take_over_after.fetch_sub(1, Ordering::Relaxed) == 1 {
                if self.erases.load(Ordering::Relaxed) {
                    self.log.erase_call(call_id).await.unwrap();
                } else {
                    self.take_over_beside(call_id).await;
                }
            }
            header
        })
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
