//! [`FakeBedrockServer`]: a fake that listens on the loopback interface.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use aws_sdk_bedrockruntime::config::Builder;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::config;
use super::service::Service;

/// A [`FakeBedrock`](super::FakeBedrock) that listens on a port of 127.0.0.1.
///
/// Dropping it stops the server and breaks its connections.
#[derive(Debug)]
#[must_use = "the server stops when it is dropped"]
pub struct FakeBedrockServer {
    endpoint_url: String,
    http_client: SharedHttpClient,
    _is_alive: watch::Sender<()>,
}

impl FakeBedrockServer {
    pub(super) async fn start(service: Arc<Service>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let endpoint_url = format!("http://{}", listener.local_addr()?);
        let (is_alive, until_dropped) = watch::channel(());
        let tally = service.tally.clone();
        let listener = listener.tap_io(move |_| tally.count(|counters| counters.connections += 1));
        let router = Router::new().fallback(answer).with_state((service, until_dropped.clone()));
        let serving = axum::serve(listener, router).with_graceful_shutdown(dropped(until_dropped));
        // The task and its connections end with the signal.
        tokio::spawn(serving.into_future());
        // The SDK's default client would use the proxy of the environment for the loopback interface too.
        let http_client = aws_smithy_http_client::Builder::new().build_http();
        Ok(Self { endpoint_url, http_client, _is_alive: is_alive })
    }

    /// Returns the URL of the server, such as `http://127.0.0.1:49152`.
    pub fn endpoint_url(&self) -> &str {
        &self.endpoint_url
    }

    /// Returns the configuration of an SDK client that connects to the server.
    ///
    /// It has the settings of [`FakeBedrock::sdk_config`](super::FakeBedrock::sdk_config). All clients share one connection
    /// pool, and use no proxies.
    pub fn sdk_config(&self) -> Builder {
        config(&self.endpoint_url).http_client(self.http_client.clone())
    }
}

async fn answer(
    State((service, until_dropped)): State<(Arc<Service>, watch::Receiver<()>)>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    // The client disconnected, or sent invalid HTTP.
    let Ok(body) = to_bytes(body, usize::MAX).await else { return StatusCode::BAD_REQUEST.into_response() };
    let answer = tokio::select! {
        answer = service.answer(head.uri.path(), body) => answer,
        () = dropped(until_dropped.clone()) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
    };
    let body = axum::body::Body::new(answer.body.until(dropped(until_dropped)));
    let mut response = Response::new(body);
    let Ok(status) = StatusCode::from_u16(answer.status) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    *response.status_mut() = status;
    for (name, value) in answer.headers {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Completes when the server is dropped.
async fn dropped(mut until_dropped: watch::Receiver<()>) {
    while until_dropped.changed().await.is_ok() {}
}
