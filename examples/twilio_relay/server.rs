//! [`serve`]: the three routes, and the end of the program.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_config::SdkConfig;
use axum::Router;
use axum::extract::{Form, State, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use verbale::call::Drained;
use verbale::log::CallId;

use super::arguments::{Arguments, Place};
use super::calls::{Calls, Salt};
use super::error::RelayError;
use super::ferry::Ferry;
use super::log::Log;
use super::models::Models;
use super::relay::relay;
use super::signature::{AuthToken, HEADER};
use super::twiml::{After, Twiml, Urls, reconnects};

/// The state that all requests share.
pub struct Program {
    pub calls: Calls,
    /// How long a call without a connection waits for the next one.
    pub grace: Duration,
    auth: AuthToken,
    urls: Urls,
    is_draining: AtomicBool,
}

/// A message of Twilio is a few hundred bytes; a prompt may be long.
const MAX_MESSAGE_BYTES: usize = 256 * 1_024;

/// How long the connections may take to report the end of their calls to Twilio.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(5);

type Parameters = Form<Vec<(String, String)>>;

/// Serves calls until the process gets SIGTERM, then drains them.
pub async fn serve(arguments: &Arguments) -> Result<(), RelayError> {
    let token = std::env::var("TWILIO_AUTH_TOKEN").ok().filter(|token| !token.is_empty());
    let auth = AuthToken::new(token.ok_or(RelayError::NoAuthToken)?);
    let salt = std::env::var("CALLER_SALT").ok().map(Salt::new).transpose()?;
    let needs_aws = arguments.bedrock.is_some() || matches!(arguments.log, Some(Place::Table(_)));
    // Without credentials, looking for them would ask the network.
    let aws = match needs_aws {
        true => aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await,
        false => SdkConfig::builder().build(),
    };
    let models = match &arguments.bedrock {
        Some(model) => Models::at_aws(&aws, model)?,
        None => Models::scripted(),
    };
    let bookings = match &arguments.log {
        Some(Place::Directory(directory)) => Some(directory.join("bookings")),
        _ => None,
    };
    let ferry = Ferry::open(bookings, arguments.service_ms).map_err(RelayError::Bookings)?;
    let log = Log::open(arguments.log.as_ref(), &aws).await?;

    let listen = |error| RelayError::Listen(arguments.listen, error);
    let listener = TcpListener::bind(arguments.listen).await.map_err(listen)?;
    let address = format!("http://{}", listener.local_addr().map_err(listen)?);
    let program = Arc::new(Program {
        calls: Calls::new(log.writer.clone(), models, ferry, salt),
        grace: arguments.grace_s,
        auth,
        urls: Urls::new(arguments.public_url.as_ref().unwrap_or(&address)),
        is_draining: AtomicBool::new(false),
    });
    let stop = super::stop::stop_signal().map_err(RelayError::Runtime)?;
    // The program serves calls even if nobody reads its output.
    let _ = writeln!(io::stdout(), "listening on {address}");

    let (stopped, is_stopped) = oneshot::channel();
    let server = axum::serve(listener, router(program.clone())).with_graceful_shutdown(async {
        // The sender never fails.
        let _ = is_stopped.await;
    });
    let server = tokio::spawn(server.into_future());
    stop.await;
    // Until all calls are closed, Twilio may ask what to do after them.
    let drained = program.drain(arguments.drain_s).await;
    let _ = stopped.send(());
    // Connections that Twilio keeps open do not hold the process up.
    let served = tokio::time::timeout(GOODBYE_TIMEOUT, server).await;
    drop(program);
    let unstored = log.stop(GOODBYE_TIMEOUT).await;
    let refused = drained.closed.iter().filter(|(_, closed)| closed.not_accepted.is_some()).count();
    let unstored = unstored.max(drained.unstored.len() + drained.left_open.len() + refused);
    match served {
        Ok(Ok(Err(error))) => Err(RelayError::Server(error)),
        _ if unstored > 0 => Err(RelayError::Unstored(unstored)),
        _ => Ok(()),
    }
}

/// Returns the routes. Every request has to come from Twilio.
fn router(program: Arc<Program>) -> Router {
    Router::new()
        .route("/voice", post(voice))
        .route("/after", post(after))
        .route("/relay", get(connect))
        .with_state(program)
}

/// Answers a call.
async fn voice(State(program): State<Arc<Program>>, uri: Uri, headers: HeaderMap, Form(form): Parameters) -> Response {
    if !program.has_signed_request(&uri, &headers, &form) {
        return StatusCode::FORBIDDEN.into_response();
    }
    if program.is_draining() {
        // Twilio tries the fallback URL of the number then.
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    program.urls.connect(0).into_response()
}

/// Decides what follows a connection that ended.
async fn after(State(program): State<Arc<Program>>, uri: Uri, headers: HeaderMap, Form(form): Parameters) -> Response {
    if !program.has_signed_request(&uri, &headers, &form) {
        return StatusCode::FORBIDDEN.into_response();
    }
    match After::read(&form) {
        After::ConnectAgain => program.urls.connect(reconnects(uri.query()).saturating_add(1)).into_response(),
        After::Over => {
            let call_sid = form.iter().find(|(name, _)| name == "CallSid").map(|(_, value)| value.as_str());
            if let Some(call_id) = call_sid.and_then(|call_sid| CallId::new(call_sid).ok()) {
                program.calls.close(&call_id, "hangup").await;
            }
            Twiml::hang_up().into_response()
        }
    }
}

/// Opens the WebSocket of a call.
async fn connect(
    State(program): State<Arc<Program>>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !program.auth.has_signed(&program.urls.of_socket(path(&uri)), &[], signature(&headers)) {
        tracing::warn!("a connection without a valid signature is refused");
        return StatusCode::FORBIDDEN.into_response();
    }
    upgrade.max_message_size(MAX_MESSAGE_BYTES).on_upgrade(|socket| relay(socket, program))
}

impl Program {
    /// Returns whether the program is about to stop.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Lets live calls continue for a while, then closes them.
    async fn drain(&self, within: Duration) -> Drained {
        self.is_draining.store(true, Ordering::Release);
        self.calls.lines.are_gone(within).await;
        let drained = self.calls.drain().await;
        tracing::info!("{drained}");
        if !self.calls.lines.are_gone(GOODBYE_TIMEOUT).await {
            tracing::warn!("some connections did not end in time");
        }
        drained
    }

    fn has_signed_request(&self, uri: &Uri, headers: &HeaderMap, form: &[(String, String)]) -> bool {
        let has_signed = self.auth.has_signed(&self.urls.of_request(path(uri)), form, signature(headers));
        if !has_signed {
            tracing::warn!(path = uri.path(), "a request without a valid signature is refused");
        }
        has_signed
    }
}

fn path(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |path| path.as_str())
}

fn signature(headers: &HeaderMap) -> Option<&str> {
    headers.get(HEADER)?.to_str().ok()
}
