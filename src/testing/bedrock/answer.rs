//! [`Answer`]: the HTTP response to a request, before its body is sent.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::body::Step;
use super::frames;
use super::reply::{Block, Fault, Refusal, ScriptedReply};
use super::request::ReceivedRequest;

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";

/// `messageStart` and the first text or tool call arrive together.
pub(in crate::testing) const EVENTS_AT_ONCE: usize = 2;

/// The head of a response, and the steps of its body.
pub(super) struct Answer {
    /// The time until the head is sent. `None` is never.
    pub(super) head_after: Option<Duration>,
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) error_type: Option<&'static str>,
    pub(super) steps: VecDeque<Step>,
}

impl Answer {
    pub(super) fn new(reply: &ScriptedReply, request: &ReceivedRequest) -> Self {
        let answer = match &reply.refusal {
            Some(Refusal::Exception(exception, message)) => Self::error(exception.status(), exception.name(), message),
            Some(Refusal::BadGateway) => Self::bad_gateway(),
            None if request.is_streaming() => return Self::stream(reply, request),
            None => return Self::whole(reply, request),
        };
        Self { head_after: reply.begins_after(), ..answer }
    }

    pub(super) fn error(status: u16, error_type: &'static str, message: &str) -> Self {
        let body = json!({"message": message}).to_string().into();
        Self { status, error_type: Some(error_type), ..Self::ok(JSON, [Step::Send(body)].into()) }
    }

    fn bad_gateway() -> Self {
        const PAGE: &[u8] = b"<html><body><h1>502 Bad Gateway</h1></body></html>";
        Self { status: 502, ..Self::ok("text/html", [Step::Send(Bytes::from_static(PAGE))].into()) }
    }

    fn stream(reply: &ScriptedReply, request: &ReceivedRequest) -> Self {
        let mut frames = frames::frames(reply);
        let latency = latency(reply, frames.len() + 1);
        frames.push(frames::metadata(&usage(reply, request), latency.as_millis() as u64));
        Self { head_after: reply.begins_after(), ..Self::ok(EVENT_STREAM, steps(frames, reply)) }
    }

    fn whole(reply: &ScriptedReply, request: &ReceivedRequest) -> Self {
        let latency = latency(reply, frames::frames(reply).len() + 1);
        let head_after = reply.begins_after().map(|_| latency);
        let json = json!({
            "output": {"message": {"role": "assistant", "content": reply.blocks.iter().map(content).collect::<Json>()}},
            "stopReason": reply.stop_reason().as_str(),
            "usage": usage(reply, request),
            "metrics": {"latencyMs": latency.as_millis() as u64},
        });
        let whole = Bytes::from(json.to_string());
        let half = Step::Send(whole.slice(..whole.len() / 2));
        let steps: VecDeque<Step> = match reply.fault {
            Some(Fault::Exception(_, exception)) => {
                let error = Self::error(exception.status(), exception.name(), exception.wording());
                return Self { head_after, ..error };
            }
            Some(Fault::Cut(_)) => [half, Step::Flush, Step::Break].into(),
            Some(Fault::End(_) | Fault::Malformed(_)) => [half].into(),
            Some(Fault::Hang(_)) => [Step::Hang].into(),
            None => [Step::Send(whole)].into(),
        };
        Self { head_after, ..Self::ok(JSON, steps) }
    }

    fn ok(content_type: &'static str, steps: VecDeque<Step>) -> Self {
        Self { head_after: Some(Duration::ZERO), status: 200, content_type, error_type: None, steps }
    }
}

/// Returns the steps of the frames at their pace, with the fault.
fn steps(mut frames: Vec<Bytes>, reply: &ScriptedReply) -> VecDeque<Step> {
    let (sound, fault) = fault(&frames, reply.fault);
    frames.truncate(sound);
    let events = frames.into_iter().map(|frame| vec![Step::Send(frame)]).chain([fault]);
    let mut steps = VecDeque::new();
    for (event, of_event) in events.enumerate().filter(|(_, of_event)| !of_event.is_empty()) {
        if event >= EVENTS_AT_ONCE && !reply.between_events.is_zero() {
            steps.push_back(Step::Wait(reply.between_events));
        }
        steps.extend(of_event);
    }
    steps
}

/// Returns the number of sound events, and the steps of the fault after them.
fn fault(frames: &[Bytes], fault: Option<Fault>) -> (usize, Vec<Step>) {
    let of_frame = |events: usize, broken: &dyn Fn(&Bytes) -> Vec<Step>| {
        let event = events.min(frames.len().saturating_sub(1));
        (event, frames.get(event).map(broken).unwrap_or_default())
    };
    match fault {
        None => (frames.len(), Vec::new()),
        Some(Fault::End(events)) => (events, Vec::new()),
        Some(Fault::Hang(events)) => (events, vec![Step::Hang]),
        Some(Fault::Exception(events, exception)) => (events, vec![Step::Send(frames::exception(exception))]),
        Some(Fault::Malformed(events)) => of_frame(events, &|frame| vec![Step::Send(frames::malformed(frame))]),
        Some(Fault::Cut(events)) => {
            of_frame(events, &|frame| vec![Step::Send(frame.slice(..frame.len() / 2)), Step::Flush, Step::Break])
        }
    }
}

/// Returns the duration of a stream of `events` events.
fn latency(reply: &ScriptedReply, events: usize) -> Duration {
    let waits = u32::try_from(events.saturating_sub(EVENTS_AT_ONCE)).unwrap_or(u32::MAX);
    reply.first_token_after.saturating_add(reply.between_events.saturating_mul(waits))
}

fn usage(reply: &ScriptedReply, request: &ReceivedRequest) -> Json {
    let (input, output, read, write) = reply.tokens(request.body().len());
    let total = input + output + read + write;
    let mut usage = json!({"inputTokens": input, "outputTokens": output, "totalTokens": total});
    if let (Some(_), Some(usage)) = (reply.cached, usage.as_object_mut()) {
        usage.insert("cacheReadInputTokens".to_owned(), read.into());
        usage.insert("cacheWriteInputTokens".to_owned(), write.into());
    }
    usage
}

/// Returns a block of an answer in one piece.
fn content(block: &Block) -> Json {
    match block {
        Block::Text(text) => json!({"text": text}),
        Block::ToolCall { id, name, input } => {
            let input = serde_json::from_str(input).unwrap_or_else(|_| Json::from(input.as_str()));
            json!({"toolUse": {"toolUseId": id, "name": name, "input": input}})
        }
    }
}
