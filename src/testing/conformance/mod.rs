//! [`call_log_conformance`]: the contract of every [`CallLog`], rule by rule.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken rule fails the test that runs the suite"
)]

mod callers;
mod changes;
mod lists;
mod records;
mod spans;
mod support;
mod takeover;

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::clock::ManualClock;
use crate::log::CallLog;

/// Checks that a log keeps the contract of [`CallLog`], for the tests of a backend.
///
/// `make_log` returns a log that reads the time from the given clock. It is called once for each rule. All its logs may
/// share one store, if the store is empty at first: each rule uses calls and days of its own. The rules need about 700
/// requests and a tokio runtime with timers. They take no real time.
///
/// ```
/// use verbale::log::MemoryLog;
/// use verbale::testing::call_log_conformance;
///
/// // In a service, a test of its own backend: `#[tokio::test] async fn backend_keeps_the_contract()`.
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// call_log_conformance(async |clock| MemoryLog::with_clock(clock)).await;
/// # }
/// ```
///
/// A backend returns its errors with [`LogError::backend`](crate::log::LogError::backend) and the
/// [kind](crate::log::LogErrorKind) that the contract names. [`CallHeader::changed`](crate::log::CallHeader::changed),
/// [`is_opened_as`](crate::log::CallHeader::is_opened_as) and [`CallQuery::page_of`](crate::log::CallQuery::page_of)
/// implement the rules that all backends share. A call has expired once its
/// [`expires_at_s`](crate::log::CallHeader::expires_at_s) is reached, unless it [is held](crate::log::CallHeader::is_held).
///
/// The suite does not check the deadlines of a log, whether records survive the end of its process, or two processes at
/// once.
///
/// # Panics
///
/// Panics with the name of the first rule that the log breaks.
pub async fn call_log_conformance<L: CallLog>(make_log: impl AsyncFn(Arc<ManualClock>) -> L) {
    macro_rules! rules {
        ($($text:literal: |$log:ident, $clock:ident| $check:expr;)*) => {$(
            let $clock = Arc::new(ManualClock::new(support::START_MS));
            let $log = make_log($clock.clone()).await;
            check($text, $check).await;
        )*};
    }
    rules! {
        "puts are idempotent and need no order": |log, clock| records::puts_need_no_order(&log);
        "another message or other contents at a position are a conflict": |log, clock| records::second_writer_gets_a_conflict(&log);
        "a call is read in the order of the conversation": |log, clock| records::call_is_read_in_order_and_continues(&log);
        "a span keeps the newest revision of each message": |log, clock| spans::span_keeps_the_newest_revisions(&log);
        "another message in a span is a conflict": |log, clock| spans::other_message_in_a_span_is_a_conflict(&log);
        "a message of a span can be put alone": |log, clock| spans::single_record_of_a_span_is_kept(&log);
        "a resumed call refuses the spans of older writers": |log, clock| spans::span_of_an_older_writer_is_refused(&log);
        "an erased call refuses spans": |log, clock| spans::span_of_an_erased_call_is_refused(&log);
        "calls are independent, whatever their ids": |log, clock| records::calls_are_separate(&log);
        "an erased call stays erased": |log, clock| records::erased_call_stays_erased(&log);
        "the holes of an erased call are refused": |log, clock| records::holes_of_an_erased_call_are_refused(&log);
        "a sweep removes what reached erased calls late": |log, clock| records::sweep_removes_late_records(&log, &clock);
        "a call can be erased before the log knows it": |log, clock| records::unknown_call_can_be_erased(&log);
        "a call is opened once": |log, clock| lists::header_is_written_once(&log);
        "calls are listed by day and tenant, newest first": |log, clock| lists::calls_are_listed_by_day_and_tenant(&log);
        "pages list each call once": |log, clock| lists::pages_are_complete_and_ordered(&log);
        "calls are listed by caller and tenant, newest first": |log, clock| callers::calls_are_listed_by_caller(&log);
        "an erased or expired call of a caller is not listed": |log, clock| callers::removed_calls_are_not_listed(&log, &clock);
        "every change of a header keeps caller and attributes": |log, clock| callers::changes_keep_caller_and_attributes(&log);
        "a resumed call refuses older writers": |log, clock| takeover::older_writer_is_refused(&log);
        "each resume has an epoch of its own": |log, clock| takeover::each_writer_has_its_own_epoch(&log);
        "a writer takes its call back from a candidate": |log, clock| takeover::writer_takes_its_call_back(&log);
        "a step of a takeover can be repeated": |log, clock| takeover::step_with_a_lost_answer_is_repeated(&log);
        "every write of a header changes its nonce": |log, clock| takeover::every_write_of_the_header_changes_its_nonce(&log);
        "a resumed call continues": |log, clock| takeover::conversation_continues_in_another_process(&log);
        "a call that is not open cannot be changed": |log, clock| changes::unopened_or_erased_call_cannot_be_changed(&log);
        "the first end of a call is kept": |log, clock| changes::call_ends_once(&log);
        "a held call is not erased": |log, clock| changes::held_call_is_not_erased(&log);
        "an expired call is gone": |log, clock| changes::expired_call_is_gone(&log, &clock);
        "a held call does not expire": |log, clock| changes::held_call_does_not_expire(&log, &clock);
    }
}

/// Runs the check of a rule. If it panics, panics with the name of the rule.
async fn check(rule: &str, check: impl Future<Output = ()>) {
    let mut check = pin!(check);
    // Unwind safe: after a panic, neither the check nor its log is used again.
    let panicked = poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| check.as_mut().poll(context))) {
        Ok(poll) => poll.map(|()| None),
        Err(panic) => Poll::Ready(Some(panic)),
    });
    if let Some(panic) = panicked.await {
        panic!("the log breaks the rule that {rule}: {}", text_of(&*panic));
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the check panicked")
}
