//! [`LiveCall`]: a live call and what its client has sent and gets.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use verbale::MessageWrapper;
use verbale::call::{CallSession, Played, Reply, ReplyEnd, SpeechId, Utterance};
use verbale::conversation::{CallEvent, ConversationErrorKind, Observer, ToolOutcome};
use verbale::log::{CallId, Durability};
use verbale::message::ToolCall;

use super::outbox::Outbox;
use super::protocol::{ClientEvent, FromClient, ServerEvent};
use super::tools::{ClientTools, output};

/// The prefix of a message's custom data that names the client's message with its words.
const EVENT: &str = "event:";
/// Why a report of a player changes nothing. It may be of a speech before the server was restarted.
const NO_SPEECH: &str = "this instance of the call has no such speech, or had it too long ago";
/// A player reports on a speech soon after it.
const MAX_SPEECHES: usize = 256;

/// A live call. It stays when its client is away.
pub struct LiveCall {
    pub session: Arc<CallSession>,
    pub instance: String,
    pub outbox: Arc<Outbox>,
    pub tools: Arc<ClientTools>,
    state: Arc<Mutex<State>>,
    /// The number of the newest connection.
    connection: watch::Sender<u64>,
}

/// What the call knows of its client's messages.
#[derive(Default)]
pub struct State {
    seen: HashSet<String>,
    /// The messages that the log has not stored yet, as far as is known.
    unstored: Vec<String>,
    speeches: HashMap<String, SpeechId>,
    /// Their names, oldest first.
    names: VecDeque<String>,
}

/// Passes the events of a call on to its client.
pub struct Events {
    pub outbox: Arc<Outbox>,
    pub state: Arc<Mutex<State>>,
}

impl LiveCall {
    pub fn new(session: Arc<CallSession>, instance: String, events: &Events, tools: Arc<ClientTools>) -> Self {
        let (outbox, state) = (events.outbox.clone(), events.state.clone());
        // The log has the ids of the messages that an earlier process got.
        let seen = session.conversation().read(|manager| {
            let all = manager.meta_messages().iter().map(MessageWrapper::message);
            let keys = all.flat_map(|message| message.metadata().aux().iter().map(|(key, _)| key));
            keys.filter_map(|key| key.strip_prefix(EVENT)).map(str::to_owned).collect::<Vec<_>>()
        });
        lock(&state).seen.extend(seen);
        Self { session, instance, outbox, tools, state, connection: watch::Sender::new(0) }
    }

    /// Makes a connection the one of the call, in place of the one before. Returns its number, and the newest one.
    pub fn connect(&self) -> (u64, watch::Receiver<u64>) {
        let mut number = 0;
        self.connection.send_modify(|newest| {
            *newest += 1;
            number = *newest;
        });
        (number, self.connection.subscribe())
    }

    /// Carries out a message of the client. Returns the reason if it ends the call.
    pub fn receive(self: &Arc<Self>, FromClient { event_id, event }: FromClient) -> Option<String> {
        if let Some(id) = &event_id
            && !self.state().seen.insert(id.clone())
        {
            self.accepted(event_id, "the message was received before");
            return None;
        }
        if let ClientEvent::Close { reason } = event {
            self.accepted(event_id, "applied");
            return Some(reason.unwrap_or_else(|| "hangup".to_owned()));
        }
        match self.carry_out(event_id.as_deref(), event) {
            Ok(effect) => {
                if let Some(id) = event_id.clone() {
                    self.state().unstored.push(id);
                }
                self.accepted(event_id, &effect);
            }
            Err(error) => self.outbox.push(&ServerEvent::Refused { event_id, error }),
        }
        None
    }

    fn carry_out(self: &Arc<Self>, event_id: Option<&str>, event: ClientEvent) -> Result<String, String> {
        let (session, now_ms) = (&self.session, self.session.now_ms());
        let effect = match event {
            ClientEvent::Start(_) => {
                return Err("the call has started; `start` is the first message of a socket".to_owned());
            }
            ClientEvent::CallerStarted { at_ms } => session.caller_started_speaking(at_ms.unwrap_or(now_ms)),
            ClientEvent::CallerSaid { text, confidence, started_ms, ended_ms, reply } => {
                let mut words = Utterance::new(text);
                if let Some(started_ms) = started_ms {
                    words = words.with_times(started_ms, ended_ms.unwrap_or(now_ms));
                }
                if let Some(confidence) = confidence {
                    words = words.with_confidence(confidence);
                }
                if let Some(id) = event_id {
                    words = words.with_data(format!("{EVENT}{id}"), true);
                }
                let effect = session.caller_said(words).map_err(|error| error.to_string())?;
                if reply && effect.is_applied() {
                    self.answer();
                }
                effect
            }
            ClientEvent::Reply {} => return Ok(self.answer().to_owned()),
            ClientEvent::Say { text } => {
                self.say(text)?;
                return Ok("applied".to_owned());
            }
            ClientEvent::PlaybackStarted { speech, at_ms } => {
                let Some(speech) = self.speech(&speech) else { return Ok(NO_SPEECH.to_owned()) };
                session.playback_started(speech, at_ms.unwrap_or(now_ms))
            }
            ClientEvent::PlaybackFinished { speech, at_ms } => {
                let Some(speech) = self.speech(&speech) else { return Ok(NO_SPEECH.to_owned()) };
                session.playback_finished(speech, at_ms.unwrap_or(now_ms))
            }
            ClientEvent::PlaybackInterrupted { speech, words, played_ms, total_ms, at_ms } => {
                let played = match (words, played_ms) {
                    (Some(words), _) => Played::Words(words),
                    (None, Some(played_ms)) => Played::For { played_ms, total_ms },
                    (None, None) => Played::Unknown,
                };
                let Some(speech) = self.speech(&speech) else { return Ok(NO_SPEECH.to_owned()) };
                session.playback_interrupted(speech, played, at_ms.unwrap_or(now_ms))
            }
            ClientEvent::ToolResult { tool_call_id, not_found, output: value, error } => {
                let Some(output) = self.tools.finish(&tool_call_id, output(value, error, not_found)?) else {
                    return Ok("applied".to_owned());
                };
                // The call was made by another process, or its time is over.
                let call = self.tool_call(&tool_call_id).ok_or("the call has no such tool call")?;
                session.tool_result(match output {
                    Ok(None) => return Ok("no call waits for this result".to_owned()),
                    Ok(Some(contents)) => call.success(contents),
                    Err(error) => call.failure(error),
                })
            }
            ClientEvent::Close { .. } => return Ok("applied".to_owned()),
        };
        Ok(effect.to_string())
    }

    /// Tells the client that the call has ended, and whether the log has all of its messages.
    pub fn end(&self, reason: &str, is_resumable: bool, is_stored: bool) {
        if is_stored {
            self.outbox.stored(std::mem::take(&mut self.state().unstored));
        }
        self.outbox.push(&ServerEvent::Ended { reason: reason.to_owned(), is_resumable });
    }

    /// Says a fixed sentence.
    pub fn say(&self, text: String) -> Result<(), String> {
        let speech = self.session.say(text.as_str()).map_err(|error| error.to_string())?;
        let speech = self.name(speech);
        self.outbox.push(&ServerEvent::Said { speech, text });
        Ok(())
    }

    /// Starts an answer. Returns what came of it.
    pub fn answer(self: &Arc<Self>) -> &'static str {
        let reply = match self.session.reply() {
            Ok(reply) => reply,
            Err(error) if error.kind() == ConversationErrorKind::NothingToAnswer => return "there is nothing to answer",
            Err(error) if error.kind() == ConversationErrorKind::InUse => return "an answer is running",
            Err(_) => return "the call is closed",
        };
        let (outbox, speech) = (self.outbox.clone(), self.name(reply.speech()));
        let call = Arc::downgrade(self);
        tokio::spawn(async move {
            let end = pass_on(reply, &speech, &outbox).await;
            outbox.push(&ServerEvent::ReplyEnded { speech, end });
            // Words that came while the answer was running.
            if let Some(call) = call.upgrade().filter(|_| end == "complete") {
                call.answer_new_words();
            }
        });
        "applied"
    }

    /// Answers words of the caller that came during the answer. A late result of a tool waits for the client.
    fn answer_new_words(self: &Arc<Self>) {
        let has_words = self.session.conversation().read(|manager| {
            let last = manager.meta_messages().last().map(MessageWrapper::message);
            last.is_some_and(|message| {
                message.role() == verbale::Role::User && message.contents().texts().next().is_some()
            })
        });
        if has_words {
            self.answer();
        }
    }

    fn accepted(&self, event_id: Option<String>, effect: &str) {
        if let Some(event_id) = event_id {
            self.outbox.push(&ServerEvent::Accepted { event_id, effect: effect.to_owned() });
        }
    }

    fn speech(&self, name: &str) -> Option<SpeechId> {
        self.state().speeches.get(name).copied()
    }

    /// Names a speech for the client. Another instance of the call has other names.
    fn name(&self, speech: SpeechId) -> String {
        let name = format!("{}.{speech}", self.instance);
        let mut state = self.state();
        state.speeches.insert(name.clone(), speech);
        state.names.push_back(name.clone());
        if state.names.len() > MAX_SPEECHES
            && let Some(oldest) = state.names.pop_front()
        {
            state.speeches.remove(&oldest);
        }
        name
    }

    fn tool_call(&self, id: &str) -> Option<ToolCall> {
        self.session.conversation().read(|manager| {
            let messages = manager.meta_messages().iter().map(MessageWrapper::message);
            let mut calls =
                messages.flat_map(|message| message.contents().iter()).filter_map(|content| content.as_tool_call());
            calls.find(|call| call.id().as_str() == id).cloned()
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Passes the sentences of an answer on. Returns a word for its end.
async fn pass_on(mut reply: Reply, speech: &str, outbox: &Outbox) -> &'static str {
    while let Some(text) = reply.next_sentence().await {
        outbox.push(&ServerEvent::Sentence { speech: speech.to_owned(), text });
    }
    match reply.end() {
        Some(ReplyEnd::Complete(_)) => "complete",
        Some(ReplyEnd::Failed(_)) => "failed",
        Some(ReplyEnd::AskedToRepeat) => "asked_to_repeat",
        _ => "interrupted",
    }
}

impl Observer for Events {
    fn observe(&self, _: &CallId, event: &CallEvent) {
        let event = match event {
            CallEvent::BargedIn => ServerEvent::BargedIn {},
            CallEvent::ResultReady { id } => ServerEvent::ResultReady { tool_call_id: id.to_string() },
            CallEvent::ToolFinished { id, outcome, .. } => {
                let outcome = match outcome {
                    ToolOutcome::Succeeded => "succeeded",
                    ToolOutcome::Unknown => "unknown",
                    _ => "failed",
                };
                ServerEvent::ToolFinished { tool_call_id: id.to_string(), outcome }
            }
            CallEvent::SummaryEnded { .. } => ServerEvent::Summarized {},
            CallEvent::LogLevel { durability } => {
                if *durability == Durability::Stored {
                    self.outbox.stored(std::mem::take(&mut lock(&self.state).unstored));
                }
                let level = match durability {
                    Durability::Stored => "stored",
                    Durability::Spooled => "spooled",
                    _ => "accepted",
                };
                ServerEvent::LogLevel { level }
            }
            _ => return,
        };
        self.outbox.push(&event);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
