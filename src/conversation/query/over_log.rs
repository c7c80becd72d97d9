//! A query over a log: [`query_log`].

use std::future::poll_fn;
use std::task::Poll;

use super::calls::{Calls, LogScope};
use super::search::Search;
use super::{HistoryQuery, LogAnswer, QueryError};
use crate::log::{CallId, CallLog, LogFuture, LoggedCall};

/// How many calls are read at a time: what is in memory of them, beside what is found.
const AT_ONCE: usize = 8;

/// Finds messages in a log, those that [`Conversations::query`](super::super::Conversations::query) finds in
/// conversations of which the log has everything.
///
/// The scope says which calls are looked at: a log has no list of all there are. Each of them is read whole, 8 at a
/// time, and let go of before the next, so that only what is found stays in memory: of a big day ask with a limit, or
/// for the most recent. A call that the log does not know is an empty one.
///
/// Errors: a query that contradicts itself or whose text cannot be searched for; a day that cannot be listed, or a call
/// that cannot be read, and then there is no answer at all. What is missing of a message is one of the answer's
/// [problems](LogAnswer::problems).
///
/// ```
/// use verbale::conversation::{HistoryQuery, LogScope, query_log};
/// use verbale::log::{CallHeader, CallId, CallLog, WriterLease, MemoryLog};
/// use verbale::{MessagesManager, PlainMessage};
///
/// # async fn asked() -> Result<(), Box<dyn std::error::Error>> {
/// let log = MemoryLog::new();
/// let header = CallHeader::new(CallId::new("CA1")?, 1_744_815_823_058)?;
/// log.open_call(&header).await?;
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("Where is my order?")?;
/// for record in manager.records() {
///     log.put_record(&WriterLease::of(&header), &record).await?;
/// }
///
/// let scope = LogScope::of_days(["2025-04-16".parse()?]);
/// let answer = query_log(&log, &scope, &HistoryQuery::default().with_text("ORDER").newest_first().with_limit(10)).await?;
/// assert_eq!(answer.found[0].conversation, CallId::new("CA1")?);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(asked()).unwrap();
/// ```
pub async fn query_log(log: &dyn CallLog, scope: &LogScope, query: &HistoryQuery) -> Result<LogAnswer, QueryError> {
    let mut search = Search::new(query)?;
    let calls = Calls::in_scope(scope, query.conversation.as_ref());
    read_calls(log, calls, |call_id, call| {
        if scope.holds(call_id, call.header.as_ref()) {
            search.look_at_call(call_id, call, None);
        }
    })
    .await?;
    Ok(search.into_answer())
}

/// Reads calls, a few at a time, and shows each. The first error ends it.
pub(in crate::conversation) async fn read_calls(
    log: &dyn CallLog,
    mut calls: Calls,
    mut show: impl FnMut(&CallId, LoggedCall),
) -> Result<(), QueryError> {
    let mut reads = Vec::with_capacity(AT_ONCE);
    loop {
        while reads.len() < AT_ONCE
            && let Some(call_id) = calls.next(log).await?
        {
            reads.push(read(log, call_id));
        }
        if reads.is_empty() {
            return Ok(());
        }
        let (call_id, call) = first_of(&mut reads).await?;
        show(&call_id, call);
    }
}

type Read<'a> = LogFuture<'a, (CallId, LoggedCall), QueryError>;

fn read(log: &dyn CallLog, call_id: CallId) -> Read<'_> {
    Box::pin(async move {
        match log.read_call(&call_id).await {
            Ok(call) => Ok((call_id, call)),
            Err(source) => Err(QueryError::Read { call_id, source }),
        }
    })
}

/// Waits for the first of some reads that is ready, and takes it from them.
async fn first_of(reads: &mut Vec<Read<'_>>) -> Result<(CallId, LoggedCall), QueryError> {
    poll_fn(|context| {
        for index in 0..reads.len() {
            if let Some(Poll::Ready(read)) = reads.get_mut(index).map(|read| read.as_mut().poll(context)) {
                drop(reads.swap_remove(index));
                return Poll::Ready(read);
            }
        }
        Poll::Pending
    })
    .await
}
