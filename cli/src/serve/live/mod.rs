//! [`LiveCall`]: a live call and what its client has sent and gets.

mod answers;
mod stored;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use verbale::MessageWrapper;
use verbale::call::{CallSession, Played, SpeechId, Utterance};
use verbale::message::ToolCall;

use crate::serve::changes::Changes;
use crate::serve::chat::Chat;
use crate::serve::events::Events;
use crate::serve::outbox::Outbox;
use crate::serve::pages::Seen;
use crate::serve::protocol::{ClientEvent, FromClient, ServerEvent};
use crate::serve::tools::{ClientTools, output};

/// The prefix of a message's custom data that names the client's message with its words.
const EVENT: &str = "event:";
/// The effect of a message that took effect, as the library names it.
const APPLIED: &str = "applied";
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
    pub changes: Arc<Changes>,
    pub seen: Seen,
    /// The messages that a client of `/v1/chat/completions` has of the call.
    chat: Mutex<Chat>,
    state: Mutex<State>,
    /// The time of the last message or request.
    used: Mutex<Instant>,
    /// The number of the newest connection.
    connection: watch::Sender<u64>,
    /// Held by the connection of a telephone, so that the next one begins after its last report.
    pub line: Arc<tokio::sync::Mutex<()>>,
}

/// The client's messages, as far as the call knows them.
#[derive(Default)]
struct State {
    seen: HashSet<String>,
    /// The messages that the log has not stored yet, as far as is known.
    unstored: Vec<String>,
    /// Whether the call is being closed, so that it may ignore messages.
    is_closing: bool,
    speeches: HashMap<String, SpeechId>,
    /// Their names, oldest first.
    names: VecDeque<String>,
    /// The newest answer.
    answer: Option<Passing>,
}

/// An answer that is passed on to the client.
struct Passing {
    speech: String,
    task: AbortHandle,
    is_stopped: bool,
}

impl LiveCall {
    pub fn new(session: Arc<CallSession>, instance: String, events: &Events, tools: Arc<ClientTools>) -> Self {
        // The log has the ids of the messages that an earlier process got.
        let seen: HashSet<String> = session.conversation().read(|manager| {
            let all = manager.meta_messages().iter().map(MessageWrapper::message);
            let keys = all.flat_map(|message| message.metadata().aux().iter().map(|(key, _)| key));
            keys.filter_map(|key| key.strip_prefix(EVENT)).map(str::to_owned).collect()
        });
        let connection = watch::Sender::new(0);
        Self {
            session,
            instance,
            outbox: events.outbox.clone(),
            tools,
            changes: events.changes.clone(),
            seen: Seen::default(),
            chat: Mutex::default(),
            state: Mutex::new(State { seen, ..State::default() }),
            used: Mutex::new(Instant::now()),
            connection,
            line: Arc::default(),
        }
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
        let reason = match &event {
            ClientEvent::Close { reason } => Some(reason.clone().unwrap_or_else(|| "hangup".to_owned())),
            _ => None,
        };
        match self.apply(event_id.as_deref(), event) {
            Ok(effect) => self.accepted(event_id, &effect),
            Err(error) => self.outbox.push(&ServerEvent::Refused { event_id, error }),
        }
        reason
    }

    /// Carries out an event, once for each id. Returns its effect, or why it cannot be carried out.
    pub fn apply(self: &Arc<Self>, event_id: Option<&str>, event: ClientEvent) -> Result<String, String> {
        if let Some(id) = event_id
            && !self.state().seen.insert(id.to_owned())
        {
            return Ok("the message was received before".to_owned());
        }
        self.touch();
        let effect = self.carry_out(event_id, event)?;
        let mut state = self.state();
        // The next server gets what came too late for this one.
        if effect == APPLIED || !state.is_closing {
            state.unstored.extend(event_id.map(str::to_owned));
        }
        drop(state);
        self.changes.note();
        self.tell_stored();
        Ok(effect)
    }

    /// Returns what a client of `/v1/chat/completions` has of the call.
    pub fn chat(&self) -> MutexGuard<'_, Chat> {
        self.chat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the call is used.
    pub fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns whether the call was not used for this long, and is not answering.
    pub fn is_idle(&self, limit: Duration) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > limit && !self.is_answering()
    }

    /// Returns whether the call has an event with this id.
    pub fn has_seen(&self, event_id: &str) -> bool {
        self.state().seen.contains(event_id)
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
                    // An answer that is running is interrupted by the words.
                    let _ = self.answer();
                }
                effect
            }
            ClientEvent::Reply {} => {
                return Ok(self.answer().map_or_else(str::to_owned, |_| APPLIED.to_owned()));
            }
            ClientEvent::Say { text } => {
                self.say(text)?;
                return Ok(APPLIED.to_owned());
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
                    return Ok(APPLIED.to_owned());
                };
                // The call was made by another process, or its time is over.
                let call = self.tool_call(&tool_call_id).ok_or("the call has no such tool call")?;
                session.tool_result(match output {
                    Ok(None) => return Ok("no call waits for this result".to_owned()),
                    Ok(Some(contents)) => call.success(contents),
                    Err(error) => call.failure(error),
                })
            }
            ClientEvent::Close { .. } => return Ok(APPLIED.to_owned()),
        };
        Ok(effect.to_string())
    }

    /// Says a fixed sentence. Returns the name of its speech.
    pub fn say(&self, text: String) -> Result<String, String> {
        let speech = self.session.say(text.as_str()).map_err(|error| error.to_string())?;
        let speech = self.name(speech);
        self.outbox.push(&ServerEvent::Said { speech: speech.clone(), text });
        Ok(speech)
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
