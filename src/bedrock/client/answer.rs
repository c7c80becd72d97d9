//! [`Answer`]: a request, from its first poll to the last event of its answer.

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
use super::failure::{send_error, stream_error};
use super::prepare::prepare;
use super::reader::AnswerReader;
use super::send;
use super::settings::BedrockSettings;
use crate::clock::from_now;
use crate::model::{Failure, ModelError, ModelEvent, ModelRequest, Wait};

/// The time from the stop to the usage and the end of the stream. After it, the connection is not reused.
const USAGE_TIMEOUT: Duration = Duration::from_millis(500);

/// A request and its answer. Only [`next`](Self::next) does work, and dropping it cancels the request.
pub(super) struct Answer {
    client: Client,
    settings: Arc<BedrockSettings>,
    purpose: Purpose,
    reader: AnswerReader,
    end: Instant,
    state: State,
}

enum State {
    New(ModelRequest),
    Prepared(Box<ConverseInput>),
    Streaming(Box<Streaming>),
    /// After the stop. Only the usage may follow.
    Stopped(Box<Streaming>),
    /// The answer arrived in one piece.
    Emitting(VecDeque<ModelEvent>),
    Ended,
}

struct Streaming {
    receiver: EventReceiver<Event, Exception>,
    /// The deadline of the first text or tool call.
    first: Deadline,
    request_id: Option<String>,
}

/// The event of a step, if any, and the next state.
type Step = Result<(Option<ModelEvent>, State), ModelError>;

impl Answer {
    pub(super) fn new(client: Client, settings: Arc<BedrockSettings>, purpose: Purpose, request: ModelRequest) -> Self {
        let end = Instant::now();
        Self { client, settings, purpose, reader: AnswerReader::default(), end, state: State::New(request) }
    }

    /// Returns the next event, or `None` after the last event or an error.
    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let step = match std::mem::replace(&mut self.state, State::Ended) {
                State::New(request) => self.prepare(request),
                State::Prepared(input) => self.send(*input).await,
                State::Streaming(stream) => self.receive(stream).await,
                State::Stopped(receiver) => Ok(self.receive_usage(receiver).await),
                State::Emitting(mut events) => match events.pop_front() {
                    Some(event) => Ok((Some(event), State::Emitting(events))),
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
        self.end = from_now(self.settings.answer_timeout);
        let caches = self.purpose == Purpose::Turns;
        let (input, repairs) = prepare(request, &self.settings, caches).map_err(|failure| self.error(failure))?;
        for repair in &repairs {
            tracing::debug!(%repair, "repaired a request to the model");
        }
        let event = (!repairs.is_empty()).then_some(ModelEvent::Repaired(repairs));
        Ok((event, State::Prepared(Box::new(input))))
    }

    async fn send(&mut self, input: ConverseInput) -> Step {
        let has_tools = input.tool_config.is_some();
        if self.purpose == Purpose::Summaries || has_tools && !self.settings.profile.streams_with_tools {
            return self.converse(input).await;
        }
        let first = self.deadline(Wait::FirstToken);
        let sent = first.run(send::converse_stream(&self.client, input)).await;
        let sent = sent.map_err(|failure| self.error(failure))?;
        let output = sent.map_err(|error| send_error(error, self.reader.received(), first.elapsed()))?;
        let request_id = output.request_id().map(str::to_owned);
        Ok((None, State::Streaming(Box::new(Streaming { receiver: output.stream, first, request_id }))))
    }

    async fn converse(&mut self, input: ConverseInput) -> Step {
        let deadline = self.deadline(Wait::WholeAnswer);
        let sent = deadline.run(send::converse(&self.client, input)).await.map_err(|failure| self.error(failure))?;
        let output = sent.map_err(|error| send_error(error, self.reader.received(), deadline.elapsed()))?;
        let events = self.reader.read_whole(output).map_err(|failure| self.error(failure))?;
        Ok((None, State::Emitting(events.into())))
    }

    async fn receive(&mut self, mut stream: Box<Streaming>) -> Step {
        // The timeout starts here, because the time between two polls is the reader's, not the model's.
        let deadline = if self.reader.has_begun() { self.deadline(Wait::NextEvent) } else { stream.first };
        let received = deadline.run(stream.receiver.recv()).await.map_err(|failure| self.error(failure))?;
        let event =
            received.map_err(|error| stream_error(error, self.reader.received(), stream.request_id.as_deref()))?;
        let event = event.ok_or_else(|| self.error(Failure::Truncated))?;
        let event = self.reader.read(event).map_err(|failure| self.error(failure))?;
        let is_stop = matches!(event, Some(ModelEvent::Stop(_)));
        Ok((event, if is_stop { State::Stopped(stream) } else { State::Streaming(stream) }))
    }

    /// Receives the usage. The answer is complete, so a failure here loses only the usage.
    async fn receive_usage(&mut self, mut stream: Box<Streaming>) -> (Option<ModelEvent>, State) {
        let deadline = self.end.min(from_now(USAGE_TIMEOUT));
        let mut usage = None;
        while let Ok(Ok(Some(event))) = timeout_at(deadline, stream.receiver.recv()).await {
            if let Ok(Some(tokens @ ModelEvent::Usage(_))) = self.reader.read(event) {
                usage = Some(tokens);
            }
        }
        if usage.is_none() {
            tracing::debug!("the answer of the model arrived without its usage");
        }
        (usage, State::Ended)
    }

    /// Returns the deadline of a wait that starts now.
    fn deadline(&self, wait: Wait) -> Deadline {
        let settings = &self.settings;
        let timeout = match wait {
            Wait::NextEvent => settings.event_timeout,
            Wait::Connection | Wait::FirstToken => settings.first_token_timeout,
            Wait::WholeAnswer => settings.answer_timeout,
        };
        let (start, at) = (Instant::now(), from_now(timeout));
        if wait == Wait::WholeAnswer || at >= self.end {
            return Deadline { start, at: self.end, wait: Wait::WholeAnswer, timeout: settings.answer_timeout };
        }
        Deadline { start, at, wait, timeout }
    }

    fn error(&self, failure: Failure) -> ModelError {
        ModelError::new(failure, self.reader.received())
    }
}

/// The end of a wait, and its description in errors.
#[derive(Clone, Copy)]
struct Deadline {
    start: Instant,
    at: Instant,
    wait: Wait,
    timeout: Duration,
}

impl Deadline {
    async fn run<T>(self, future: impl Future<Output = T>) -> Result<T, Failure> {
        timeout_at(self.at, future).await.map_err(|_| Failure::TimedOut { wait: self.wait, after: self.timeout })
    }

    fn elapsed(self) -> Duration {
        self.start.elapsed()
    }
}
