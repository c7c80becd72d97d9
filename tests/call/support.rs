//! A scripted model, a clock that follows tokio's, and a call with both.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep};
use verbale::call::{CallBuilder, CallSession, Effect, Reply, ReplyEnd, ReplyEvent, SpeechId};
use verbale::clock::{Clock, SequentialIds};
use verbale::model::{Failure, Generation, Model, ModelError, ModelEvent, ModelRequest, StopReason, Usage};
use verbale::{MessageWrapper, ToolCall, Value};

/// One step of a scripted answer.
#[derive(Debug, Clone)]
pub enum Step {
    Wait(u64),
    Say(&'static str),
    Call(&'static str, &'static str),
    /// A tool call with these arguments, in JSON.
    CallWith(&'static str, &'static str, &'static str),
    /// A tool call whose arguments are not JSON.
    Broken(&'static str, &'static str),
    /// A tool call that is cut off.
    CutCall(&'static str, &'static str),
    Stop(StopReason),
    /// Reports the usage: input tokens in proportion to the request, and these output tokens.
    Use(u64),
    Fail(Failure),
    Hang,
}

/// An answer of one text. Its first word comes after 200 ms, and then one every 10 ms.
pub fn words(text: &'static str) -> Vec<Step> {
    let mut steps = vec![Step::Wait(200)];
    for piece in text.split_inclusive(' ') {
        steps.extend([Step::Say(piece), Step::Wait(10)]);
    }
    steps.extend([Step::Stop(StopReason::EndTurn), Step::Use(10)]);
    steps
}

/// An answer of some words and a tool call.
pub fn calls(text: &'static str, id: &'static str, tool: &'static str) -> Vec<Step> {
    let mut steps = vec![Step::Wait(100)];
    if !text.is_empty() {
        steps.push(Step::Say(text));
    }
    steps.extend([Step::Call(id, tool), Step::Stop(StopReason::ToolUse), Step::Use(10)]);
    steps
}

/// A model that answers by a script, and with `okay` after its end.
#[derive(Clone, Default)]
pub struct Scripted(Arc<Script>);

#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Vec<Step>>>,
    requests: Mutex<Vec<ModelRequest>>,
    cancelled: AtomicUsize,
}

impl Scripted {
    pub fn new(answers: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let model = Self::default();
        model.0.answers.lock().unwrap().extend(answers);
        model
    }

    pub fn requests(&self) -> Vec<ModelRequest> {
        self.0.requests.lock().unwrap().clone()
    }

    /// Returns the number of answers that were dropped before their end.
    pub fn cancelled(&self) -> usize {
        self.0.cancelled.load(Ordering::SeqCst)
    }
}

impl Model for Scripted {
    fn generate(&self, request: ModelRequest) -> Generation {
        let steps = self.0.answers.lock().unwrap().pop_front().unwrap_or_else(|| words("okay"));
        let texts = request.messages.iter().flat_map(|message| message.contents().texts());
        let input_tokens = texts.map(|text| text.len() as u64).sum::<u64>() * 2 / 7 + 50;
        self.0.requests.lock().unwrap().push(request);
        let script = self.0.clone();
        Box::pin(Answer { script, steps: steps.into(), waits: None, input_tokens, has_ended: false })
    }
}

struct Answer {
    script: Arc<Script>,
    steps: VecDeque<Step>,
    waits: Option<Pin<Box<Sleep>>>,
    input_tokens: u64,
    has_ended: bool,
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(wait) = &mut self.waits {
                std::task::ready!(wait.as_mut().poll(context));
                self.waits = None;
            }
            let event = match self.steps.pop_front() {
                None => {
                    self.has_ended = true;
                    return Poll::Ready(None);
                }
                Some(Step::Wait(ms)) => {
                    self.waits = Some(Box::pin(sleep(Duration::from_millis(ms))));
                    continue;
                }
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
                Some(Step::Say(text)) => ModelEvent::Text(text.into()),
                Some(Step::Call(id, tool)) => ModelEvent::ToolCall(ToolCall::new(id, tool, Value::Null).unwrap()),
                Some(Step::CallWith(id, tool, arguments)) => {
                    let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
                    ModelEvent::ToolCall(ToolCall::new(id, tool, arguments).unwrap())
                }
                Some(Step::Broken(id, tool)) => ModelEvent::UnreadableToolCall {
                    id: id.parse().unwrap(),
                    name: tool.parse().unwrap(),
                    reason: Some("expected value at line 1 column 2".into()),
                },
                Some(Step::CutCall(id, tool)) => ModelEvent::UnreadableToolCall {
                    id: id.parse().unwrap(),
                    name: tool.parse().unwrap(),
                    reason: None,
                },
                Some(Step::Stop(reason)) => ModelEvent::Stop(reason),
                Some(Step::Use(output)) => {
                    let mut usage = Usage::default();
                    (usage.input_tokens, usage.output_tokens) = (self.input_tokens, output);
                    ModelEvent::Usage(usage)
                }
                Some(Step::Fail(failure)) => {
                    self.has_ended = true;
                    self.steps.clear();
                    return Poll::Ready(Some(Err(ModelError::new(failure))));
                }
            };
            return Poll::Ready(Some(Ok(event)));
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.has_ended {
            self.script.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Follows tokio's clock, starting at 1,000,000 ms.
#[derive(Debug)]
pub struct TokioClock(pub Instant);

pub const START_MS: i64 = 1_000_000;

impl Clock for TokioClock {
    fn now_ms(&self) -> i64 {
        START_MS + i64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

pub fn builder(model: &Scripted) -> CallBuilder {
    let clock = Arc::new(TokioClock(Instant::now()));
    CallBuilder::new(model.clone()).clock(clock, Arc::new(SequentialIds::default()))
}

pub fn call(model: &Scripted) -> CallSession {
    builder(model).open().unwrap()
}

pub async fn pass(ms: u64) {
    sleep(Duration::from_millis(ms)).await;
}

pub const CLOSED: &str = "the call is closed";
pub const REPEATED: &str = "the event was reported before";
pub const BLANK: &str = "the transcript is blank";
pub const UNKNOWN_SPEECH: &str = "the call has no such speech, or had it too long ago";
pub const STILL_GENERATED: &str = "the reply is running; report the end again after its last word";
pub const SUPERSEDED: &str = "an earlier report about the speech is final or more exact";

/// Returns the reason why an event changed nothing.
pub fn why_ignored(effect: Effect) -> String {
    assert!(!effect.is_applied(), "the event is applied");
    effect.to_string()
}

/// Reads a reply to its end and returns its text.
pub async fn read(mut reply: Reply) -> (String, ReplyEnd) {
    let mut text = String::new();
    while let Some(event) = reply.next().await {
        match event {
            ReplyEvent::Text(piece) => text.push_str(&piece),
            ReplyEvent::Ended(end) => return (text, end),
            _ => {}
        }
    }
    panic!("a reply without an end");
}

/// Adds words of the caller and reads the answer to its end.
pub async fn answer(call: &CallSession, said: &str) -> SpeechId {
    call.caller_said(said).unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    read(reply).await;
    speech
}

/// Adds words of the caller, reads the answer, and plays all of it.
pub async fn turn(call: &CallSession, said: &str) -> (String, SpeechId) {
    call.caller_said(said).unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    let (text, end) = read(reply).await;
    assert!(matches!(end, ReplyEnd::Complete(_)), "{end:?}");
    assert!(call.playback_started(speech, call.now_ms()).is_applied());
    pass(1_000).await;
    assert!(call.playback_finished(speech, call.now_ms()).is_applied());
    (text, speech)
}

/// Returns one line per message of the conversation: role, contents, heard text, marks.
pub fn shown(call: &CallSession) -> Vec<String> {
    call.conversation().read(|manager| manager.meta_messages().iter().map(|wrapper| line(wrapper.message())).collect())
}

/// Returns one line per message of the window.
pub fn window(call: &CallSession) -> Vec<String> {
    call.conversation().read(|manager| manager.messages().map(|wrapper| line(wrapper.message())).collect())
}

pub fn line(message: &verbale::Message) -> String {
    let mut line = message.role().to_string();
    for content in message.contents().iter() {
        match content {
            verbale::Content::Text(text) => line.push_str(&format!(" {:?}", text.as_str())),
            verbale::Content::ToolCall(call) => line.push_str(&format!(" call({})", call.id())),
            verbale::Content::ToolResult(result) => {
                let how = match result.outcome() {
                    Ok(_) => "done".to_owned(),
                    Err(error) => error.error_type().unwrap_or("error").to_owned(),
                };
                line.push_str(&format!(" result({}: {how})", result.tool_call_id()));
            }
            _ => line.push_str(" other"),
        }
    }
    if let Some(heard) = message.heard() {
        let heard_text: String = message.heard_contents().texts().map(|text| text.as_str().to_owned()).collect();
        line.push_str(&format!(" heard {heard_text:?} by {}", heard.source()));
    }
    for mark in message.metadata().attributes().filter(|mark| *mark != verbale::Attribute::Merged) {
        line.push_str(&format!(" {mark}"));
    }
    line
}
