//! The race of targets, with scripted models and tokio's paused clock.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::time::{Instant, Sleep, advance, sleep};

use super::*;
use crate::model::{Failure, ModelError, ModelEvent, StopReason, Usage, wait};

/// A step of a scripted answer.
#[derive(Clone)]
enum Step {
    Wait(u64),
    Emit(ModelEvent),
    Fail(Failure),
    Hang,
}

/// A model that answers by a script, and with its own name after the end of the script.
#[derive(Clone)]
struct Scripted(Arc<Script>);

struct Script {
    id: &'static str,
    answers: Mutex<VecDeque<Vec<Step>>>,
    requests: AtomicUsize,
    cancelled: AtomicUsize,
}

impl Scripted {
    fn new(id: &'static str, answers: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        Self(Arc::new(Script { id, answers, requests: AtomicUsize::new(0), cancelled: AtomicUsize::new(0) }))
    }

    /// Returns the numbers of requests and of cancelled requests.
    fn counts(&self) -> (usize, usize) {
        (self.0.requests.load(Ordering::SeqCst), self.0.cancelled.load(Ordering::SeqCst))
    }
}

impl Model for Scripted {
    fn generate(&self, _: ModelRequest) -> Generation {
        Box::pin(Answer { script: self.0.clone(), steps: None, wait: None })
    }

    fn id(&self) -> Option<&str> {
        Some(self.0.id).filter(|id| !id.is_empty())
    }
}

struct Answer {
    script: Arc<Script>,
    /// `None` before the first poll.
    steps: Option<VecDeque<Step>>,
    wait: Option<Pin<Box<Sleep>>>,
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let answer = self.get_mut();
        let script = &answer.script;
        let steps = answer.steps.get_or_insert_with(|| {
            script.requests.fetch_add(1, Ordering::SeqCst);
            script.answers.lock().unwrap().pop_front().unwrap_or_else(|| says(script.id)).into()
        });
        loop {
            if let Some(wait) = &mut answer.wait {
                ready!(wait.as_mut().poll(context));
                answer.wait = None;
            }
            match steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Wait(ms)) => answer.wait = Some(Box::pin(sleep(Duration::from_millis(ms)))),
                Some(Step::Emit(event)) => return Poll::Ready(Some(Ok(event))),
                Some(Step::Fail(failure)) => {
                    steps.clear();
                    return Poll::Ready(Some(Err(ModelError::new(failure))));
                }
                Some(Step::Hang) => {
                    steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.steps.as_ref().is_some_and(|steps| !steps.is_empty()) {
            self.script.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn says(text: &str) -> Vec<Step> {
    vec![Step::Wait(100), Step::Emit(ModelEvent::Text(text.into())), Step::Emit(ModelEvent::Stop(StopReason::EndTurn))]
}

fn fails(failure: Failure) -> Vec<Step> {
    vec![Step::Wait(10), Step::Fail(failure)]
}

fn throttled() -> Vec<Step> {
    fails(Failure::Throttled)
}

fn hangs() -> Vec<Step> {
    vec![Step::Hang]
}

/// Reads an answer and returns one word per event.
async fn ask(model: &FallbackModel) -> Vec<String> {
    let mut events = Vec::new();
    let mut answer = model.generate(ModelRequest::default());
    while let Some(event) = poll_fn(|context| answer.as_mut().poll_next(context)).await {
        events.push(match event {
            Ok(ModelEvent::Text(text)) => text.as_str().to_owned(),
            Ok(ModelEvent::Switched { from, to, reason }) => format!("{from} -> {to}: {reason}"),
            Ok(event) => format!("{event:?}"),
            Err(error) => error.kind().word().to_owned(),
        });
    }
    assert!(poll_fn(|context| answer.as_mut().poll_next(context)).await.is_none(), "the stream stays ended");
    events
}

const STOP: &str = "Stop(EndTurn)";

/// Measures an answer in milliseconds.
async fn timed(model: &FallbackModel) -> (Vec<String>, u128) {
    let begun = Instant::now();
    (ask(model).await, begun.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn failure_before_the_answer_switches_at_once() {
    let timeout = Failure::TimedOut { wait: wait::FIRST_TOKEN, after: Duration::from_secs(5) };
    let failures = [
        Failure::Denied(String::new()),
        Failure::Throttled,
        Failure::Unavailable(String::new()),
        Failure::Unreachable,
        timeout,
        Failure::Cut,
        Failure::Malformed(String::new()),
    ];
    for failure in failures {
        let word = failure.word();
        let (a, b) = (Scripted::new("a", [fails(failure)]), Scripted::new("b", []));
        let model = FallbackModel::new(a.clone()).or_else(b.clone());
        let switch = format!("a -> b: {word}");
        assert_eq!(timed(&model).await, (vec![switch, "b".into(), STOP.into()], 110));
        assert_eq!([a.counts(), b.counts()], [(1, 0), (1, 0)]);
    }
    // A stream that ends without a stop failed too.
    let model = FallbackModel::new(Scripted::new("a", [vec![]])).or_else(Scripted::new("b", []));
    assert_eq!(ask(&model).await, ["a -> b: malformed", "b", STOP]);
}

#[tokio::test(start_paused = true)]
async fn wrong_request_is_not_sent_to_another_target() {
    for failure in [Failure::Invalid(String::new()), Failure::Refused(String::new())] {
        let word = failure.word();
        let (a, b) = (Scripted::new("a", [(); 9].map(|()| fails(failure.clone()))), Scripted::new("b", []));
        let model = FallbackModel::new(a.clone()).or_else(b.clone());
        for _ in 0..9 {
            assert_eq!(ask(&model).await, [word]);
        }
        assert_eq!((a.counts().0, b.counts().0), (9, 0), "the breaker stays closed");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_switched_after_the_first_text() {
    let begun = Step::Emit(ModelEvent::Text("One".into()));
    let a = Scripted::new("a", [vec![begun, Step::Wait(5_000), Step::Fail(Failure::Cut)]]);
    let b = Scripted::new("b", []);
    let model = FallbackModel::new(a).or_else(b.clone());
    let model = model.with_patience(Duration::from_secs(1)).with_hedge(Duration::from_secs(1));
    assert_eq!(ask(&model).await, ["One", "cut"]);
    assert_eq!(b.counts(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn only_the_events_of_the_winner_arrive() {
    let repaired = |what: &str| Step::Emit(ModelEvent::Repaired(vec![what.into()]));
    let usage = |output_tokens| Step::Emit(ModelEvent::Usage(Usage { output_tokens, ..Usage::default() }));
    let answer = |what: &str, steps: Vec<Step>| [vec![repaired(what)], steps].concat();
    let a = Scripted::new("a", [answer("first", throttled()), answer("first", throttled())]);
    let b = Scripted::new("b", [answer("second", [says("b"), vec![usage(7)]].concat()), answer("second", throttled())]);
    let model = FallbackModel::new(a).or_else(b);
    let used = format!("{:?}", ModelEvent::Usage(Usage { output_tokens: 7, ..Usage::default() }));
    let repair = "Repaired([\"second\"])";
    assert_eq!(ask(&model).await, ["a -> b: throttled", repair, "b", STOP, &used]);
    assert_eq!(ask(&model).await, ["a -> b: throttled", repair, "throttled"]);
}

#[tokio::test(start_paused = true)]
async fn error_of_all_targets_is_the_first_retryable_one() {
    let denied = || fails(Failure::Denied(String::new()));
    let refused = || fails(Failure::Refused(String::new()));
    for (first, second, third, word) in [
        (denied(), throttled(), fails(Failure::Cut), "throttled"),
        (throttled(), denied(), denied(), "throttled"),
        (throttled(), refused(), says("never asked"), "throttled"),
        (denied(), denied(), denied(), "denied"),
        (denied(), refused(), says("never asked"), "refused"),
    ] {
        let [a, b, c] = [("a", first), ("b", second), ("c", third)].map(|(id, answer)| Scripted::new(id, [answer]));
        let events = ask(&FallbackModel::new(a).or_else(b).or_else(c)).await;
        assert_eq!(events.last().unwrap(), word, "{events:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn breaker_keeps_requests_from_a_failing_target_until_a_probe_succeeds() {
    let a = Scripted::new("a", [throttled(), throttled(), throttled(), throttled()]);
    let b = Scripted::new("b", []);
    let model = FallbackModel::new(a.clone()).or_else(b);
    // Clones share the breakers.
    for _ in 0..3 {
        assert_eq!(ask(&model.clone()).await, ["a -> b: throttled", "b", STOP]);
    }
    assert_eq!(ask(&model).await, ["a -> b: circuitOpen", "b", STOP]);
    assert_eq!(a.counts().0, 3);
    advance(Duration::from_secs(30)).await;
    assert_eq!(ask(&model).await, ["a -> b: throttled", "b", STOP], "the probe fails");
    advance(Duration::from_secs(59)).await;
    assert_eq!(ask(&model).await, ["a -> b: circuitOpen", "b", STOP], "the pause has doubled");
    advance(Duration::from_secs(1)).await;
    assert_eq!(ask(&model).await, ["a", STOP]);
    assert_eq!(ask(&model).await, ["a", STOP]);
    assert_eq!(a.counts().0, 6);
}

#[tokio::test(start_paused = true)]
async fn denied_target_is_not_asked_again_at_once() {
    let a = Scripted::new("a", [fails(Failure::Denied(String::new()))]);
    let model = FallbackModel::new(a.clone()).or_else(Scripted::new("b", []));
    assert_eq!(ask(&model).await, ["a -> b: denied", "b", STOP]);
    assert_eq!(ask(&model).await, ["a -> b: circuitOpen", "b", STOP]);
    assert_eq!(a.counts().0, 1);
}

#[tokio::test(start_paused = true)]
async fn caller_who_waits_is_answered_although_all_breakers_are_open() {
    let [a, b] = ["a", "b"].map(|id| Scripted::new(id, [throttled()]));
    let model = FallbackModel::new(a).or_else(b).with_breaker(1, Duration::from_secs(5));
    assert_eq!(ask(&model).await, ["a -> b: throttled", "throttled"]);
    assert_eq!(ask(&model).await, ["a", STOP], "the breaker that closes first");
    assert_eq!(ask(&model).await, ["a", STOP]);
    let [a, b] = ["a", "b"].map(|id| Scripted::new(id, [throttled(), throttled()]));
    let model = FallbackModel::new(a).or_else(b).with_breaker(1, Duration::from_secs(5));
    ask(&model).await;
    assert_eq!(ask(&model).await, ["throttled"], "a doubles its pause");
    assert_eq!(ask(&model).await, ["a -> b: circuitOpen", "throttled"]);
    assert_eq!(ask(&model).await, ["a", STOP]);
}

#[tokio::test(start_paused = true)]
async fn hanging_target_is_left_when_patience_ends() {
    let (a, b) = (Scripted::new("a", [(); 3].map(|()| hangs())), Scripted::new("b", []));
    let model = FallbackModel::new(a.clone()).or_else(b.clone()).with_patience(Duration::from_secs(2));
    for _ in 0..3 {
        assert_eq!(timed(&model).await, (vec!["a -> b: timeout".into(), "b".into(), STOP.into()], 2_100));
    }
    assert_eq!(a.counts(), (3, 3));
    assert_eq!(timed(&model).await.1, 100, "the breaker is open");
    // The last target may take its time.
    let b = Scripted::new("b", [[vec![Step::Wait(9_000)], says("b")].concat()]);
    let model = FallbackModel::new(Scripted::new("a", [throttled()])).or_else(b).with_patience(Duration::from_secs(2));
    assert_eq!(timed(&model).await, (vec!["a -> b: throttled".into(), "b".into(), STOP.into()], 9_110));
}

#[tokio::test(start_paused = true)]
async fn hedge_wins_if_the_first_request_is_slow() {
    let (a, b) = (Scripted::new("a", [hangs()]), Scripted::new("b", []));
    let model = FallbackModel::new(a.clone()).or_else(b.clone()).with_hedge(Duration::from_millis(700));
    assert_eq!(timed(&model).await, (vec!["a -> b: hedge".into(), "b".into(), STOP.into()], 800));
    assert_eq!([a.counts(), b.counts()], [(1, 1), (1, 0)]);
    assert_eq!(timed(&model).await, (vec!["a".into(), STOP.into()], 100), "a slow request opens no breaker");
    // Without another target, the same one is asked again.
    let model = FallbackModel::new(Scripted::new("a", [hangs()])).with_hedge(Duration::from_millis(700));
    assert_eq!(timed(&model).await, (vec!["a -> a: hedge".into(), "a".into(), STOP.into()], 800));
}

#[tokio::test(start_paused = true)]
async fn hedge_that_loses_or_fails_changes_nothing() {
    let slow = || [vec![Step::Wait(700)], says("a")].concat();
    let (a, b) = (Scripted::new("a", [slow(), slow()]), Scripted::new("b", [hangs(), throttled()]));
    let model = FallbackModel::new(a.clone()).or_else(b.clone()).with_hedge(Duration::from_millis(700));
    assert_eq!(timed(&model).await, (vec!["a".into(), STOP.into()], 800));
    assert_eq!([a.counts(), b.counts()], [(1, 0), (1, 1)]);
    assert_eq!(timed(&model).await, (vec!["a".into(), STOP.into()], 800));
}

#[tokio::test(start_paused = true)]
async fn first_request_that_fails_during_a_hedge_is_a_switch() {
    let fails_late = vec![Step::Wait(750), Step::Fail(Failure::Throttled)];
    let (a, b, c) = (Scripted::new("a", [fails_late]), Scripted::new("b", []), Scripted::new("c", []));
    let model = FallbackModel::new(a).or_else(b).or_else(c.clone()).with_hedge(Duration::from_millis(700));
    assert_eq!(timed(&model).await, (vec!["a -> b: throttled".into(), "b".into(), STOP.into()], 800));
    assert_eq!(c.counts(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn hedge_and_patience_leave_all_slow_targets() {
    let (a, b, c) = (Scripted::new("a", [hangs()]), Scripted::new("b", [hangs()]), Scripted::new("c", []));
    let model = FallbackModel::new(a.clone()).or_else(b.clone()).or_else(c);
    let model = model.with_hedge(Duration::from_millis(700)).with_patience(Duration::from_secs(2));
    let expected = ["a -> b: timeout", "b -> c: timeout", "c", STOP].map(String::from).to_vec();
    assert_eq!(timed(&model).await, (expected, 2_800));
    assert_eq!([a.counts(), b.counts()], [(1, 1), (1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn dropped_answer_cancels_its_requests_and_frees_the_probe() {
    let (a, b) = (Scripted::new("a", [throttled(), hangs()]), Scripted::new("b", [says("b"), hangs()]));
    let model = FallbackModel::new(a.clone()).or_else(b.clone());
    let model = model.with_breaker(1, Duration::from_secs(5)).with_hedge(Duration::from_millis(700));
    ask(&model).await;
    advance(Duration::from_secs(5)).await;
    let unpolled = model.generate(ModelRequest::default());
    drop(unpolled);
    assert_eq!(a.counts(), (1, 0), "nothing is sent before the first poll");
    let _ = tokio::time::timeout(Duration::from_secs(1), ask(&model)).await.unwrap_err();
    assert_eq!([a.counts(), b.counts()], [(2, 1), (2, 1)]);
    assert_eq!(ask(&model).await, ["a", STOP], "the next request is the probe");
}

#[tokio::test(start_paused = true)]
async fn names_of_targets_are_unique() {
    let model = |id| Scripted::new(id, []);
    let fallback = FallbackModel::new(model("a")).or_else(model("a")).or_else(model("")).or_else(model(""));
    let names: Vec<&str> = fallback.targets.iter().map(|target| &*target.name).collect();
    assert_eq!(names, ["a", "a (2)", "model", "model (4)"]);
    assert_eq!(fallback.id(), Some("a"));
}
