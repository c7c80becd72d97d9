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
use super::failure::{send_error, sent_refusal, stream_error, streamed_refusal};
use super::prepare::prepare;
use super::reader::AnswerReader;
use super::refused::Refused;
use super::send;
use super::settings::BedrockSettings;
use crate::bedrock::profile::Remedy;
use crate::clock::from_now;
use crate::model::{Failure, ModelError, ModelEvent, ModelRequest};

/// The maximum time from the stop to the usage and the end of the stream. If it passes, the connection is not reused.
const USAGE_TIMEOUT: Duration = Duration::from_millis(500);

/// A request and its answer. It works only while [`next`](Self::next) is polled; dropping it cancels the request.
pub(super) struct Answer {
    client: Client,
    settings: Arc<BedrockSettings>,
    purpose: Purpose,
    reader: AnswerReader,
    /// The request, while it may be sent again.
    request: Option<ModelRequest>,
    /// Events that were not returned yet.
    events: VecDeque<ModelEvent>,
    state: State,
}

enum State {
    New,
    Prepared(Box<ConverseInput>, Remedy),
    Streaming(Box<Streaming>),
    /// The model has stopped. Only the usage may follow.
    Stopped(Box<Streaming>),
    Ended,
}

struct Streaming {
    receiver: EventReceiver<Event, Exception>,
    request_id: Option<String>,
}

type Step = Result<State, ModelError>;

impl Answer {
    pub(super) fn new(client: Client, settings: Arc<BedrockSettings>, purpose: Purpose, request: ModelRequest) -> Self {
        Self {
            client,
            settings,
            purpose,
            reader: AnswerReader::default(),
            request: Some(request),
            events: VecDeque::new(),
            state: State::New,
        }
    }

    /// Returns the next event, or `None` after the last event or an error.
    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            let step = match std::mem::replace(&mut self.state, State::Ended) {
                State::New => self.prepare(),
                State::Prepared(input, remedy) => self.send(*input, remedy).await,
                State::Streaming(stream) => self.receive(stream).await,
                State::Stopped(stream) => Ok(self.receive_usage(stream).await),
                State::Ended => return None,
            };
            match step {
                Ok(state) => self.state = state,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn prepare(&mut self) -> Step {
        let Some(request) = &self.request else { return Ok(State::Ended) };
        let caches = self.purpose == Purpose::Turns;
        let (input, repairs) =
            prepare(request, &self.settings, caches, Remedy::None).map_err(|failure| self.error(failure))?;
        for repair in &repairs {
            tracing::debug!(%repair, "repaired a request to the model");
        }
        self.events.extend((!repairs.is_empty()).then_some(ModelEvent::Repaired(repairs)));
        Ok(State::Prepared(Box::new(input), Remedy::None))
    }

    async fn send(&mut self, input: ConverseInput, remedy: Remedy) -> Step {
        let has_tools = input.tool_config.is_some();
        let is_whole = self.purpose == Purpose::Summaries
            || remedy == Remedy::WithoutStreaming
            || has_tools && !self.settings.profile.streams_with_tools;
        if is_whole {
            return self.converse(input).await;
        }
        let start = Instant::now();
        let sent = send::converse_stream(&self.client, input, self.settings.guardrail.clone()).await;
        match sent {
            Ok(output) => {
                let request_id = output.request_id().map(str::to_owned);
                Ok(State::Streaming(Box::new(Streaming { receiver: output.stream, request_id })))
            }
            Err(error) => {
                let refused = sent_refusal(&error);
                let error = send_error(error, self.reader.received(), start.elapsed());
                self.send_again(refused, error)
            }
        }
    }

    async fn converse(&mut self, input: ConverseInput) -> Step {
        let start = Instant::now();
        match send::converse(&self.client, input).await {
            Ok(output) => {
                let events = self.reader.read_whole(output).map_err(|failure| self.error(failure))?;
                self.events.extend(events);
                Ok(State::Ended)
            }
            Err(error) => {
                let refused = sent_refusal(&error);
                let error = send_error(error, self.reader.received(), start.elapsed());
                self.send_again(refused, error)
            }
        }
    }

    async fn receive(&mut self, mut stream: Box<Streaming>) -> Step {
        let received = match stream.receiver.recv().await {
            Ok(received) => received,
            Err(error) => {
                let refused = streamed_refusal(&error).filter(|_| !self.reader.has_begun());
                let error = stream_error(error, self.reader.received(), stream.request_id.as_deref());
                return self.send_again(refused, error);
            }
        };
        let event = received.ok_or_else(|| self.error(Failure::truncated()))?;
        let events = self.reader.read(event).map_err(|failure| self.error(failure))?;
        if self.reader.has_begun() {
            self.request = None;
        }
        let is_stopped = events.iter().any(|event| matches!(event, ModelEvent::Stop(_)));
        self.events.extend(events);
        Ok(if is_stopped { State::Stopped(stream) } else { State::Streaming(stream) })
    }

    /// Prepares a refused request once more, in a form that the model may accept.
    ///
    /// Returns `error` if there is no other form, or if the request was already sent twice.
    fn send_again(&mut self, refused: Option<Refused>, error: ModelError) -> Step {
        let Some((refused, request)) = refused.zip(self.request.take()) else { return Err(error) };
        let Some(remedy) = refused.remedy(&request) else { return Err(error) };
        let caches = self.purpose == Purpose::Turns && remedy != Remedy::WithoutCachePoints;
        let Ok((input, _)) = prepare(&request, &self.settings, caches, remedy) else { return Err(error) };
        let message = refused.redacted(&request);
        tracing::warn!(
            model_id = self.settings.model_id,
            %error,
            refusal = message,
            ?remedy,
            "Bedrock refused the request; it is sent once more in another form"
        );
        self.events.push_back(ModelEvent::Repaired(vec![refused.repair(remedy, &message)]));
        Ok(State::Prepared(Box::new(input), remedy))
    }

    /// Receives the usage. The answer is complete, so a failure here loses only the usage.
    async fn receive_usage(&mut self, mut stream: Box<Streaming>) -> State {
        let deadline = from_now(USAGE_TIMEOUT);
        let mut usage = None;
        while let Ok(Ok(Some(event))) = timeout_at(deadline, stream.receiver.recv()).await {
            let events = self.reader.read(event).unwrap_or_default();
            usage = events.into_iter().find(|event| matches!(event, ModelEvent::Usage(_))).or(usage);
        }
        if usage.is_none() {
            tracing::debug!("the answer of the model arrived without its usage");
        }
        self.events.extend(usage);
        State::Ended
    }

    fn error(&self, failure: Failure) -> ModelError {
        ModelError::after(failure, self.reader.received())
    }
}
