//! Calls over the sockets of a server.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::server::Server;
use crate::{Call, words};

/// Opens a call at a server.
pub async fn open(server: &Server, number: u32) -> SocketCall {
    let id = format!("served-{number}");
    let (socket, _) = connect_async(format!("ws://{}/v1/calls/{id}/socket", server.address)).await.unwrap();
    let mut call = SocketCall { id, socket, sent: 0 };
    call.send(json!({ "type": "start" })).await;
    assert_eq!(call.receive().await.unwrap()["type"], "started");
    call
}

pub struct SocketCall {
    id: String,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    sent: u32,
}

impl SocketCall {
    async fn send(&mut self, mut message: Value) -> String {
        self.sent += 1;
        let id = format!("e{}", self.sent);
        message["event_id"] = id.as_str().into();
        // The server may have ended.
        let _ = self.socket.send(Message::text(message.to_string())).await;
        id
    }

    /// Returns the next message, or `None` after the last one.
    async fn receive(&mut self) -> Option<Value> {
        while let Some(Ok(message)) = self.socket.next().await {
            if let Message::Text(text) = message {
                return Some(serde_json::from_str(text.as_str()).unwrap());
            }
        }
        None
    }

    /// Says one thing after the other until the server ends the call. Returns the call's id and what the server accepted.
    pub async fn say_until_the_end(&mut self, first: u32) -> (String, Vec<String>) {
        let mut said: Vec<String> = (0..first).map(words).collect();
        for turn in first.. {
            let event = self.send(json!({ "type": "caller_said", "text": words(turn) })).await;
            loop {
                let Some(message) = self.receive().await else { return (self.id.clone(), said) };
                match message["type"].as_str().unwrap() {
                    "accepted" if message["event_id"] == event.as_str() && message["effect"] == "applied" => {
                        said.push(words(turn));
                    }
                    "reply_ended" => break,
                    _ => {}
                }
            }
        }
        unreachable!("the server ends every call")
    }
}

impl Call for SocketCall {
    async fn turn(&mut self, words: &str) -> Duration {
        let begun = Instant::now();
        self.send(json!({ "type": "caller_said", "text": words })).await;
        let mut first = None;
        loop {
            let message = self.receive().await.unwrap();
            match message["type"].as_str().unwrap() {
                "sentence" => {
                    first.get_or_insert_with(|| begun.elapsed());
                }
                "reply_ended" => {
                    let speech = &message["speech"];
                    self.send(json!({ "type": "playback_started", "speech": speech })).await;
                    self.send(json!({ "type": "playback_finished", "speech": speech })).await;
                    return first.unwrap();
                }
                _ => {}
            }
        }
    }
}
