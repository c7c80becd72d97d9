//! [`Twilio`] and [`Phone`]: the requests and the WebSocket of Twilio, with a caller who speaks.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::server::{PATIENCE, Server};

/// The auth token of the account.
pub const TOKEN: &str = "12345";

/// The number of the caller.
pub const FROM: &str = "+14155550100";

/// Twilio, with the auth token of an account.
pub struct Twilio {
    token: &'static str,
    address: String,
}

impl Twilio {
    pub fn of(server: &Server) -> Self {
        Self { token: TOKEN, address: server.address.clone() }
    }

    /// Returns a Twilio that signs with another token.
    pub fn with_token(&self, token: &'static str) -> Self {
        Self { token, address: self.address.clone() }
    }

    /// Requests TwiML.
    pub async fn post(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let response = self.request(path, parameters, Some(self.signature(path, "http", parameters))).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        response
    }

    /// Requests TwiML and returns the HTTP status.
    pub async fn status(&self, path: &str, parameters: &[(&str, &str)]) -> u16 {
        status(&self.request(path, parameters, Some(self.signature(path, "http", parameters))).await)
    }

    pub async fn without_signature(&self, path: &str) -> u16 {
        status(&self.request(path, &[], None).await)
    }

    /// Signs the URL and the parameters in the order of their names, as the documentation of Twilio says.
    fn signature(&self, path: &str, scheme: &str, parameters: &[(&str, &str)]) -> String {
        let mut parameters = parameters.to_vec();
        parameters.sort_unstable();
        let signed = parameters
            .iter()
            .fold(format!("{scheme}://{}{path}", self.address), |signed, (name, value)| signed + name + value);
        let mac = Hmac::<Sha1>::new_from_slice(self.token.as_bytes()).unwrap().chain_update(signed);
        STANDARD.encode(mac.finalize().into_bytes())
    }

    async fn request(&self, path: &str, parameters: &[(&str, &str)], signature: Option<String>) -> String {
        let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let pairs = parameters.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        let signature = signature.map(|signature| format!("X-Twilio-Signature: {signature}\r\n")).unwrap_or_default();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             {signature}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let requesting = async {
            let mut stream = TcpStream::connect(&self.address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).await.unwrap();
            response
        };
        timeout(PATIENCE, requesting).await.unwrap()
    }
}

fn status(response: &str) -> u16 {
    response.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The WebSocket of a call, and the caller.
pub struct Phone {
    socket: WebSocketStream<TcpStream>,
}

impl Phone {
    /// Connects a call.
    pub async fn connect(twilio: &Twilio, call_sid: &str) -> Self {
        let mut phone = Self::try_connect(twilio).await.unwrap();
        let setup = json!({
            "type": "setup", "sessionId": "VX1", "accountSid": "AC1", "callSid": call_sid, "from": FROM,
            "to": "+18885550101", "callType": "PSTN", "direction": "inbound", "callStatus": "RINGING",
            "customParameters": {},
        });
        phone.sends(setup).await;
        phone
    }

    /// Opens the WebSocket, or returns the HTTP status with which it is refused.
    pub async fn try_connect(twilio: &Twilio) -> Result<Self, u16> {
        let mut request = format!("ws://{}/v1/twilio/relay", twilio.address).into_client_request().unwrap();
        let signature = twilio.signature("/v1/twilio/relay", "ws", &[]);
        request.headers_mut().insert("x-twilio-signature", signature.parse().unwrap());
        let connecting = async { client_async(request, TcpStream::connect(&twilio.address).await.unwrap()).await };
        match timeout(PATIENCE, connecting).await.unwrap() {
            Ok((socket, _)) => Ok(Self { socket }),
            Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn sends(&mut self, message: Value) {
        self.sends_text(&message.to_string()).await;
    }

    pub async fn sends_text(&mut self, message: &str) {
        self.socket.send(Message::text(message)).await.unwrap();
    }

    async fn event(&mut self, name: &str, value: &str) {
        self.sends(json!({"type": "info", "name": name, "value": value, "ts": 1_763_856_000_000_i64})).await;
    }

    /// The caller speaks after the assistant.
    pub async fn says(&mut self, words: &str) {
        self.event("clientSpeaking", "on").await;
        self.event("clientSpeaking", "off").await;
        self.sends(json!({"type": "prompt", "voicePrompt": words, "lang": "en-US", "last": true})).await;
    }

    /// Twilio plays these pieces to their end.
    pub async fn plays(&mut self, pieces: &[&str]) {
        self.event("agentSpeaking", "on").await;
        for piece in pieces {
            self.event("tokensPlayed", piece).await;
        }
        self.event("agentSpeaking", "off").await;
    }

    /// Twilio has played these words so far.
    pub async fn starts_playing(&mut self, words: &str) {
        self.event("agentSpeaking", "on").await;
        self.event("tokensPlayed", words).await;
    }

    /// The caller interrupts after these words.
    pub async fn interrupts(&mut self, words: &str) {
        self.event("clientSpeaking", "on").await;
        let message = json!({"type": "interrupt", "utteranceUntilInterrupt": words, "durationUntilInterruptMs": "460"});
        self.sends(message).await;
        self.event("agentSpeaking", "off").await;
    }

    /// Waits until the program has handled all messages. It answers a ping after what came before.
    pub async fn is_up_to_date(&mut self) {
        self.socket.send(Message::Ping(Vec::new().into())).await.unwrap();
        let answer = timeout(PATIENCE, self.socket.next()).await.unwrap().unwrap().unwrap();
        assert!(matches!(answer, Message::Pong(_)), "{answer}");
    }

    /// Returns the next sentence.
    pub async fn sentence(&mut self) -> String {
        self.token().await.0
    }

    /// Returns the words until the end of the reply.
    pub async fn hears(&mut self) -> String {
        let mut words = String::new();
        loop {
            let (token, is_last) = self.token().await;
            words.push_str(&token);
            if is_last {
                return words;
            }
        }
    }

    async fn token(&mut self) -> (String, bool) {
        let message = self.next().await.unwrap();
        assert_eq!(message["type"], "text", "{message}");
        (message["token"].as_str().unwrap().to_owned(), message["last"].as_bool().unwrap())
    }

    /// The program ends the session.
    pub async fn is_told_the_end(&mut self, reason: &str) {
        while let Some(message) = self.next().await {
            if message["type"] == "end" {
                assert_eq!(message["handoffData"], json!({"reason": reason}).to_string());
                return;
            }
        }
        panic!("the connection was closed without an end");
    }

    /// The program closes the connection.
    pub async fn is_closed(&mut self) {
        while self.next().await.is_some() {}
    }

    /// The connection is lost, without a goodbye.
    pub async fn drops(self) {
        drop(self);
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.unwrap() {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(text.as_str()).unwrap()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }
}
