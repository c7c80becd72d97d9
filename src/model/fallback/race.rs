//! [`Race`]: the answer of a fallback, from the first request to the end of the winner's answer.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::breaker::Trial;
use super::{FallbackModel, Target};
use crate::clock::from_now;
use crate::model::{Failure, Generation, ModelError, ModelEvent, ModelRequest, note_progress, take_progress, wait};

/// Asks the targets until one answers. It works only while it is polled; dropping it cancels all requests.
pub(super) struct Race {
    model: FallbackModel,
    request: ModelRequest,
    phase: Phase,
    /// The requests that have not answered, in the order in which they were sent.
    running: Vec<Attempt>,
    /// The request that the reader currently expects to answer.
    current: u32,
    sent: u32,
    /// The index of the first target that has not been considered.
    next: usize,
    /// The delay of the hedge until it is sent.
    hedge: Option<Duration>,
    hedge_at: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
    error: Option<ModelError>,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
}

enum Phase {
    New,
    Racing,
    Won(Generation),
    Ended,
}

/// One request.
struct Attempt {
    number: u32,
    target: Arc<Target>,
    trial: Trial,
    events: Generation,
    /// The events before the first text or tool call. Only those of the winner are passed on.
    held: Vec<Result<ModelEvent, ModelError>>,
    patience_ends: Option<Instant>,
}

impl Race {
    pub fn new(model: FallbackModel, request: ModelRequest) -> Self {
        Self {
            hedge: model.hedge,
            model,
            request,
            phase: Phase::New,
            running: Vec::new(),
            current: 0,
            sent: 0,
            next: 0,
            hedge_at: None,
            alarm: None,
            error: None,
            ready: VecDeque::new(),
        }
    }

    fn start(&mut self) {
        // A fallback has at least one target. Without targets, the stream would end without a stop, which is an error.
        self.phase = Phase::Ended;
        let Some((index, trial)) = self.model.admit(0).or_else(|| self.model.force()) else { return };
        self.phase = Phase::Racing;
        let first = self.model.targets.first().cloned();
        self.send(index, trial);
        self.current = self.sent;
        if let Some(first) = first.filter(|_| index > 0) {
            self.switch(&first, "circuitOpen");
        }
    }

    /// Sends the request to a target.
    fn send(&mut self, index: usize, trial: Trial) {
        let Some(target) = self.model.targets.get(index).cloned() else { return };
        let events = target.model.generate(self.request.clone());
        let patience_ends = self.model.patience.map(from_now);
        self.sent += 1;
        self.next = self.next.max(index + 1);
        self.hedge_at = self.hedge.map(from_now);
        self.running.push(Attempt { number: self.sent, target, trial, events, held: Vec::new(), patience_ends });
    }

    /// Sends a second request although the first one has not failed.
    fn send_hedge(&mut self) {
        (self.hedge, self.hedge_at) = (None, None);
        let (index, trial) = match self.model.admit(self.next) {
            Some(admitted) => admitted,
            None => {
                let Some(slow) = self.running.last().map(|attempt| &attempt.target) else { return };
                let same = |target: &Arc<Target>| Arc::ptr_eq(target, slow);
                let Some(index) = self.model.targets.iter().position(same) else { return };
                (index, slow.breaker.force())
            }
        };
        self.send(index, trial);
    }

    /// Reports that a request other than that of `from` is now expected to answer.
    fn switch(&mut self, from: &Target, reason: &'static str) {
        let Some(attempt) = self.running.first() else { return };
        self.current = attempt.number;
        let (from, to) = (from.name.clone(), attempt.target.name.clone());
        self.ready.push_back(Ok(ModelEvent::Switched { from, to, reason }));
    }

    fn win(&mut self, attempt: Attempt, first: ModelEvent) {
        let Attempt { number, target, trial, events, held, .. } = attempt;
        // The other requests are cancelled.
        let others = std::mem::take(&mut self.running);
        if let Some(slow) = others.iter().find(|other| other.number == self.current && number != self.current) {
            let (from, to) = (slow.target.name.clone(), target.name.clone());
            self.ready.push_back(Ok(ModelEvent::Switched { from, to, reason: "hedge" }));
        }
        if trial.succeed() {
            tracing::info!(model = &*target.name, "the model answers again; its circuit breaker is closed");
        }
        self.ready.extend(held);
        self.ready.push_back(Ok(first));
        self.phase = Phase::Won(events);
    }

    /// Gives up a request, and asks `next` if no other request is running.
    fn lose(&mut self, attempt: Attempt, error: ModelError, next: Option<(usize, Trial)>) {
        let Attempt { number, target, trial, held, .. } = attempt;
        let model = &*target.name;
        let is_denied = matches!(error.kind(), Failure::Denied(_));
        if is_denied {
            tracing::error!(model, %error, "the model cannot be used; fix its access");
        } else {
            tracing::warn!(model, %error, "the model failed before its answer");
        }
        let reason = error.kind().word();
        if causes_switch(&error)
            && let Some(pause) = trial.fail(self.model.limits, is_denied)
        {
            tracing::warn!(model, pause_s = pause.as_secs(), "the circuit breaker of the model is open");
        }
        if self.error.as_ref().is_none_or(|known| !known.is_retryable()) {
            self.error = Some(error);
        }
        if let Some((index, trial)) = next.filter(|_| self.running.is_empty()) {
            self.send(index, trial);
        }
        if !self.running.is_empty() {
            if number == self.current {
                self.switch(&target, reason);
            }
            return;
        }
        self.phase = Phase::Ended;
        self.ready.extend(held);
        self.ready.extend(self.error.take().map(Err));
    }

    /// Polls the requests until one answers, fails, or ends.
    fn poll_running(&mut self, context: &mut Context<'_>) -> Poll<(usize, Option<Result<ModelEvent, ModelError>>)> {
        let mut has_begun = false;
        for (index, attempt) in self.running.iter_mut().enumerate() {
            take_progress();
            while let Poll::Ready(event) = attempt.events.as_mut().poll_next(context) {
                match event {
                    Some(Ok(event)) if !is_answer(&event) => attempt.held.push(Ok(event)),
                    event => return Poll::Ready((index, event)),
                }
            }
            if take_progress() {
                has_begun = true;
                attempt.patience_ends = None;
            }
        }
        if has_begun {
            // The target has begun to answer, with progress that is not an event yet.
            (self.hedge, self.hedge_at) = (None, None);
            note_progress();
        }
        Poll::Pending
    }

    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        let patience = self.running.iter().filter_map(|attempt| attempt.patience_ends);
        let Some(at) = patience.chain(self.hedge_at).min() else { return Poll::Pending };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if alarm.deadline() != at {
            alarm.as_mut().reset(at);
        }
        alarm.as_mut().poll(context).map(|()| at)
    }

    /// Applies the events and the deadlines of the running requests.
    fn poll_race(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Poll::Ready((index, event)) = self.poll_running(context) {
            let attempt = self.running.remove(index);
            match event {
                Some(Ok(event)) => self.win(attempt, event),
                event => {
                    let error = event.and_then(Result::err);
                    let error = error.unwrap_or_else(|| ModelError::new(Failure::truncated()));
                    let may_switch = causes_switch(&error) && self.running.is_empty();
                    let next = may_switch.then(|| self.model.admit(self.next)).flatten();
                    self.lose(attempt, error, next);
                }
            }
            return Poll::Ready(());
        }
        let now = ready!(self.poll_alarm(context));
        match self.running.iter().position(|attempt| attempt.patience_ends.is_some_and(|ends| ends <= now)) {
            Some(index) => self.lose_patience(index),
            None => self.send_hedge(),
        }
        Poll::Ready(())
    }

    /// Gives up a request that takes too long, unless it is the only one that can answer.
    fn lose_patience(&mut self, index: usize) {
        let mut attempt = self.running.remove(index);
        let next = self.running.is_empty().then(|| self.model.admit(self.next)).flatten();
        if self.running.is_empty() && next.is_none() {
            attempt.patience_ends = None;
            self.running.push(attempt);
            return;
        }
        let after = self.model.patience.unwrap_or_default();
        let failure = Failure::TimedOut { wait: wait::FIRST_TOKEN, after };
        self.lose(attempt, ModelError::new(failure), next);
    }
}

impl Stream for Race {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let race = self.get_mut();
        loop {
            if let Some(event) = race.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            match &mut race.phase {
                Phase::New => race.start(),
                Phase::Racing => ready!(race.poll_race(context)),
                Phase::Won(events) => {
                    let event = ready!(events.as_mut().poll_next(context));
                    if !matches!(event, Some(Ok(_))) {
                        race.phase = Phase::Ended;
                    }
                    return Poll::Ready(event);
                }
                Phase::Ended => return Poll::Ready(None),
            }
        }
    }
}

/// Returns whether the event is a part of the answer. After such an event, the target is not switched any more.
fn is_answer(event: &ModelEvent) -> bool {
    matches!(event, ModelEvent::Text(_) | ModelEvent::ToolCall(_) | ModelEvent::Stop(_))
}

/// Returns whether another target may succeed. Another target would not accept an invalid or refused request either.
fn causes_switch(error: &ModelError) -> bool {
    error.is_retryable() || matches!(error.kind(), Failure::Denied(_))
}
