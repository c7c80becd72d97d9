//! [`query_log`]: runs a query over a log.

use std::future::poll_fn;
use std::task::Poll;

use super::calls::{Calls, LogScope};
use super::error::QueryProblem;
use super::search::Search;
use super::{HistoryQuery, LogAnswer};
use crate::conversation::ConversationError;
use crate::log::{CallId, CallLog, LogErrorKind, LogFuture, LoggedCall};

/// The maximum number of calls that are read, and in memory, at a time.
const CONCURRENCY: usize = 8;

/// Finds messages in a log. If the log is complete, it finds the same messages as
/// [`Conversations::query`](super::super::Conversations::query).
///
/// A log cannot list all of its calls, so `scope` selects them. The function reads whole calls, 8 at a time, and keeps
/// only the matches in memory; set a limit to query a busy day. A call that is not in the log has no messages.
///
/// Returns [`Refused`](super::super::ConversationErrorKind::Refused) if the query is invalid, and
/// [`Log`](super::super::ConversationErrorKind::Log) if a day cannot be listed, or a call cannot be read. If a content
/// cannot be loaded, the query succeeds and the answer lists a [problem](LogAnswer::problems).
///
/// ```
/// use verbale::conversation::{HistoryQuery, LogScope, query_log};
/// use verbale::log::{CallHeader, CallId, CallLog, WriterLease, MemoryLog};
/// use verbale::{MessagesManager, PlainMessage};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let log = MemoryLog::default();
/// let header = CallHeader::new(CallId::new("CA1")?, 1_744_815_823_058)?;
/// log.open_call(&header).await?;
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("Where is my order?")?;
/// for record in manager.records() {
///     log.put_record(&WriterLease::from(&header), &record).await?;
/// }
///
/// let scope = LogScope::of_days(None, ["2025-04-16".parse()?]);
/// let answer = query_log(&log, &scope, &HistoryQuery::default().with_text("ORDER").newest_first().with_limit(10)).await?;
/// assert_eq!(answer.found[0].conversation, CallId::new("CA1")?);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
pub async fn query_log(
    log: &dyn CallLog,
    scope: &LogScope,
    query: &HistoryQuery,
) -> Result<LogAnswer, ConversationError> {
    let mut search = Search::new(query)?;
    let calls = Calls::in_scope(scope, query.conversation.as_ref());
    read_calls(log, calls, |call_id, call| {
        if scope.contains(call_id, call.header.as_ref()) {
            search.add_call(call_id, call, None);
        }
    })
    .await?;
    Ok(search.into_answer())
}

/// Reads calls, a few at a time, and passes each to `visit`. Stops at the first error.
pub(in crate::conversation) async fn read_calls(
    log: &dyn CallLog,
    mut calls: Calls,
    mut visit: impl FnMut(&CallId, LoggedCall),
) -> Result<(), ConversationError> {
    let mut reads = Vec::with_capacity(CONCURRENCY);
    loop {
        while reads.len() < CONCURRENCY
            && let Some(call_id) = calls.next(log).await?
        {
            reads.push(read(log, call_id));
        }
        if reads.is_empty() {
            return Ok(());
        }
        let (call_id, call) = first_of(&mut reads).await?;
        visit(&call_id, call);
    }
}

type Read<'a> = LogFuture<'a, (CallId, LoggedCall), ConversationError>;

fn read(log: &dyn CallLog, call_id: CallId) -> Read<'_> {
    Box::pin(async move {
        match log.read_call(&call_id).await {
            Ok(call) => Ok((call_id, call)),
            // The call was erased after it was listed.
            Err(source) if source.kind() == LogErrorKind::Erased => Ok((call_id, LoggedCall::default())),
            Err(source) => Err(QueryProblem::Read { call_id, source }.into()),
        }
    })
}

/// Waits for the first read to complete, and removes it from `reads`.
async fn first_of(reads: &mut Vec<Read<'_>>) -> Result<(CallId, LoggedCall), ConversationError> {
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
