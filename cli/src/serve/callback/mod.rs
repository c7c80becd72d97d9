//! [`Callbacks`]: tools that a service runs when the server sends it a signed request.
//!
//! `allowed.rs` has the addresses that may get one, `signature.rs` the keys, `outcome.rs` what an answer means. A request is
//! sent again only if the tool cannot act twice by it, with the same idempotency key, and never after the tool's deadline.

mod allowed;
mod outcome;
mod signature;

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use axum::http::{Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep, timeout_at};
use verbale::clock::{Clock, SystemClock};
use verbale::model::ToolContext;

use super::limits::MAX_BODY;
use super::protocol::{ServerEvent, ToolDefinition};
use super::tools::Output;
use allowed::Allowed;
use outcome::{Failed, Retry, read};
use signature::Keys;

/// How long a tool without a deadline of its own may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The longest time in which a request is sent again.
const MAX_RETRYING: Duration = Duration::from_secs(600);
/// How long an answer is awaited after the deadline. It replaces an unknown outcome.
const LATE: Duration = Duration::from_secs(60);
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before a request is sent again, which doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The callbacks that the operator allows, and the client that sends them.
pub struct Callbacks {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    allowed: Allowed,
    keys: Keys,
}

/// The callback of a tool.
pub struct Callback {
    callbacks: Arc<Callbacks>,
    url: Uri,
    acting: Acting,
    pub timeout: Duration,
}

/// Whether a second request for the same act may act again.
#[derive(Debug, Clone, Copy)]
struct Acting {
    may_act: bool,
    acts_once: bool,
    deduplicates: bool,
}

impl Acting {
    /// Returns whether a request may be sent again although the service may have acted.
    fn may_repeat(self) -> bool {
        !self.acts_once || self.deduplicates
    }
}

/// The body of a callback: the message that a client of the socket would get, and the call.
#[derive(Serialize)]
struct Question<'a> {
    call: &'a str,
    #[serde(flatten)]
    event: &'a ServerEvent,
}

impl Callbacks {
    /// Allows callbacks below these URLs, signed with the keys in this text.
    ///
    /// Returns what is wrong with a URL or a key, or why there is no TLS. The text has no key.
    pub fn new(allowed: &[String], keys: &str) -> Result<Self, String> {
        let (allowed, keys) = (Allowed::read(allowed)?, Keys::read(keys)?);
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let tls = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider);
        let tls = tls.map_err(|error| format!("this host has no usable certificates of authorities: {error}"))?;
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        // A service may close a kept connection while a request is under way, and then it is not known whether it acted.
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_max_idle_per_host(0).retry_canceled_requests(false);
        // Neither redirects nor proxies of the environment are followed.
        let client = client.build(tls.https_or_http().enable_http1().wrap_connector(http));
        Ok(Self { client, allowed, keys })
    }

    /// Returns the callback of a tool, or why it is refused.
    pub fn of(self: &Arc<Self>, url: &str, definition: &ToolDefinition) -> Result<Callback, String> {
        let acting = Acting {
            may_act: !definition.read_only,
            acts_once: definition.acts_once,
            deduplicates: definition.deduplicates_by_key,
        };
        let url = self.allowed.check(url)?;
        let timeout = definition.timeout_ms.map_or(TIMEOUT, Duration::from_millis);
        Ok(Callback { callbacks: self.clone(), url, acting, timeout })
    }
}

impl Callback {
    /// Sends a question to the service, and returns its answer.
    ///
    /// Returns an error of the type `OutcomeUnknown` if the service may have acted.
    pub async fn ask(&self, context: &ToolContext, event: &ServerEvent) -> Output {
        let question = Question { call: context.call_id(), event };
        // Strings and JSON always become JSON.
        let body = Bytes::from(serde_json::to_vec(&question).unwrap_or_default());
        let id = message_id(context, event);
        let deadline = Instant::now() + self.timeout.min(MAX_RETRYING);
        // The library asks again itself what became of an act.
        let is_lookup = matches!(event, ServerEvent::ToolLookup { .. });
        let (mut pause, mut may_have_acted) = (FIRST_PAUSE, false);
        loop {
            let attempt = self.attempt(&id, context.idempotency_key(), body.clone());
            let failed = match timeout_at(deadline + LATE, attempt).await {
                Ok(Ok(output)) => return outcome::told(output, may_have_acted && !self.acting.deduplicates),
                Ok(Err(failed)) => failed,
                Err(_) => Failed::unclear("The service of the tool did not answer in time", Retry::Never),
            };
            may_have_acted |= failed.may_have_acted && self.acting.may_act;
            let wait = match failed.retry {
                Retry::Never => None,
                Retry::After(_) if is_lookup || may_have_acted && !self.acting.may_repeat() => None,
                Retry::After(wait) => Some(wait.unwrap_or_default().max(pause)),
            };
            match wait.filter(|wait| Instant::now() + *wait < deadline) {
                Some(wait) => sleep(wait).await,
                None => return Err(failed.error(self.acting.may_act, may_have_acted)),
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Sends the request once.
    async fn attempt(&self, id: &str, key: &str, body: Bytes) -> Result<Output, Failed> {
        let sent_s = SystemClock.now_ms() / 1_000;
        let mut request = Request::post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("verbale/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", id)
            .header("webhook-timestamp", sent_s)
            .header("webhook-signature", self.callbacks.keys.sign(id, sent_s, &body));
        if !key.is_empty() {
            request = request.header("idempotency-key", key);
        }
        let request = request.body(Full::new(body)).map_err(|_| Failed::not_sent("The tool cannot be requested"))?;
        let response = self.callbacks.client.request(request).await.map_err(|error| match error.is_connect() {
            true => Failed::not_sent("The service of the tool cannot be reached"),
            false => Failed::unclear("The connection to the service of the tool broke", Retry::After(None)),
        })?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, MAX_BODY).collect().await.ok().map(|body| body.to_bytes());
        read(&head, body.as_deref())
    }
}

/// Returns the id of a request, which is the same each time that it is sent.
fn message_id(context: &ToolContext, event: &ServerEvent) -> String {
    let kind = if matches!(event, ServerEvent::ToolLookup { .. }) { "lookup" } else { "call" };
    let names = [context.call_id(), context.tool_call_id().as_str(), kind].join("\0");
    let digest = Sha256::digest(names);
    digest.iter().take(16).fold("msg_".to_owned(), |id, byte| format!("{id}{byte:02x}"))
}
