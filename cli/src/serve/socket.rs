//! The WebSocket of a call: the client's messages in, the call's messages out, in one order.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use tokio::sync::watch;
use tokio::time::{interval, timeout};
use verbale::clock::{Clock, SystemClock};
use verbale::log::CallId;

use super::live::LiveCall;
use super::protocol::{ClientEvent, FromClient, ServerEvent, Start, ToClient, VERSION};
use super::{OpenSocket, Server};

/// How long a client may take for its first message, and to accept a message.
pub const TIMEOUT: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(20);
/// The longest silence of a client, which answers each ping.
const MAX_SILENCE: Duration = Duration::from_secs(60);

/// The codes of a closed socket.
const POLICY: u16 = 1008;
const GOING_AWAY: u16 = 1001;
const NORMAL: u16 = 1000;
const REPLACED: u16 = 4001;

/// Why a connection ended.
enum End {
    /// The client is gone. It may connect again.
    Disconnected,
    /// The call has ended.
    Ended,
    /// The call has another connection.
    Replaced,
}

/// Serves a socket, and waits for the next one of the call if it was lost.
pub async fn serve(mut socket: WebSocket, server: Arc<Server>, call_id: CallId) {
    let open = OpenSocket::new(server.clone());
    let Some(start) = first(&mut socket).await else { return };
    let opened = match server.calls.open(&call_id, &start).await {
        Ok(opened) => opened,
        Err(error) => return refuse(&mut socket, error.text).await,
    };
    let call = opened.call;
    let (number, mut newest) = call.connect();
    let is_known = start.instance.as_ref() == Some(&call.instance);
    let after = if is_known { start.after_seq } else { 0 };
    let started = ServerEvent::Started {
        version: VERSION,
        call: call_id.to_string(),
        instance: call.instance.clone(),
        is_resumed: opened.is_resumed,
        has_missed: call.outbox.after(after).has_gap,
    };
    let started = serde_json::to_string(&ToClient { seq: after, at_ms: SystemClock.now_ms(), event: &started });
    let mut connection = Connection { socket, call, server: server.clone(), call_id: call_id.clone(), sent: after };
    let end = match connection.send(started.unwrap_or_default()).await {
        Ok(()) => connection.run(number, &mut newest).await,
        Err(_) => End::Disconnected,
    };
    match end {
        End::Ended if server.is_draining() => connection.close(GOING_AWAY, "the server is stopping").await,
        End::Ended => connection.close(NORMAL, "the call has ended").await,
        End::Replaced => connection.close(REPLACED, "the call has another connection").await,
        End::Disconnected => {
            drop((connection, open));
            wait_for_next(&server, &call_id, &mut newest, number).await;
        }
    }
}

/// Waits for the next connection of a call whose connection was lost, and closes the call if none comes in time.
pub async fn wait_for_next(server: &Server, call_id: &CallId, newest: &mut watch::Receiver<u64>, number: u64) {
    if timeout(server.grace, is_replaced(newest, number)).await.is_err() {
        // Fails if the log cannot store the end. It stays in the writer.
        let _ = server.calls.close(call_id, "connection lost").await;
    }
}

/// Waits until the call has a newer connection. Cancel-safe.
pub async fn is_replaced(newest: &mut watch::Receiver<u64>, number: u64) {
    if newest.wait_for(|newest| *newest != number).await.is_err() {
        // The call holds the sender, and the connection the call.
        std::future::pending().await
    }
}

/// Receives the first message, or tells the client what it has to be.
async fn first(socket: &mut WebSocket) -> Option<Start> {
    let message = timeout(TIMEOUT, socket.recv()).await.ok()??.ok()?;
    let read = message.to_text().map_err(|_| "the message is no text".to_owned());
    match read.and_then(|text| FromClient::read(text).map_err(|(_, error)| error)) {
        Ok(FromClient { event: ClientEvent::Start(start), .. }) => Some(*start),
        Ok(_) => {
            refuse(socket, "the first message of a socket is `start`".to_owned()).await;
            None
        }
        Err(error) => {
            refuse(socket, error).await;
            None
        }
    }
}

async fn refuse(socket: &mut WebSocket, error: String) {
    let event = ServerEvent::Refused { event_id: None, error };
    let text =
        serde_json::to_string(&ToClient { seq: 0, at_ms: SystemClock.now_ms(), event: &event }).unwrap_or_default();
    let frame = CloseFrame { code: POLICY, reason: "refused".into() };
    // The client may be gone.
    let _ = timeout(TIMEOUT, socket.send(Message::text(text))).await;
    let _ = timeout(TIMEOUT, socket.send(Message::Close(Some(frame)))).await;
}

struct Connection {
    socket: WebSocket,
    call: Arc<LiveCall>,
    server: Arc<Server>,
    call_id: CallId,
    /// The number of the last message that was sent.
    sent: u64,
}

impl Connection {
    async fn run(&mut self, number: u64, newest: &mut watch::Receiver<u64>) -> End {
        let mut last = self.call.outbox.watch();
        let mut pings = interval(PING_EVERY);
        let mut heard = tokio::time::Instant::now();
        loop {
            last.mark_unchanged();
            let missed = self.call.outbox.after(self.sent);
            for message in missed.messages {
                if self.send(message.as_ref()).await.is_err() {
                    return End::Disconnected;
                }
            }
            self.sent = self.sent.max(missed.last);
            if missed.is_ended {
                return End::Ended;
            }
            tokio::select! {
                changed = last.changed() => if changed.is_err() { return End::Ended },
                () = is_replaced(newest, number) => return End::Replaced,
                message = self.socket.recv() => {
                    heard = tokio::time::Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.receive(text.as_str()).await,
                        // The library answers pings.
                        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => {}
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Disconnected,
                    }
                }
                _ = pings.tick() => {
                    let is_gone = heard.elapsed() > MAX_SILENCE;
                    if is_gone || timeout(TIMEOUT, self.socket.send(Message::Ping(Vec::new().into()))).await.is_err() {
                        return End::Disconnected;
                    }
                }
            }
        }
    }

    async fn receive(&mut self, text: &str) {
        match FromClient::read(text) {
            Ok(message) => {
                if let Some(reason) = self.call.receive(message)
                    && let Err(error) = self.server.calls.close(&self.call_id, &reason).await
                {
                    self.call.outbox.push(&ServerEvent::Refused { event_id: None, error: error.text });
                }
            }
            Err((event_id, error)) => self.call.outbox.push(&ServerEvent::Refused { event_id, error }),
        }
    }

    async fn send(&mut self, text: impl Into<String>) -> Result<(), axum::Error> {
        timeout(TIMEOUT, self.socket.send(Message::text(text.into()))).await.map_err(axum::Error::new)?
    }

    async fn close(&mut self, code: u16, reason: &'static str) {
        // The client may be gone.
        let frame = CloseFrame { code, reason: reason.into() };
        let _ = timeout(TIMEOUT, self.socket.send(Message::Close(Some(frame)))).await;
    }
}
