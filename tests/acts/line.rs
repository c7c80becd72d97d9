//! [`Line`]: the way of one process to the log, which is slow, breaks, and ends with the process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use verbale::Record;
use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogError, LogErrorKind, LogFuture, LoggedCall,
    MemoryLog, Put, Span, WriterLease,
};

use super::process::Process;

pub struct Line {
    pub process: Process,
}

impl Line {
    /// Sends a request. It may fail before or after it is performed, and may be performed after the process died.
    async fn send<T: Send + 'static>(
        &self,
        operation: impl Future<Output = Result<T, LogError>> + Send + 'static,
    ) -> Result<T, LogError> {
        let world = self.process.world();
        self.process.alive().await;
        let faults = world.plan().log_faults;
        if world.is_log_away() {
            world.count("log away");
            world.pass(300).await;
            self.process.alive().await;
            return Err(failed());
        }
        let is_refused = world.fault(faults / 2);
        let is_answer_lost = world.fault(faults / 2);
        let hangs = world.fault(faults / 8);
        let slow_ms = if world.fault(faults) { 4_000 } else { 40 };
        let way = Duration::from_millis(world.below(slow_ms));
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            tokio::time::sleep(way).await;
            let performed = if is_refused { Err(failed()) } else { operation.await };
            tokio::time::sleep(way).await;
            let _ = sender.send(performed);
        });
        let performed = receiver.await.unwrap();
        if hangs {
            std::future::pending::<()>().await;
        }
        self.process.alive().await;
        if is_answer_lost { Err(failed()) } else { performed }
    }

    fn log(&self) -> Arc<MemoryLog> {
        self.process.world().log()
    }
}

fn failed() -> LogError {
    LogError::backend("an operation", LogErrorKind::Unavailable, "the history made it fail")
}

impl CallLog for Line {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        let (log, header) = (self.log(), header.clone());
        Box::pin(self.send(async move { log.open_call(&header).await }))
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        let (log, lease, record) = (self.log(), lease.clone(), record.clone());
        Box::pin(self.send(async move { log.put_record(&lease, &record).await }))
    }

    fn stores_spans(&self) -> bool {
        self.log().stores_spans()
    }

    fn put_span<'a>(
        &'a self,
        lease: &'a WriterLease,
        span: Span,
        records: &'a [Record],
    ) -> LogFuture<'a, Vec<Result<Put, LogError>>> {
        let (log, lease, records) = (self.log(), lease.clone(), records.to_vec());
        Box::pin(self.send(async move { log.put_span(&lease, span, &records).await }))
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        let (log, call_id, change) = (self.log(), call_id.clone(), change.clone());
        Box::pin(self.send(async move { log.change_call(&call_id, &change).await }))
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        let (log, call_id) = (self.log(), call_id.clone());
        Box::pin(self.send(async move { log.read_call(&call_id).await }))
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        let (log, query) = (self.log(), query.clone());
        Box::pin(self.send(async move { log.list_calls(&query).await }))
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        let (log, call_id) = (self.log(), call_id.clone());
        Box::pin(self.send(async move { log.erase_call(&call_id).await }))
    }
}
