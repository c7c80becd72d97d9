//! [`Limits`]: how much one client may send, and how fast. Nothing here knows a call.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::DefaultKeyedRateLimiter;
use governor::Quota;
use tokio::time::timeout;

use super::error::ApiError;

/// The longest body of a request, in bytes.
pub const MAX_BODY: usize = 1_024 * 1_024;
/// The longest message of a socket, in bytes.
const MAX_MESSAGE: usize = 256 * 1_024;
/// The buffer that each socket keeps, in bytes. Most messages are shorter; it grows for others.
const SOCKET_BUFFER: usize = 4 * 1_024;
/// How long a client may take to send the headers of a request, and again for its body.
pub const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the upgrade with the limits of a socket.
pub fn of_socket(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.max_message_size(MAX_MESSAGE).read_buffer_size(SOCKET_BUFFER)
}

/// The address of a client. A proxy in front of the server is one client.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// The rate of requests of each client.
pub struct Limits {
    rate: DefaultKeyedRateLimiter<IpAddr>,
}

impl Limits {
    /// Allows so many requests a second from each address, and as many at once.
    pub fn new(requests_per_s: NonZeroU32) -> Self {
        Self { rate: DefaultKeyedRateLimiter::keyed(Quota::per_second(requests_per_s)) }
    }

    /// Forgets the clients that are within their rate.
    pub fn forget(&self) {
        self.rate.retain_recent();
    }
}

/// Refuses a request that is too fast, too large or too slow, and reads the body of another one.
pub async fn apply(State(server): State<std::sync::Arc<super::Server>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    if let Some(Peer(address)) = peer
        && server.limits.rate.check_key(&address).is_err()
    {
        let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "there are too many requests; wait a second");
        return ([(RETRY_AFTER, "1")], error).into_response();
    }
    let mut response = match read(request).await {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    // A page has a policy of its own. Nothing else is shown or run by a browser.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static("default-src 'none'; sandbox"));
    response
}

/// Reads the whole body, so that no handler waits for a slow client.
async fn read(request: Request) -> Result<Request, ApiError> {
    let (parts, body) = request.into_parts();
    let too_large = || ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {MAX_BODY} bytes"));
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large());
    }
    match timeout(READ_TIMEOUT, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}
