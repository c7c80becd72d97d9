//! [`ScriptedModel`]: a model that answers from a script.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};

use super::bedrock::{DEFAULT_TEXT, EVENTS_AT_ONCE, Exception, Fault, Refusal, ScriptedReply, events};
use crate::bedrock::{AnswerReader, ErrorResponse};
use crate::model::{Failure, Generation, Model, ModelError, ModelEvent, ModelRequest, Partial, Usage};

/// A model that answers from a script and keeps its requests.
///
/// Each request takes the next [`reply`](Self::reply). If no reply is left, the answer is `Yes, I am here.` The replies
/// are those of [`FakeBedrock`](super::FakeBedrock), with the same events, pace and faults. Unlike a `FakeBedrock`,
/// this model uses no SDK client and does not repair or validate requests. It has no deadlines, so a reply that hangs
/// never ends. All waits use tokio's clock.
///
/// Clones share the script and the requests.
///
/// ```
/// use futures_util::StreamExt;
/// use verbale::model::{Model, ModelEvent, ModelRequest};
/// use verbale::testing::{ScriptedModel, ScriptedReply};
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() {
///     let model = ScriptedModel::default();
///     model.reply(ScriptedReply::text("On Friday.").usage(12, 3));
///     model.reply(ScriptedReply::refused("ThrottlingException"));
///
///     let mut request = ModelRequest::default();
///     request.system.push("You answer the phone.".into());
///     let events: Vec<_> = model.generate(request.clone()).collect().await;
///     assert!(matches!(&events[0], Ok(ModelEvent::Text(text)) if text.as_str() == "On"));
///     let events: Vec<_> = model.generate(request.clone()).collect().await;
///     assert!(matches!(&events[..], [Err(error)] if error.is_retryable()));
///
///     assert_eq!(model.requests(), [request.clone(), request]);
/// }
/// ```
#[derive(Clone, Default)]
pub struct ScriptedModel(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    replies: VecDeque<ScriptedReply>,
    requests: Vec<ModelRequest>,
}

impl ScriptedModel {
    /// Adds the reply to the next request that does not have one yet.
    pub fn reply(&self, reply: ScriptedReply) {
        self.script().replies.push_back(reply);
    }

    /// Returns all requests so far, in the order in which their answers were first polled. An answer that was never
    /// polled has no request and takes no reply.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.script().requests.clone()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, request: ModelRequest) -> Vec<Step> {
        let messages = request.messages.iter().map(|message| message.contents().record_bytes());
        let prompts = request.system.iter().chain(&request.late_system).chain(&request.memory).map(|text| text.len());
        let tools = request.tools.iter().map(|tool| tool.description.len() + tool.input_schema.record_bytes());
        let bytes = messages.chain(prompts).chain(tools).sum();
        let mut script = self.script();
        script.requests.push(request);
        let reply = script.replies.pop_front().unwrap_or_else(|| ScriptedReply::text(DEFAULT_TEXT));
        steps(&reply, bytes)
    }
}

impl Model for ScriptedModel {
    fn generate(&self, request: ModelRequest) -> Generation {
        let model = self.clone();
        let steps = stream::once(async move { stream::iter(model.start(request)) }).flatten();
        Box::pin(steps.filter_map(Step::run).fuse())
    }
}

/// Shows the number of requests, not the words.
impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("requests", &self.script().requests.len()).finish_non_exhaustive()
    }
}

enum Step {
    Wait(Duration),
    Emit(ModelEvent),
    Fail(Failure, Partial),
    Hang,
}

impl Step {
    async fn run(self) -> Option<Result<ModelEvent, ModelError>> {
        match self {
            Self::Wait(wait) => {
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                None
            }
            Self::Emit(event) => Some(Ok(event)),
            Self::Fail(failure, received) => Some(Err(ModelError::after(failure, received))),
            Self::Hang => std::future::pending().await,
        }
    }
}

fn steps(reply: &ScriptedReply, request_bytes: usize) -> Vec<Step> {
    let Some(wait) = reply.begins_after() else { return vec![Step::Hang] };
    let mut steps = vec![Step::Wait(wait)];
    let mut reader = AnswerReader::default();
    if let Some(refusal) = &reply.refusal {
        steps.push(Step::Fail(refused(refusal), Partial::default()));
        return steps;
    }
    let events = events(reply);
    // The usage follows the last of them.
    let count = events.len() + 1;
    let (sound, failure) = match reply.fault {
        None => (count, None),
        Some(Fault::Hang(events)) => (events, None),
        Some(Fault::End(events)) => (events, Some(Failure::truncated())),
        Some(Fault::Cut(events)) => (events.min(count - 1), Some(Failure::Cut)),
        Some(Fault::Malformed(events)) => {
            (events.min(count - 1), Some(Failure::Malformed("an event of the stream".to_owned())))
        }
        Some(Fault::Exception(events, exception)) => (events, Some(raised(exception))),
    };
    let mut is_stopped = false;
    for (number, event) in events.into_iter().take(sound).enumerate() {
        if number >= EVENTS_AT_ONCE {
            steps.push(Step::Wait(reply.between_events));
        }
        match reader.read(event) {
            Ok(events) => {
                is_stopped |= events.iter().any(|event| matches!(event, ModelEvent::Stop(_)));
                steps.extend(events.into_iter().map(Step::Emit));
            }
            Err(failure) => {
                steps.push(Step::Fail(failure, reader.received()));
                return steps;
            }
        }
    }
    if sound >= EVENTS_AT_ONCE && !matches!(reply.fault, Some(Fault::End(_))) {
        steps.push(Step::Wait(reply.between_events));
    }
    if sound >= count {
        let (input, output_tokens, cache_read_tokens, cache_write_tokens) = reply.tokens(request_bytes);
        let input_tokens = input + cache_read_tokens + cache_write_tokens;
        let usage = Usage { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens };
        steps.push(Step::Emit(ModelEvent::Usage(usage)));
    }
    match (failure, reply.fault) {
        // After the stop the answer is complete: a failure loses only the usage.
        (Some(failure), _) if !is_stopped => steps.push(Step::Fail(failure, reader.received())),
        (_, Some(Fault::Hang(_))) => steps.push(Step::Hang),
        _ => {}
    }
    steps
}

fn refused(refusal: &Refusal) -> Failure {
    let (code, status, message) = match refusal {
        Refusal::Exception(exception, message) => (Some(exception.name()), exception.status(), Some(message.as_str())),
        Refusal::BadGateway => (None, 502, None),
    };
    ErrorResponse { code, status: Some(status), message, request_id: None }.failure()
}

/// The failure of an exception within the answer, which has no status.
fn raised(exception: Exception) -> Failure {
    let message = Some(exception.wording());
    ErrorResponse { code: Some(exception.name()), status: None, message, request_id: None }.failure()
}
