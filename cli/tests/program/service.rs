//! A service that runs tools at their callbacks, in this process.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::server::PATIENCE;

/// The key of callbacks.
pub const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A fault of the service. Without one of these, it answers.
#[derive(Clone)]
pub enum Fault {
    Status(u16),
    Redirect,
    /// Acts, and answers when it may.
    Holds,
    /// Acts, and the connection breaks in the answer.
    Breaks,
    /// Answers with 100 MB.
    Floods,
}

/// A request, whose signature is valid.
#[derive(Clone)]
pub struct Seen {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// A running service. It acts once for each key.
pub struct Service {
    pub address: SocketAddr,
    faults: Mutex<VecDeque<Fault>>,
    seen: watch::Sender<Vec<Seen>>,
    effects: Mutex<HashMap<String, u32>>,
    pub goes_on: Notify,
    /// The bytes of floods that were sent.
    pub sent: AtomicUsize,
}

impl Service {
    pub async fn start(faults: impl Into<VecDeque<Fault>>) -> Arc<Self> {
        Self::start_at("127.0.0.1:0".parse().unwrap(), faults).await
    }

    pub async fn start_at(address: SocketAddr, faults: impl Into<VecDeque<Fault>>) -> Arc<Self> {
        let listener = TcpListener::bind(address).await.unwrap();
        let service = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            faults: Mutex::new(faults.into()),
            seen: watch::Sender::new(Vec::new()),
            effects: Mutex::default(),
            goes_on: Notify::new(),
            sent: AtomicUsize::new(0),
        });
        let router = Router::new().fallback(answer).with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        service
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests, once there are so many.
    pub async fn seen(&self, count: usize) -> Vec<Seen> {
        let mut seen = self.seen.subscribe();
        timeout(PATIENCE, seen.wait_for(|seen| seen.len() >= count)).await.unwrap().unwrap().clone()
    }

    /// Returns how many acts there were.
    pub fn effects(&self) -> usize {
        self.effects.lock().unwrap().len()
    }
}

async fn answer(State(service): State<Arc<Service>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    Webhook::new(KEY).unwrap().verify(&body, &headers).unwrap();
    let seen = Seen { path: uri.to_string(), headers, body: serde_json::from_slice(&body).unwrap() };
    let key = seen.body["idempotency_key"].as_str().unwrap().to_owned();
    let is_lookup = seen.body["type"] == "tool_lookup";
    service.seen.send_modify(|all| all.push(seen));
    let fault = service.faults.lock().unwrap().pop_front();
    match &fault {
        Some(Fault::Status(status)) => return StatusCode::from_u16(*status).unwrap().into_response(),
        Some(Fault::Redirect) => {
            return (StatusCode::TEMPORARY_REDIRECT, [("location", service.url("/elsewhere"))]).into_response();
        }
        _ => {}
    }
    if is_lookup {
        return match service.effects.lock().unwrap().contains_key(&key) {
            true => done(),
            false => axum::Json(json!({ "not_found": true })).into_response(),
        };
    }
    *service.effects.lock().unwrap().entry(key).or_default() += 1;
    match fault {
        Some(Fault::Holds) => service.goes_on.notified().await,
        Some(Fault::Breaks) => {
            let broken = futures_util::stream::iter([Ok("{\"out"), Err(std::io::Error::other("broken"))]);
            return Body::from_stream(broken).into_response();
        }
        Some(Fault::Floods) => {
            let chunks = futures_util::stream::iter(0..1_600).map(move |_| {
                service.sent.fetch_add(0x10000, Ordering::Relaxed);
                Ok::<_, std::io::Error>("x".repeat(0x10000))
            });
            return Body::from_stream(chunks).into_response();
        }
        _ => {}
    }
    done()
}

fn done() -> Response {
    axum::Json(json!({ "output": "ticket F-17" })).into_response()
}
