//! [`Answer`]: one request, from its first poll to the last event of its answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::operation::RequestId;
use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::primitives::event_stream::EventReceiver;
use aws_sdk_bedrockruntime::types::ConverseStreamOutput as Event;
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError as Exception;
use tokio::time::{Instant, timeout_at};

use super::Purpose;
use super::failure::{of_send, of_stream};
use super::prepare::prepare;
use super::reading::Reading;
use super::send;
use super::settings::BedrockSettings;
use crate::clock::from_now;
use crate::model::{Failure, ModelError, ModelEvent, ModelRequest, Wait};

/// How long the usage, and the end that lets the connection be used again, may take behind the stop.
const USAGE_WAIT: Duration = Duration::from_millis(500);

/// One request and its answer. It does nothing but in [`next`](Self::next), and dropping it cancels the request.
pub(super) struct Answer {
    client: Client,
    settings: Arc<BedrockSettings>,
    purpose: Purpose,
    reading: Reading,
    whole: Instant,
    state: State,
}

enum State {
    Asked(ModelRequest),
    Prepared(Box<ConverseInput>),
    Streaming(Box<Streaming>),
    /// Behind the stop: only the usage may come.
    Stopped(Box<Streaming>),
    /// The answer is here as a whole.
    Telling(VecDeque<ModelEvent>),
    Ended,
}

struct Streaming {
    receiver: EventReceiver<Event, Exception>,
    /// Until the first piece is here.
    first: Until,
    request_id: Option<String>,
}

/// What comes of a step: an event or none, and the state behind it.
type Step = Result<(Option<ModelEvent>, State), ModelError>;

impl Answer {
    pub(super) fn new(client: Client, settings: Arc<BedrockSettings>, purpose: Purpose, request: ModelRequest) -> Self {
        let whole = Instant::now();
        Self { client, settings, purpose, reading: Reading::default(), whole, state: State::Asked(request) }
    }

    /// The next event; `None` behind the last one or an error.
    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let step = match std::mem::replace(&mut self.state, State::Ended) {
                State::Asked(request) => self.prepare(request),
                State::Prepared(input) => self.send(*input).await,
                State::Streaming(stream) => self.receive(stream).await,
                State::Stopped(receiver) => Ok(self.receive_usage(receiver).await),
                State::Telling(mut events) => match events.pop_front() {
                    Some(event) => Ok((Some(event), State::Telling(events))),
                    None => return None,
                },
                State::Ended => return None,
            };
            match step {
                Ok((event, state)) => {
                    self.state = state;
                    if let Some(event) = event {
                        return Some(Ok(event));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn prepare(&mut self, request: ModelRequest) -> Step {
        self.whole = from_now(self.settings.deadlines.whole_answer);
        let caches = self.purpose == Purpose::Turns;
        let (input, repairs) = prepare(request, &self.settings, caches).map_err(|failure| self.failed(failure))?;
        let state = State::Prepared(Box::new(input));
        if repairs.is_empty() {
            return Ok((None, state));
        }
        for repair in &repairs {
            tracing::debug!(%repair, "a request to the model was repaired");
        }
        Ok((Some(ModelEvent::Repaired(repairs)), state))
    }

    async fn send(&mut self, input: ConverseInput) -> Step {
        let has_tools = input.tool_config.is_some();
        if self.purpose == Purpose::Summaries || has_tools && !self.settings.profile.tools_while_streaming {
            return self.send_for_whole(input).await;
        }
        let first = self.until(Wait::FirstToken);
        let sent = first.bound(send::for_stream(&self.client, input)).await.map_err(|failure| self.failed(failure))?;
        let output = sent.map_err(|error| of_send(error, self.reading.received(), first.waited()))?;
        let request_id = output.request_id().map(str::to_owned);
        Ok((None, State::Streaming(Box::new(Streaming { receiver: output.stream, first, request_id }))))
    }

    async fn send_for_whole(&mut self, input: ConverseInput) -> Step {
        let until = self.until(Wait::WholeAnswer);
        let sent = until.bound(send::for_whole(&self.client, input)).await.map_err(|failure| self.failed(failure))?;
        let output = sent.map_err(|error| of_send(error, self.reading.received(), until.waited()))?;
        let events = self.reading.read_whole(output).map_err(|failure| self.failed(failure))?;
        Ok((None, State::Telling(events.into())))
    }

    async fn receive(&mut self, mut stream: Box<Streaming>) -> Step {
        // From being asked on: what the reader does between two pieces is not the model's time.
        let until = if self.reading.has_begun() { self.until(Wait::NextEvent) } else { stream.first };
        let received = until.bound(stream.receiver.recv()).await.map_err(|failure| self.failed(failure))?;
        let event =
            received.map_err(|error| of_stream(error, self.reading.received(), stream.request_id.as_deref()))?;
        let event = event.ok_or_else(|| self.failed(Failure::Truncated))?;
        let event = self.reading.read(event).map_err(|failure| self.failed(failure))?;
        let is_stop = matches!(event, Some(ModelEvent::Stop(_)));
        Ok((event, if is_stop { State::Stopped(stream) } else { State::Streaming(stream) }))
    }

    /// The answer is whole: what goes wrong now costs the usage at most.
    async fn receive_usage(&mut self, mut stream: Box<Streaming>) -> (Option<ModelEvent>, State) {
        let until = self.whole.min(from_now(USAGE_WAIT));
        let mut usage = None;
        while let Ok(Ok(Some(event))) = timeout_at(until, stream.receiver.recv()).await {
            if let Ok(Some(tokens @ ModelEvent::Usage(_))) = self.reading.read(event) {
                usage = Some(tokens);
            }
        }
        if usage.is_none() {
            tracing::debug!("the answer of the model came without its usage");
        }
        (usage, State::Ended)
    }

    /// From now on.
    fn until(&self, wait: Wait) -> Until {
        let deadlines = &self.settings.deadlines;
        let after = match wait {
            Wait::NextEvent => deadlines.between_events,
            Wait::Connection | Wait::FirstToken => deadlines.first_token,
            Wait::WholeAnswer => deadlines.whole_answer,
        };
        let (from, at) = (Instant::now(), from_now(after));
        if wait == Wait::WholeAnswer || at >= self.whole {
            return Until { from, at: self.whole, wait: Wait::WholeAnswer, after: deadlines.whole_answer };
        }
        Until { from, at, wait, after }
    }

    fn failed(&self, failure: Failure) -> ModelError {
        ModelError::new(failure, self.reading.received())
    }
}

/// A deadline, and what is told when it has passed.
#[derive(Clone, Copy)]
struct Until {
    from: Instant,
    at: Instant,
    wait: Wait,
    after: Duration,
}

impl Until {
    async fn bound<T>(self, future: impl Future<Output = T>) -> Result<T, Failure> {
        timeout_at(self.at, future).await.map_err(|_| Failure::TimedOut { wait: self.wait, after: self.after })
    }

    fn waited(self) -> Duration {
        self.from.elapsed()
    }
}
