//! [`Calls`]: the calls of a day, one after the other.

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::FuturesOrdered;
use verbale::log::{CallHeader, CallQuery, Cursor, Day, LogError, LogErrorKind, LoggedCall, Tenant};

use crate::failure::Failure;
use crate::log::Log;

/// The calls on a page of the log.
const PAGE: u16 = 1_000;
/// How many calls are read ahead: most of a read is waiting.
const AHEAD: usize = 16;

/// Reads the calls of a day, newest first. It holds a few calls and a page of headers.
pub struct Calls<'a> {
    log: &'a Log,
    query: CallQuery,
    /// The end of the last page.
    after: Option<Cursor>,
    page: VecDeque<CallHeader>,
    reading: FuturesOrdered<BoxFuture<'a, (CallHeader, Result<LoggedCall, LogError>)>>,
    unreadable: VecDeque<LogError>,
    is_last: bool,
    /// Whether the end of the last page was returned.
    has_ended_page: bool,
}

/// A call of a day, or the end of a page.
#[expect(clippy::large_enum_variant, reason = "nearly all calls can be read")]
pub enum Found {
    Call(CallHeader, LoggedCall),
    /// A call, or its header, cannot be read. Other calls can.
    Unreadable(LogError),
    /// The calls before this cursor are read.
    PageEnd(Cursor),
}

impl<'a> Calls<'a> {
    pub fn of_day(log: &'a Log, day: Option<Day>, tenant: Option<String>) -> Result<Self, Failure> {
        let day = day.ok_or_else(|| Failure::Usage("name a call, or a --day".to_owned()))?;
        let query = CallQuery::of_day(day).with_tenant(tenant.map(Tenant::new).transpose()?).with_limit(PAGE);
        Ok(Self {
            log,
            query,
            after: None,
            page: VecDeque::new(),
            reading: FuturesOrdered::new(),
            unreadable: VecDeque::new(),
            is_last: false,
            has_ended_page: true,
        })
    }

    /// Continues after the calls before a cursor.
    pub fn resume_at(&mut self, after: Cursor) {
        self.query = self.query.clone().with_after(after.clone());
        self.after = Some(after);
    }

    /// Returns the next call. A call that was erased since it was listed is left out.
    ///
    /// Returns an error if the log cannot be read now.
    pub async fn next(&mut self) -> Result<Option<Found>, Failure> {
        loop {
            // A log in files never waits, so nothing else would notice an interruption.
            tokio::task::yield_now().await;
            if let Some(error) = self.unreadable.pop_front() {
                return Ok(Some(Found::Unreadable(error)));
            }
            self.read_ahead();
            let Some((header, read)) = self.reading.next().await else {
                if self.is_last {
                    return Ok(None);
                }
                if let Some(after) = self.after.clone().filter(|_| !self.has_ended_page) {
                    self.has_ended_page = true;
                    return Ok(Some(Found::PageEnd(after)));
                }
                self.turn_page().await?;
                continue;
            };
            match read {
                Ok(call) if call.is_empty() => {}
                Ok(call) => return Ok(Some(Found::Call(header, call))),
                Err(error) if error.kind() == LogErrorKind::Erased => {}
                Err(error) if error.is_retryable() => return Err(error.into()),
                Err(error) => return Ok(Some(Found::Unreadable(error))),
            }
        }
    }

    fn read_ahead(&mut self) {
        let log = self.log;
        while self.reading.len() < AHEAD {
            let Some(header) = self.page.pop_front() else { break };
            let read = async move {
                let read = log.read_call(header.call_id()).await;
                (header, read)
            };
            self.reading.push_back(read.boxed());
        }
    }

    async fn turn_page(&mut self) -> Result<(), Failure> {
        let page = self.log.list_calls(&self.query).await?;
        self.is_last = page.next.is_none();
        (self.page, self.unreadable) = (page.calls.into(), page.unreadable.into());
        if let Some(after) = page.next.clone() {
            self.resume_at(after);
        }
        self.has_ended_page = false;
        Ok(())
    }
}
