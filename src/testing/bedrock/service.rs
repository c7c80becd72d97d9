//! [`Service`]: answers requests, independent of the transport.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::answer::Answer;
use super::body::Body;
use super::counters::{Tally, Ticket};
use super::exception::Exception;
use super::parse;
use super::reply::ScriptedReply;
use super::request::ReceivedRequest;
use crate::bedrock::{Profile, validate_for};

pub(super) type Responder = Arc<dyn Fn(&ReceivedRequest) -> ScriptedReply + Send + Sync>;

/// The script, and the requests so far.
pub(super) struct Script {
    pub(super) replies: VecDeque<ScriptedReply>,
    pub(super) responder: Responder,
    pub(super) requests: Vec<Arc<ReceivedRequest>>,
    readable: u64,
}

/// The fake without a transport.
pub(super) struct Service {
    script: Mutex<Script>,
    pub(super) tally: Tally,
}

/// The head of a response, and its body.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

impl Service {
    pub(super) fn new(responder: Responder) -> Self {
        let script = Script { replies: VecDeque::new(), responder, requests: Vec::new(), readable: 0 };
        Self { script: Mutex::new(script), tally: Tally::new() }
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers at the scripted time. Dropping the future counts as cancelled by the client.
    pub(super) async fn answer(&self, path: &str, body: Bytes) -> Response {
        let ticket = self.tally.admit();
        let answer = self.decide(path, body);
        match answer.head_after {
            Some(wait) if wait.is_zero() => {}
            Some(wait) => tokio::time::sleep(wait).await,
            None => std::future::pending().await,
        }
        response(answer, ticket)
    }

    fn decide(&self, path: &str, body: Bytes) -> Answer {
        let Some((model_id, is_streaming)) = parse::operation(path) else {
            let message = "FakeBedrock serves only POST /model/{modelId}/converse and /converse-stream.";
            return Answer::error(404, "UnknownOperationException", message);
        };
        let input = match parse::input(model_id, &body) {
            Ok(input) => input,
            Err(unreadable) => return self.refuse(&unreadable.to_string()),
        };
        let mut script = self.script();
        let request = Arc::new(ReceivedRequest::new(script.readable, is_streaming, input, body));
        script.readable += 1;
        script.requests.push(Arc::clone(&request));
        if let Some(refusal) = refusal(&request) {
            return self.refuse(&refusal);
        }
        let (reply, responder) = (script.replies.pop_front(), Arc::clone(&script.responder));
        // The responder may call the fake.
        drop(script);
        Answer::new(&reply.unwrap_or_else(|| responder(&request)), &request)
    }

    fn refuse(&self, message: &str) -> Answer {
        self.tally.count(|counters| counters.refused += 1);
        Answer::error(Exception::VALIDATION.status(), Exception::VALIDATION.name(), message)
    }
}

/// Returns the message with which the model of the request refuses it.
fn refusal(request: &ReceivedRequest) -> Option<String> {
    let profile = Profile::for_model(request.input().model_id().unwrap_or_default());
    if request.is_streaming() && request.input().tool_config().is_some() && !profile.streams_with_tools {
        return Some("This model doesn't support tool use in streaming mode.".to_owned());
    }
    validate_for(request.input(), &profile).first().map(ToString::to_string)
}

fn response(answer: Answer, ticket: Ticket) -> Response {
    let mut headers = vec![
        ("content-type", answer.content_type.to_owned()),
        ("x-amzn-requestid", format!("fake-{}", ticket.number())),
    ];
    headers.extend(answer.error_type.map(|kind| ("x-amzn-errortype", kind.to_owned())));
    Response { status: answer.status, headers, body: Body::new(answer.steps, ticket) }
}
