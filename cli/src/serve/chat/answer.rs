//! The answer to a request: pieces of text and tool calls, as the call has them, in the form of OpenAI's interface.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use verbale::clock::{Clock, SystemClock};
use verbale::model::Usage;

use super::sync::Asked;
use crate::serve::live::LiveCall;

/// How many pieces may wait for a slow client.
const WAITING: usize = 64;

/// The request of a client.
pub struct Form {
    pub model: String,
    pub has_usage: bool,
}

/// A piece of an answer.
pub enum Piece {
    Text(String),
    ToolCall(Value),
    /// The last piece: the reason, and the tokens of the answer as far as the model has reported them.
    End(&'static str, Usage),
}

/// A message of the call, as far as it matters here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Sent {
    Sentence {
        speech: String,
        text: String,
    },
    ToolCalled {
        tool_call_id: String,
        name: String,
        arguments: Value,
        idempotency_key: String,
    },
    ReplyEnded {
        speech: String,
    },
    Ended {},
    #[serde(other)]
    Other,
}

/// Returns the pieces of an answer. Stops the answer if nobody receives them any more.
pub fn follow(call: Arc<LiveCall>, asked: Asked) -> mpsc::Receiver<Piece> {
    let (sender, pieces) = mpsc::channel(WAITING);
    let follower = Follower { before: used(&call), has_tool_calls: false, call, asked, sender };
    tokio::spawn(follower.run());
    pieces
}

struct Follower {
    call: Arc<LiveCall>,
    asked: Asked,
    sender: mpsc::Sender<Piece>,
    /// The tokens of the call before the answer.
    before: Usage,
    has_tool_calls: bool,
}

impl Follower {
    async fn run(mut self) {
        let Some(speech) = self.asked.speech.clone() else {
            let text = std::mem::take(&mut self.asked.text);
            // The client may be gone.
            let _ = self.sender.send(Piece::Text(text)).await;
            let _ = self.end("stop").await;
            return;
        };
        if self.pass_on(&speech).await.is_none() && self.is_newest() {
            self.call.stop_answer(&speech);
        }
    }

    /// Passes pieces on until the answer ends. Returns `None` if the client is gone.
    async fn pass_on(&mut self, speech: &str) -> Option<()> {
        let mut last = self.call.outbox.watch();
        let mut sent = self.asked.after;
        loop {
            last.mark_unchanged();
            let missed = self.call.outbox.after(sent);
            for message in &missed.messages {
                sent += 1;
                match serde_json::from_str(message).unwrap_or(Sent::Other) {
                    Sent::Sentence { speech: of, text } if of == speech => {
                        self.chat(|chat, asked| chat.note(asked, sent, &text));
                        self.sender.send(Piece::Text(text)).await.ok()?;
                    }
                    Sent::ToolCalled { tool_call_id: id, name, arguments, idempotency_key } => {
                        self.chat(|chat, asked| {
                            chat.tool_calls.insert(id.clone());
                            chat.note(asked, sent, "");
                        });
                        self.has_tool_calls = true;
                        let function = json!({ "name": name, "arguments": arguments.to_string() });
                        let call = json!({
                            "id": id, "type": "function", "function": function, "idempotency_key": idempotency_key,
                        });
                        self.sender.send(Piece::ToolCall(call)).await.ok()?;
                    }
                    Sent::ReplyEnded { speech: of } if of == speech => return self.end("stop").await,
                    Sent::Ended {} => return self.end("stop").await,
                    _ => {}
                }
            }
            // The oldest messages may be gone.
            sent = sent.max(missed.last);
            if self.has_tool_calls && self.client_has_all_tool_calls() {
                self.chat(|chat, asked| chat.note(asked, sent, ""));
                return self.end("tool_calls").await;
            }
            tokio::select! {
                changed = last.changed() => changed.ok()?,
                () = self.sender.closed() => return None,
            }
        }
    }

    async fn end(&self, reason: &'static str) -> Option<()> {
        let (now, before) = (used(&self.call), self.before);
        let mut usage = Usage::default();
        usage.input_tokens = now.input_tokens - before.input_tokens;
        usage.output_tokens = now.output_tokens - before.output_tokens;
        self.sender.send(Piece::End(reason, usage)).await.ok()
    }

    /// Returns whether each call that waits for a result was sent. Calls of one answer start one after another, once the log
    /// has them.
    fn client_has_all_tool_calls(&self) -> bool {
        let open = self.call.session.conversation().open_tool_calls();
        self.chat(|chat, _| open.iter().all(|call| chat.tool_calls.contains(call.id().as_str())))
    }

    fn is_newest(&self) -> bool {
        self.chat(|chat, asked| chat.is_newest(asked))
    }

    fn chat<T>(&self, act: impl FnOnce(&mut super::Chat, &Asked) -> T) -> T {
        act(&mut self.call.chat(), &self.asked)
    }
}

fn used(call: &LiveCall) -> Usage {
    call.session.conversation().metrics().usage
}

/// Returns the answer as Server-Sent Events.
pub fn stream(form: Form, pieces: mpsc::Receiver<Piece>) -> Response {
    let (id, created) = name();
    let first = vec![chunk(&id, created, &form.model, json!({ "role": "assistant", "content": "" }), None)];
    let mut tool_calls = 0;
    let rest = stream::unfold(pieces, |mut pieces| async { pieces.recv().await.map(|piece| (piece, pieces)) });
    let rest = rest.flat_map(move |piece| {
        let chunk = |delta, reason| chunk(&id, created, &form.model, delta, reason);
        stream::iter(match piece {
            Piece::Text(text) => vec![chunk(json!({ "content": text }), None)],
            Piece::ToolCall(call) => {
                let call = with(call, "index", tool_calls);
                tool_calls += 1;
                vec![chunk(json!({ "tool_calls": [call] }), None)]
            }
            Piece::End(reason, used) => {
                let mut last = vec![chunk(json!({}), Some(reason))];
                if form.has_usage {
                    let empty = with(chunk(json!({}), None), "choices", json!([]));
                    last.push(with(empty, "usage", usage(used)));
                }
                last.push(Value::Null);
                last
            }
        })
    });
    let events = stream::iter(first).chain(rest).map(|chunk| {
        let data = if chunk.is_null() { "[DONE]".to_owned() } else { chunk.to_string() };
        Ok::<_, Infallible>(Event::default().data(data))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// Returns the answer as one object.
pub async fn whole(form: Form, mut pieces: mpsc::Receiver<Piece>) -> Response {
    let (id, created) = name();
    let (mut text, mut tool_calls) = (String::new(), Vec::new());
    let (mut reason, mut used) = ("stop", Usage::default());
    while let Some(piece) = pieces.recv().await {
        match piece {
            Piece::Text(more) => text += &more,
            Piece::ToolCall(call) => tool_calls.push(call),
            Piece::End(end, usage) => (reason, used) = (end, usage),
        }
    }
    let content = if text.is_empty() && !tool_calls.is_empty() { Value::Null } else { text.into() };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !tool_calls.is_empty() {
        message = with(message, "tool_calls", tool_calls);
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": reason, "logprobs": null });
    let answer = json!({
        "id": id, "object": "chat.completion", "created": created, "model": form.model, "choices": [choice],
        "usage": usage(used),
    });
    Json(answer).into_response()
}

/// Returns an id for an answer, and its time in seconds.
fn name() -> (String, i64) {
    let now_ms = SystemClock.now_ms();
    (format!("chatcmpl-{}", crate::serve::unique_id(now_ms)), now_ms / 1_000)
}

/// Returns an object with one field more.
fn with(mut object: Value, name: &str, value: impl Into<Value>) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.insert(name.to_owned(), value.into());
    }
    object
}

fn chunk(id: &str, created: i64, model: &str, delta: Value, reason: Option<&str>) -> Value {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason, "logprobs": null });
    json!({ "id": id, "object": "chat.completion.chunk", "created": created, "model": model, "choices": [choice] })
}

fn usage(used: Usage) -> Value {
    json!({
        "prompt_tokens": used.input_tokens, "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
    })
}
