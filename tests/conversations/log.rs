//! Queries over a log: the calls that they read, how many at a time, and read errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use verbale::contents::MemoryStore;
use verbale::conversation::{HistoryQuery, LogScope, query_log};
use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogError, LogErrorKind, LogFuture, LoggedCall,
    MemoryLog, Offloading, Put, Tenant, WriterLease,
};
use verbale::{MessageId, MessagesManager, PlainMessage, Record, Role};

use super::backend::{START_MS, everything, id, texts};

const DAY_MS: i64 = 86_400_000;

/// A memory log that counts reads, and may fail.
#[derive(Default)]
pub struct Watched {
    log: MemoryLog,
    reading: AtomicUsize,
    most_reading: AtomicUsize,
    read: AtomicUsize,
    listed: AtomicUsize,
    fails_at: Option<CallId>,
}

impl CallLog for Watched {
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
        Box::pin(async move {
            self.read.fetch_add(1, Ordering::Relaxed);
            self.most_reading.fetch_max(self.reading.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            // Some reads take longer than others.
            for _ in 0..call_id.as_str().len() * 3 % 7 {
                tokio::task::yield_now().await;
            }
            self.reading.fetch_sub(1, Ordering::Relaxed);
            if self.fails_at.as_ref() == Some(call_id) {
                return Err(LogError::backend(
                    format!("reading call {call_id}"),
                    LogErrorKind::Unavailable,
                    "it is busy",
                ));
            }
            self.log.read_call(call_id).await
        })
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        self.listed.fetch_add(1, Ordering::Relaxed);
        self.log.list_calls(query)
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        self.log.erase_call(call_id)
    }
}

impl Watched {
    /// Returns a log that cannot read this call.
    pub fn failing_at(call_id: CallId) -> Self {
        Self { fails_at: Some(call_id), ..Self::default() }
    }

    /// Returns the number of calls read, and of pages listed.
    pub fn counts(&self) -> (usize, usize) {
        (self.read.load(Ordering::Relaxed), self.listed.load(Ordering::Relaxed))
    }
}

/// Writes a call with one message, which contains the id of the call.
async fn call(log: &dyn CallLog, name: &str, started_ms: i64, tenant: Option<&str>) -> MessageId {
    let mut header = CallHeader::new(id(name), started_ms).unwrap();
    if let Some(tenant) = tenant {
        header = header.with_tenant(Tenant::new(tenant).unwrap());
    }
    log.open_call(&header).await.unwrap();
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user(format!("this is {name}")).unwrap();
    for record in &manager.records() {
        log.put_record(&WriterLease::from(&header), record).await.unwrap();
    }
    manager.records()[0].id()
}

async fn found(log: &dyn CallLog, scope: &LogScope, query: &HistoryQuery) -> Vec<String> {
    let mut texts = texts(&query_log(log, scope, query).await.unwrap().found);
    texts.sort();
    texts
}

#[tokio::test]
async fn busy_day_is_read_a_few_calls_at_a_time() {
    const CALLS: usize = 250;
    let log = Watched::default();
    for number in 0..CALLS {
        call(&log, &format!("{number:0width$}", width = 3 + number % 5), START_MS + number as i64, None).await;
    }
    let scope = LogScope::of_days(None, [Day::of_ms(START_MS)]);
    assert_eq!(query_log(&log, &scope, &everything()).await.unwrap().found.len(), CALLS);
    assert_eq!(log.counts(), (CALLS, 3));
    assert_eq!(log.most_reading.load(Ordering::Relaxed), 8);
    assert_eq!(query_log(&log, &scope, &everything().newest_first().with_limit(3)).await.unwrap().found.len(), 3);
    assert_eq!(found(&log, &scope, &everything().with_text("IS 0000249")).await, ["0000249: this is 0000249"]);
}

#[tokio::test]
async fn scope_selects_the_calls() {
    let log = Watched::default();
    for (name, day, tenant) in
        [("a", 0, None), ("b", 1, None), ("c", 2, None), ("x", 0, Some("bank")), ("y", 1, Some("shop"))]
    {
        call(&log, name, START_MS + day * DAY_MS, tenant).await;
    }
    // A call that was never opened is on no day.
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("this is d").unwrap();
    for record in &manager.records() {
        log.put_record(&WriterLease::from(id("d")), record).await.unwrap();
    }

    let day = |number: i64| Day::of_ms(START_MS + number * DAY_MS);
    let bank = || Tenant::new("bank").unwrap();
    for (scope, expected) in [
        (LogScope::of_days(None, [day(0)]), vec!["a"]),
        (LogScope::of_days(None, [day(2), day(1), day(1), day(3)]), vec!["b", "c"]),
        (LogScope::of_days(None, []), vec![]),
        (LogScope::of_days(Some(bank()), [day(0), day(1)]), vec!["x"]),
        (LogScope::of_calls(["d", "x", "a", "a", "nobody"].map(id)), vec!["a", "d", "x"]),
    ] {
        let shown = |name: &&str| format!("{name}: this is {name}");
        assert_eq!(
            found(&log, &scope, &everything()).await,
            expected.iter().map(shown).collect::<Vec<_>>(),
            "{scope:?}"
        );
        // A query for one conversation reads only that call, and finds it only in scope: tenants are separate.
        for name in ["a", "b", "c", "d", "x", "y", "nobody"] {
            let before = log.counts();
            let one = found(&log, &scope, &everything().with_conversation(id(name))).await;
            let is_there = expected.contains(&name);
            assert_eq!(one, is_there.then(|| shown(&name)).into_iter().collect::<Vec<_>>(), "{name} in {scope:?}");
            assert_eq!(log.counts(), (before.0 + 1, before.1));
        }
    }
}

#[tokio::test]
async fn erased_call_is_not_found() {
    let log = MemoryLog::default();
    let message = call(&log, "a", START_MS, None).await;
    let scope = LogScope::of_calls([id("a")]);
    assert_eq!(found(&log, &scope, &everything().with_id(message)).await.len(), 1);
    log.erase_call(&id("a")).await.unwrap();
    assert_eq!(found(&log, &scope, &everything().with_id(message)).await, [""; 0]);
}

#[tokio::test]
async fn call_that_cannot_be_read_is_an_error() {
    let log = Watched::failing_at(id("b"));
    for name in ["a", "b", "c"] {
        call(&log, name, START_MS, None).await;
    }
    let scope = LogScope::of_calls(["a", "b", "c"].map(id));
    let error = query_log(&log, &scope, &everything().with_limit(1)).await.unwrap_err();
    assert!(error.log_error().is_some_and(LogError::is_retryable));
    assert_eq!(
        error.to_string(),
        "cannot read call b; the source of this error has the reason; fix it, then query again"
    );
}

#[tokio::test]
async fn missing_contents_are_reported() {
    let shared = Arc::new(MemoryLog::default());
    let log = Offloading::new(shared.clone(), MemoryStore::default());
    let header = CallHeader::new(id("a"), START_MS).unwrap();
    log.open_call(&header).await.unwrap();
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("terms and conditions ".repeat(100)).unwrap();
    manager.add_assistant("I see.").unwrap();
    for record in &manager.records() {
        log.put_record(&WriterLease::from(&header), record).await.unwrap();
    }
    let scope = LogScope::of_calls([id("a")]);
    let query = everything().with_text("CONDITIONS");
    let answer = query_log(&log, &scope, &query).await.unwrap();
    assert_eq!((answer.found.len(), answer.problems.len()), (1, 0));

    // The same log with an empty store.
    let log = Offloading::new(shared, MemoryStore::default());
    let answer = query_log(&log, &scope, &query).await.unwrap();
    let problems: Vec<_> =
        answer.problems.iter().map(|(call_id, problem)| (call_id.clone(), problem.message_id)).collect();
    assert_eq!((answer.found.len(), problems), (0, vec![(id("a"), manager.records()[0].id())]));
    // Problems of other messages are not reported.
    let answer = query_log(&log, &scope, &query.with_role(Role::Assistant)).await.unwrap();
    assert_eq!((answer.found.len(), answer.problems.len()), (0, 0));
}
