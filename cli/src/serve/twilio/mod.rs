//! Twilio's ConversationRelay: a call of Twilio as a call of this server, without a service in between.
//!
//! `voice` and `after` answer Twilio's requests about a call with the instructions of `twiml.rs`, `connect` opens its
//! WebSocket, which `relay.rs` serves. `messages.rs` has the messages, `playback.rs` what Twilio has played, `caller.rs` when the
//! caller spoke, `signature.rs` the check that a request is of Twilio. Conversation, log and limits are those of the other calls.

mod caller;
mod messages;
mod playback;
mod relay;
mod signature;
mod twiml;

use std::path::Path;
use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::Server;
use super::arguments::read;
use super::auth::Scope;
use super::callback::Callbacks;
use super::error::ApiError;
use super::limits;
use super::outbox::Outbox;
use super::protocol::Start;
use super::request::{Answer, call_id};
use super::tools::ClientTools;
use crate::failure::Failure;
use signature::{AuthToken, HEADER};
use twiml::{After, Attributes, Twiml, Urls, reconnects};

/// How the server answers Twilio's calls.
pub struct Twilio {
    settings: Settings,
    /// Without a token, Twilio's requests need what the other ones of a call need.
    token: Option<AuthToken>,
    urls: Urls,
}

/// The file of `--twilio`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// How a call begins. The number of the caller is Twilio's.
    #[serde(default)]
    start: Start,
    /// Spoken when a call continues on a new connection and nothing is to be answered.
    #[serde(default = "back")]
    back: String,
    /// Spoken when the call cannot be taken.
    #[serde(default = "apology")]
    apology: String,
    /// Attributes of `<ConversationRelay>`, such as `language` and `voice`.
    #[serde(default)]
    attributes: Attributes,
}

fn back() -> String {
    "I am sorry, the line was interrupted. Please go on.".to_owned()
}

fn apology() -> String {
    "I am sorry, we cannot take your call at the moment. Please call again later.".to_owned()
}

impl Twilio {
    /// Reads the file of `--twilio`. `public_url` is where Twilio reaches the server.
    pub fn open(
        file: &Path,
        token: Option<String>,
        public_url: &str,
        callbacks: Option<Arc<Callbacks>>,
    ) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::Usage(format!("{} cannot be used: {why}", file.display()));
        let settings: Settings = serde_json::from_str(&read(file)?).map_err(|error| wrong(error.to_string()))?;
        settings.attributes.check().map_err(wrong)?;
        if !["http://", "https://"].iter().any(|scheme| public_url.starts_with(scheme)) {
            return Err(Failure::Usage("--public-url is not a URL, such as https://voice.example.com".to_owned()));
        }
        let tools = Arc::new(ClientTools::new(Arc::new(Outbox::new()), callbacks));
        for tool in &settings.start.tools {
            if tool.callback.is_none() {
                return Err(wrong(format!("the tool {:?} has no callback, and Twilio runs no tools", tool.name)));
            }
            tools.tool(tool).map_err(wrong)?;
        }
        let token = token.filter(|token| !token.is_empty()).map(AuthToken::new);
        Ok(Self { settings, token, urls: Urls::new(public_url) })
    }

    /// Returns how the call of this number begins. Twilio has a word in place of a number that is withheld.
    fn start(&self, from: &str) -> Start {
        Start { caller: Some(from.to_owned()).filter(|from| from.starts_with('+')), ..self.settings.start.clone() }
    }

    fn connect(&self, reconnects: u32) -> Response {
        let Settings { apology, attributes, .. } = &self.settings;
        self.urls.connect(reconnects, attributes).unwrap_or_else(|| Twiml::say(apology)).into_response()
    }
}

impl Server {
    /// Returns the settings of Twilio's calls, if the request is of Twilio.
    fn twilio(
        &self,
        url: impl Fn(&Urls) -> String,
        headers: &HeaderMap,
        form: &Parameters,
    ) -> Result<&Twilio, ApiError> {
        let Some(twilio) = &self.twilio else {
            return Err(ApiError::new(StatusCode::NOT_FOUND, "the server takes no calls of Twilio; see --twilio"));
        };
        let Some(token) = &twilio.token else {
            return self.access.check(Scope::Call, headers).map(|()| twilio);
        };
        let signature = headers.get(HEADER).and_then(|value| value.to_str().ok());
        match token.has_signed(&url(&twilio.urls), form, signature) {
            true => Ok(twilio),
            false => {
                problem("unsigned");
                let why =
                    "Twilio did not sign this request with the auth token of the server, or for another --public-url";
                Err(ApiError::new(StatusCode::FORBIDDEN, why))
            }
        }
    }
}

type Parameters = Vec<(String, String)>;
type Given = Result<Form<Parameters>, FormRejection>;

/// Answers a call with instructions for Twilio.
#[utoipa::path(
    post,
    path = "/v1/twilio/voice",
    operation_id = "twilio_voice",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "done", body = String, content_type = "text/xml")),
    security(("twilio" = [])),
)]
pub async fn voice(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap, given: Given) -> Answer {
    let form = parameters(given)?;
    let twilio = server.twilio(|urls| urls.of_request(path(&uri)), &headers, &form)?;
    // Twilio tries the fallback URL of the number then.
    server.check_running("the server is stopping")?;
    Ok(twilio.connect(0))
}

/// Decides what follows a connection that ended.
#[utoipa::path(
    post,
    path = "/v1/twilio/after",
    operation_id = "twilio_after",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    params(("reconnects" = Option<u32>, Query, description = "the number of connections before")),
    responses((status = 200, description = "done", body = String, content_type = "text/xml")),
    security(("twilio" = [])),
)]
pub async fn after(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap, given: Given) -> Answer {
    let form = parameters(given)?;
    let twilio = server.twilio(|urls| urls.of_request(path(&uri)), &headers, &form)?;
    match After::read(&form) {
        After::ConnectAgain => Ok(twilio.connect(reconnects(uri.query()).saturating_add(1))),
        After::Over => {
            if let Some((_, call_sid)) = form.iter().find(|(name, _)| name == "CallSid") {
                // Fails if the log cannot store the end. It stays in the writer.
                let _ = server.calls.close(&call_id(call_sid)?, "hangup").await;
            }
            Ok(Twiml::hang_up().into_response())
        }
    }
}

/// Opens the socket of a call of Twilio.
#[utoipa::path(
    get,
    path = "/v1/twilio/relay",
    operation_id = "twilio_relay",
    responses((status = 101, description = "done")),
    security(("twilio" = [])),
)]
pub async fn connect(
    State(server): State<Arc<Server>>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Answer {
    server.twilio(|urls| urls.of_socket(path(&uri)), &headers, &Vec::new())?;
    server.check_running("the server is stopping")?;
    Ok(limits::of_socket(upgrade).on_upgrade(move |socket| relay::serve(socket, server)))
}

/// Counts what an operator should look up in Twilio's debugger.
fn problem(kind: &'static str) {
    metrics::counter!("verbale_serve_twilio_problems_total", "problem" => kind).increment(1);
}

fn parameters(given: Given) -> Result<Parameters, ApiError> {
    let Form(parameters) = given.map_err(|error| ApiError::new(error.status(), "the body is not that of Twilio"))?;
    Ok(parameters)
}

fn path(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |path| path.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withheld_number_is_no_caller() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("twilio.json");
        std::fs::write(&file, "{}").unwrap();
        let open = |url| Twilio::open(&file, Some(String::new()), url, None);
        let twilio = open("https://voice.example.com").unwrap();
        let caller = |from| twilio.start(from).caller;
        assert_eq!(caller("+14155550100").as_deref(), Some("+14155550100"));
        assert_eq!((caller("anonymous"), caller("sip:me@example.com"), caller("")), (None, None, None));
        assert!(twilio.token.is_none(), "an empty token is none");
        assert!(open("voice.example.com").is_err());
    }
}
