//! [`serve`]: one ConversationRelay connection, from `setup` to its end.
//!
//! It is a client of the call in this process: Twilio's messages become those of the [socket](super::super::protocol), and the
//! call's messages become `text` for Twilio. `docs/twilio.md` has the table. Twilio decides what interrupts the assistant, so only
//! `interrupt` and words of the caller are barge-ins. `clientSpeaking` gives the time at which the caller's words began.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use verbale::log::CallId;

use super::caller::Caller;
use super::messages::{Incoming, Outgoing, Setup};
use super::playback::Playback;
use super::problem;
use super::twiml::HANDED_OVER;
use crate::serve::calls::Opened;
use crate::serve::live::LiveCall;
use crate::serve::protocol::ClientEvent;
use crate::serve::socket::{TIMEOUT, is_replaced, wait_for_next};
use crate::serve::{OpenSocket, Server};

/// How long the connection before may take to let go of a call.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(5);
/// When a late result is tried to be told again.
const SOON: Duration = Duration::from_millis(250);
/// A number that a caller types is shorter.
const MAX_DIGITS: usize = 32;

/// Why a connection ended.
enum End {
    /// Twilio closed it, or it was lost. The call may get another one.
    Disconnected,
    /// The call has ended, for now or for good.
    Ended,
    /// The call has another connection.
    Replaced,
}

/// A message of the call, as far as it matters here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Happened {
    Said {
        speech: String,
        text: String,
    },
    Sentence {
        speech: String,
        text: String,
    },
    ReplyEnded {
        speech: String,
        end: String,
    },
    ResultReady {},
    Ended {},
    #[serde(other)]
    Other,
}

/// Serves a connection, and waits for the next one of the call if it was lost.
pub async fn serve(mut socket: WebSocket, server: Arc<Server>) {
    let open = OpenSocket::new(server.clone());
    // Without its socket, Twilio calls the action of `<Connect>`, which connects the call again.
    let Some(setup) = setup(&mut socket).await else { return };
    let Ok(call_id) = CallId::new(setup.call_sid.as_str()) else { return };
    let Some(twilio) = &server.twilio else { return };
    let Ok(Opened { call, is_resumed }) = server.calls.open(&call_id, &twilio.start(&setup.from)).await else { return };
    let (number, mut newest) = call.connect();
    // The connection before reports first what it has played.
    let line = timeout(REPLACE_TIMEOUT, call.line.clone().lock_owned()).await;
    // Messages from before the first connection are its own. Later ones begin anew.
    let sent = if number == 1 { 0 } else { call.outbox.last() };
    let mut connection = Connection {
        socket,
        call,
        playback: Playback::default(),
        caller: Caller::default(),
        digits: String::new(),
        has_result: false,
        sent,
    };
    if is_resumed {
        connection.go_on(&twilio.settings.back);
    }
    match connection.run(number, &mut newest).await {
        End::Ended => {
            let reason = if server.is_draining() { HANDED_OVER } else { "closed" };
            let handoff_data = serde_json::json!({ "reason": reason }).to_string();
            // If Twilio is gone, it needs no end.
            let _ = connection.send(&Outgoing::End { handoff_data: &handoff_data }).await;
            let _ = timeout(TIMEOUT, connection.socket.send(Message::Close(None))).await;
        }
        End::Replaced => connection.lost().await,
        End::Disconnected => {
            connection.lost().await;
            drop((connection, line, open));
            wait_for_next(&server, &call_id, &mut newest, number).await;
        }
    }
}

/// Receives the first message.
async fn setup(socket: &mut WebSocket) -> Option<Setup> {
    let first = timeout(TIMEOUT, socket.recv()).await.ok()??.ok()?;
    match Incoming::read(first.to_text().ok()?) {
        Ok(Incoming::Setup(setup)) => Some(setup),
        _ => None,
    }
}

/// A connection and the state of the talk on it.
struct Connection {
    socket: WebSocket,
    call: Arc<LiveCall>,
    playback: Playback,
    caller: Caller,
    digits: String,
    /// Whether the model should report a result that came late.
    has_result: bool,
    /// The number of the last message of the call that was passed on.
    sent: u64,
}

impl Connection {
    /// Continues where the connection before ended.
    fn go_on(&mut self, back: &str) {
        // A call that another process had is answered when it is opened.
        let has_answer = self.sent == 0 && self.call.newest_answer().is_some();
        if !has_answer && self.call.answer().is_err() {
            // Fails if the call is closed, which its messages say, too.
            let _ = self.call.say(back.to_owned());
        }
    }

    async fn run(&mut self, number: u64, newest: &mut watch::Receiver<u64>) -> End {
        let mut last = self.call.outbox.watch();
        loop {
            last.mark_unchanged();
            let missed = self.call.outbox.after(self.sent);
            for message in &missed.messages {
                match self.pass_on(message).await {
                    Ok(None) => {}
                    Ok(Some(end)) => return end,
                    Err(_) => return End::Disconnected,
                }
            }
            self.sent = self.sent.max(missed.last);
            if missed.is_ended {
                return End::Ended;
            }
            self.report_result();
            tokio::select! {
                // An answer that has ended is no barge-in.
                biased;
                changed = last.changed() => if changed.is_err() { return End::Disconnected },
                () = is_replaced(newest, number) => return End::Replaced,
                // The end of an answer is told a little before the answer is gone.
                () = sleep(SOON), if self.has_result => {}
                message = self.socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => self.receive(text.as_str()),
                    // The library answers pings.
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => {}
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Disconnected,
                },
            }
        }
    }

    /// Passes a message of the call on to Twilio. Returns the end of the call if it is one.
    async fn pass_on(&mut self, message: &str) -> Result<Option<End>, axum::Error> {
        match serde_json::from_str(message).unwrap_or(Happened::Other) {
            Happened::Said { speech, text } => {
                self.playback.sent(&speech, &text);
                self.send(&Outgoing::Text { token: &text, last: true }).await?;
                self.playback.complete(&speech, &self.call);
            }
            // After an interruption, Twilio drops what it has, and the rest is not sent.
            Happened::Sentence { speech, text } => {
                if self.playback.sent(&speech, &text) {
                    self.send(&Outgoing::Text { token: &text, last: false }).await?;
                }
            }
            Happened::ReplyEnded { speech, end } => {
                if end != "interrupted" && !self.playback.is_over(&speech) {
                    self.send(&Outgoing::Text { token: "", last: true }).await?;
                    self.playback.complete(&speech, &self.call);
                }
            }
            Happened::ResultReady {} => self.has_result = true,
            Happened::Ended {} => return Ok(Some(End::Ended)),
            Happened::Other => {}
        }
        Ok(None)
    }

    /// Handles a message of Twilio.
    fn receive(&mut self, message: &str) {
        self.call.touch();
        let Ok(message) = Incoming::read(message) else {
            return problem("unreadable");
        };
        match message {
            Incoming::Prompt { text, is_last: true } => self.caller_said(text),
            Incoming::Interrupt { words, played_ms } => {
                self.playback.interrupted(&words, played_ms, &self.call);
                self.caller.start(self.call.session.now_ms());
            }
            Incoming::Digit('#') if !self.digits.is_empty() => self.caller_said(String::new()),
            Incoming::Digit(digit) if self.digits.len() < MAX_DIGITS => self.digits.push(digit),
            Incoming::AgentSpeaks(is_speaking) => self.playback.agent_speaks(is_speaking, &self.call),
            Incoming::Played(words) => self.playback.played(&words, &self.call),
            Incoming::CallerSpeaks(is_speaking) => self.caller_speaks(is_speaking),
            // The description may quote a message, and so the words of a call.
            Incoming::Error => problem("reported"),
            Incoming::Prompt { is_last: false, .. } | Incoming::Digit(_) => {}
            Incoming::Setup(_) => problem("unreadable"),
        }
    }

    fn caller_speaks(&mut self, is_speaking: bool) {
        let now_ms = self.call.session.now_ms();
        if !is_speaking {
            self.caller.ended_ms = Some(now_ms);
            return;
        }
        self.caller.start(now_ms);
        // While something is played, Twilio decides whether this is an interruption.
        if !self.is_busy() {
            apply(&self.call, ClientEvent::CallerStarted { at_ms: Some(now_ms) });
        }
    }

    /// Answers the caller's words and typed digits.
    fn caller_said(&mut self, mut words: String) {
        if !self.digits.is_empty() {
            let digits = std::mem::take(&mut self.digits);
            words = format!("(The caller typed {digits} on the keypad.) {words}");
        }
        self.playback.end_before_words(&self.call);
        let Caller { started_ms, ended_ms } = std::mem::take(&mut self.caller);
        let text = words.trim().to_owned();
        let before = self.call.newest_answer();
        apply(&self.call, ClientEvent::CallerSaid { text, confidence: None, started_ms, ended_ms, reply: true });
        if self.call.newest_answer() != before {
            self.playback.replaced();
            self.has_result = false;
        }
    }

    /// Reports a result that came late, once nobody speaks.
    fn report_result(&mut self) {
        if self.has_result && !self.is_busy() && !self.caller.is_speaking() {
            self.has_result = false;
            // Fails if an answer has told it meanwhile.
            let _ = self.call.answer();
        }
    }

    /// Returns whether the assistant speaks, or is about to.
    fn is_busy(&self) -> bool {
        self.playback.is_busy() || self.call.is_answering()
    }

    /// Stops what nobody hears.
    async fn lost(&mut self) {
        if let Some(speech) = self.call.newest_answer() {
            self.call.stop_answer(&speech);
            self.call.stopped_answer_is_over().await;
        }
        self.playback.lost(&self.call);
    }

    async fn send(&mut self, message: &Outgoing<'_>) -> Result<(), axum::Error> {
        let text = serde_json::to_string(message).map_err(axum::Error::new)?;
        let sending = timeout(TIMEOUT, self.socket.send(Message::text(text)));
        sending.await.map_err(axum::Error::new)?
    }
}

/// Carries out what Twilio reports. A report of something that is over changes nothing.
pub fn apply(call: &Arc<LiveCall>, event: ClientEvent) {
    let _ = call.apply(None, event);
}
