//! [`FaultyLog`]: a log that fails by a script.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Record;
use crate::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogError, LogErrorKind, LogFuture, LoggedCall,
    Put, Span, WriterLease,
};

/// A [`CallLog`] that wraps another one and fails or delays operations by a script.
///
/// The script is a function. Before each operation it gets the name of the method of [`CallLog`], the call, and the
/// number of the operation among those of the same method, from 1. [`list_calls`](CallLog::list_calls) has no call. If
/// the script returns `None`, the wrapped log performs the operation.
///
/// ```
/// use verbale::log::{CallHeader, CallId, CallLog, LogErrorKind, MemoryLog};
/// use verbale::testing::{FaultyLog, LogFault};
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let log = FaultyLog::new(MemoryLog::default(), |method, _call, number| match (method, number) {
///         ("open_call", 1) => Some(LogFault::Fail(LogErrorKind::Unavailable)),
///         ("erase_call", _) => Some(LogFault::Fail(LogErrorKind::NeedsOperator)),
///         _ => None,
///     });
///
///     let header = CallHeader::new(CallId::new("CA1")?, 1_744_815_823_058)?;
///     assert!(log.open_call(&header).await.is_err_and(|error| error.is_retryable()));
///     log.open_call(&header).await?;
///     assert!(log.erase_call(header.call_id()).await.is_err());
///     Ok(())
/// }
/// ```
pub struct FaultyLog<L> {
    log: L,
    script: Box<Script>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

type Script = dyn Fn(&str, Option<&CallId>, u64) -> Option<LogFault> + Send + Sync;

/// A fault of a [`FaultyLog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFault {
    /// Performs the operation after a delay, by tokio's clock; after `Duration::MAX`, never.
    Delay(Duration),
    /// Fails with an error of this kind and does not perform the operation.
    Fail(LogErrorKind),
}

impl<L: CallLog> FaultyLog<L> {
    /// Wraps `log`. The script returns the fault of each operation, or `None`.
    pub fn new(
        log: L,
        script: impl Fn(&str, Option<&CallId>, u64) -> Option<LogFault> + Send + Sync + 'static,
    ) -> Self {
        Self { log, script: Box::new(script), counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass(&self, method: &'static str, call_id: Option<&CallId>) -> Result<(), LogError> {
        let number = {
            let mut counts = self.counts();
            let count = counts.entry(method).or_default();
            *count += 1;
            *count
        };
        match (self.script)(method, call_id, number) {
            None => Ok(()),
            Some(LogFault::Delay(Duration::MAX)) => std::future::pending().await,
            Some(LogFault::Delay(delay)) => {
                tokio::time::sleep(delay).await;
                Ok(())
            }
            Some(LogFault::Fail(kind)) => {
                let operation = match call_id {
                    Some(call_id) => format!("{method} of call {call_id}"),
                    None => method.to_owned(),
                };
                Err(LogError::backend(operation, kind, "the script of the test made it fail"))
            }
        }
    }
}

impl<L: CallLog> CallLog for FaultyLog<L> {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        Box::pin(async move {
            self.pass("open_call", Some(header.call_id())).await?;
            self.log.open_call(header).await
        })
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move {
            self.pass("put_record", Some(lease.call_id())).await?;
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
            self.pass("put_span", Some(lease.call_id())).await?;
            self.log.put_span(lease, span, records).await
        })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(async move {
            self.pass("change_call", Some(call_id)).await?;
            self.log.change_call(call_id, change).await
        })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            self.pass("read_call", Some(call_id)).await?;
            self.log.read_call(call_id).await
        })
    }

    fn read_header<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, Option<CallHeader>> {
        Box::pin(async move {
            self.pass("read_header", Some(call_id)).await?;
            self.log.read_header(call_id).await
        })
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(async move {
            self.pass("list_calls", None).await?;
            self.log.list_calls(query).await
        })
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(async move {
            self.pass("erase_call", Some(call_id)).await?;
            self.log.erase_call(call_id).await
        })
    }

    fn sweep(&self, erased_on: Day) -> LogFuture<'_, Vec<CallId>> {
        Box::pin(async move {
            self.pass("sweep", None).await?;
            self.log.sweep(erased_on).await
        })
    }

    fn fence_call<'a>(&'a self, lease: &'a WriterLease) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            self.pass("fence_call", Some(lease.call_id())).await?;
            self.log.fence_call(lease).await
        })
    }
}

impl<L> fmt::Debug for FaultyLog<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyLog").field("counts", &self.counts).finish_non_exhaustive()
    }
}
