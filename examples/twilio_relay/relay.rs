//! [`relay`]: one ConversationRelay connection, from `setup` to its end.
//!
//! Maps Twilio's messages to the methods of the call, and the sentences of a reply to `text` messages:
//! `docs/twilio.md` has the table. Twilio decides what interrupts the assistant, so only `interrupt` and words of the
//! caller are barge-ins. `clientSpeaking` gives the time at which the caller's words began.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use tokio::time::timeout;
use verbale::call::{CallSession, Reply, ReplyEnd, Utterance};
use verbale::log::CallId;

use super::calls::{Line, Signal};
use super::error::{RelayError, on_one_line};
use super::ferry::{BACK, GREETING};
use super::messages::{Incoming, Outgoing, Setup};
use super::playback::Playback;
use super::server::Program;
use super::twiml::HANDED_OVER;

/// How long Twilio may take for its first message, and to accept a message.
const SOCKET_TIMEOUT: Duration = Duration::from_secs(10);

/// A number that a caller types is shorter.
const MAX_DIGITS: usize = 32;

/// The longest pause between two parts of the same words.
const MAX_PAUSE_MS: i64 = 3_000;

/// Why a connection ended.
enum End {
    /// Twilio closed it, or it was lost. The call may get another one.
    Disconnected,
    /// The call was closed.
    Closed,
    /// The call has another connection.
    Replaced,
}

/// Serves a connection, and waits for the next one of the call if it was lost.
pub async fn relay(mut socket: WebSocket, program: Arc<Program>) {
    let Some(setup) = setup(&mut socket).await else { return };
    let Ok(call_id) = CallId::new(setup.call_sid.as_str()) else {
        tracing::warn!("a connection has no valid call id");
        return;
    };
    let mut line = program.calls.lines.connect(&call_id).await;
    let mut connection = match open(socket, &program, &call_id, &setup).await {
        Ok(connection) => connection,
        Err(error) => {
            // Without its socket, Twilio calls the action of `<Connect>`, which connects the call again.
            tracing::error!(%call_id, error = on_one_line(&error), "the call was not opened");
            return;
        }
    };
    tracing::info!(%call_id, "connected");
    let end = connection.run(&mut line).await;
    connection.reply = None;
    match end {
        End::Disconnected => {
            connection.playback.lost(&connection.call);
            drop(connection);
            wait_for_the_next(&mut line, &program).await;
        }
        End::Replaced => connection.playback.lost(&connection.call),
        End::Closed => {
            let reason = if program.is_draining() { HANDED_OVER } else { "closed" };
            let handoff_data = serde_json::json!({ "reason": reason }).to_string();
            // If Twilio is gone, it needs no end.
            let _ = connection.send(&Outgoing::End { handoff_data: &handoff_data }).await;
            let _ = timeout(SOCKET_TIMEOUT, connection.socket.send(Message::Close(None))).await;
        }
    }
    tracing::info!(%call_id, "disconnected");
}

/// Receives the first message.
async fn setup(socket: &mut WebSocket) -> Option<Setup> {
    let first = timeout(SOCKET_TIMEOUT, socket.recv()).await.ok()??.ok()?;
    match Incoming::read(first.to_text().ok()?) {
        Ok(Incoming::Setup(setup)) => Some(setup),
        _ => {
            tracing::warn!("a connection does not begin with `setup`");
            None
        }
    }
}

/// Opens the call, and greets the caller, or continues where the connection before ended.
async fn open(socket: WebSocket, program: &Program, call_id: &CallId, setup: &Setup) -> Result<Connection, RelayError> {
    let hosted = program.calls.open(call_id, setup).await?;
    let call = hosted.session;
    let mut connection = Connection {
        socket,
        call,
        playback: Playback::default(),
        reply: None,
        caller: Caller::default(),
        digits: String::new(),
        has_result: false,
    };
    if !hosted.is_resumed {
        connection.say(GREETING).await?;
    } else if connection.call.is_answerable() {
        connection.answer();
    } else {
        connection.say(BACK).await?;
    }
    Ok(connection)
}

/// Keeps the call for its next connection, and closes it if there is none in time.
async fn wait_for_the_next(line: &mut Line, program: &Program) {
    let no_longer = async {
        while line.signal().await == Signal::ResultReady {
            // The next connection reports the result.
        }
    };
    if timeout(program.grace, no_longer).await.is_err() {
        program.calls.close(line.call_id(), "connection lost").await;
    }
}

/// A connection and the state of the talk on it.
struct Connection {
    socket: WebSocket,
    call: Arc<CallSession>,
    playback: Playback,
    reply: Option<Reply>,
    caller: Caller,
    digits: String,
    /// Whether the model should report a result that came late.
    has_result: bool,
}

/// When the caller spoke, by the events of the speakers. The times are those of arrival, by the call's clock.
#[derive(Default)]
struct Caller {
    started_ms: Option<i64>,
    ended_ms: Option<i64>,
}

impl Caller {
    /// Notes that the caller speaks. After a longer pause, what came before was no words, because they would have come.
    fn start(&mut self, now_ms: i64) {
        let is_old = self.ended_ms.is_some_and(|ended_ms| now_ms.saturating_sub(ended_ms) > MAX_PAUSE_MS);
        let started_ms = self.started_ms.filter(|_| !is_old).unwrap_or(now_ms);
        *self = Self { started_ms: Some(started_ms), ended_ms: None };
    }

    fn is_speaking(&self) -> bool {
        self.started_ms.is_some() && self.ended_ms.is_none()
    }
}

impl Connection {
    async fn run(&mut self, line: &mut Line) -> End {
        loop {
            let result = tokio::select! {
                message = self.socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => self.receive(text.as_str()).await,
                    // The library answers pings.
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => Ok(()),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Disconnected,
                },
                sentence = next_sentence(&mut self.reply) => self.speak(sentence).await,
                signal = line.signal() => match signal {
                    Signal::ResultReady => {
                        self.has_result = true;
                        Ok(())
                    }
                    Signal::Replaced => return End::Replaced,
                    Signal::Closed => return End::Closed,
                },
            };
            if result.is_err() {
                return End::Disconnected;
            }
            self.report_result();
        }
    }

    /// Handles a message of Twilio. Returns an error if the connection is lost.
    async fn receive(&mut self, message: &str) -> Result<(), axum::Error> {
        let message = match Incoming::read(message) {
            Ok(message) => message,
            Err(why) => {
                tracing::warn!(bytes = message.len(), %why, "a message of Twilio is ignored");
                return Ok(());
            }
        };
        match message {
            Incoming::Prompt { text, is_last: true } => self.caller_said(text),
            Incoming::Interrupt { words, played_ms } => {
                self.playback.interrupted(&words, played_ms, &self.call);
                self.caller.start(self.call.now_ms());
            }
            Incoming::Digit('#') if !self.digits.is_empty() => self.caller_said(String::new()),
            Incoming::Digit(digit) if self.digits.len() < MAX_DIGITS => self.digits.push(digit),
            Incoming::AgentSpeaks(is_speaking) => self.playback.agent_speaks(is_speaking, &self.call),
            Incoming::Played(words) => self.playback.played(&words, &self.call),
            Incoming::CallerSpeaks(is_speaking) => self.caller_speaks(is_speaking),
            // The description may quote a message, and so the words of a call.
            Incoming::Error => {
                tracing::warn!(call = ?self.call, "Twilio reports an error; its debugger has the details")
            }
            Incoming::Prompt { is_last: false, .. } | Incoming::Digit(_) => {}
            Incoming::Setup(_) => tracing::warn!("a second `setup` is ignored"),
        }
        Ok(())
    }

    fn caller_speaks(&mut self, is_speaking: bool) {
        let now_ms = self.call.now_ms();
        if !is_speaking {
            self.caller.ended_ms = Some(now_ms);
            return;
        }
        self.caller.start(now_ms);
        // While something is played, Twilio decides whether this is an interruption.
        if !self.playback.is_busy() {
            self.call.caller_started_speaking(now_ms);
        }
    }

    /// Answers the caller's words and typed digits.
    fn caller_said(&mut self, mut words: String) {
        if !self.digits.is_empty() {
            let digits = std::mem::take(&mut self.digits);
            words = format!("(The caller typed {digits} on the keypad.) {words}");
        }
        self.playback.end_before_words(&self.call);
        let utterance = match std::mem::take(&mut self.caller) {
            Caller { started_ms: Some(started_ms), ended_ms } => {
                Utterance::new(words.trim()).with_times(started_ms, ended_ms.unwrap_or(self.call.now_ms()))
            }
            Caller { started_ms: None, .. } => Utterance::new(words.trim()),
        };
        match self.call.caller_said(utterance) {
            Ok(_) => self.answer(),
            Err(error) => tracing::error!(%error, "the conversation refused words of the caller"),
        }
    }

    /// Asks the model, if it has something to answer.
    fn answer(&mut self) {
        if !self.call.is_answerable() {
            return;
        }
        match self.call.reply() {
            Ok(reply) => {
                self.playback.begin(reply.speech());
                self.reply = Some(reply);
                self.has_result = false;
            }
            Err(error) => tracing::error!(error = on_one_line(&error), "there is no reply"),
        }
    }

    /// Reports a result that came late, once nobody speaks.
    fn report_result(&mut self) {
        let nobody_speaks = self.reply.is_none() && !self.playback.is_busy() && !self.caller.is_speaking();
        if self.has_result && nobody_speaks {
            self.has_result = false;
            self.answer();
        }
    }

    /// Sends a sentence of the reply, or its end. After an interruption Twilio drops the rest itself.
    async fn speak(&mut self, sentence: Option<String>) -> Result<(), axum::Error> {
        if let Some(sentence) = sentence {
            self.playback.sent(&sentence);
            return self.send(&Outgoing::Text { token: &sentence, last: false }).await;
        }
        let reply = self.reply.take();
        let end = reply.as_ref().and_then(Reply::end);
        if let Some(ReplyEnd::Failed(failure)) = end {
            let failure = failure.as_ref().map(ToString::to_string);
            tracing::error!(call = ?self.call, failure, "the model did not reply; the caller hears an apology");
        }
        if end != Some(&ReplyEnd::Interrupted) {
            self.send(&Outgoing::Text { token: "", last: true }).await?;
            self.playback.complete(&self.call);
        }
        Ok(())
    }

    /// Says a fixed sentence.
    async fn say(&mut self, sentence: &str) -> Result<(), RelayError> {
        let speech = self.call.say(sentence)?;
        self.playback.begin(speech);
        self.playback.sent(sentence);
        // A lost connection shows when it is read.
        let _ = self.send(&Outgoing::Text { token: sentence, last: true }).await;
        self.playback.complete(&self.call);
        Ok(())
    }

    async fn send(&mut self, message: &Outgoing<'_>) -> Result<(), axum::Error> {
        let text = serde_json::to_string(message).map_err(axum::Error::new)?;
        let sending = timeout(SOCKET_TIMEOUT, self.socket.send(Message::text(text)));
        sending.await.map_err(axum::Error::new)?
    }
}

/// Returns the next sentence of the reply, or `None` at its end. Waits forever without a reply. Cancel-safe.
async fn next_sentence(reply: &mut Option<Reply>) -> Option<String> {
    match reply {
        Some(reply) => reply.next_sentence().await,
        None => std::future::pending().await,
    }
}
