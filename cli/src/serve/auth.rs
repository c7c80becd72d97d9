//! [`Access`]: who may do what.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use verbale::log::CallId;

use super::error::ApiError;
use super::sessions::Sessions;

/// The rights of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Opening, holding and closing calls.
    Call,
    /// Reading calls of the log.
    Read,
    /// Erasing calls, and legal holds.
    Admin,
}

/// Why a request of a browser is refused.
const OTHER_SITE: &str = "a page of another site sent this request";
/// How long a ticket opens a socket.
const TICKET_LASTS: Duration = Duration::from_secs(30);

/// The tokens of the server, and the tickets and sessions that it gave out.
pub struct Access {
    /// The SHA-256 of each token, and what it allows. Without tokens, everybody on this host may do everything.
    tokens: Vec<([u8; 32], Vec<Scope>)>,
    tickets: Mutex<HashMap<String, (CallId, Instant)>>,
    pub sessions: Sessions,
}

impl Access {
    /// Everybody on this host has access.
    pub fn local() -> Self {
        Self { tokens: Vec::new(), tickets: Mutex::default(), sessions: Sessions::default() }
    }

    /// Reads tokens: on each line scopes, separated by commas, and a token of 16 characters or more. `#` begins a comment.
    ///
    /// Returns what is wrong with a line. The text has no token.
    pub fn of_tokens(text: &str) -> Result<Self, String> {
        let mut tokens = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((scopes, token)) = line.split_once(char::is_whitespace) else {
                return Err(format!("line {number} is not `SCOPES TOKEN`, such as `call,read 3f9a…`"));
            };
            let scopes: Option<Vec<_>> = scopes.split(',').map(Scope::read).collect();
            let Some(scopes) = scopes else {
                return Err(format!("line {number} has an unknown scope; the scopes are call, read and admin"));
            };
            let token = token.trim();
            if token.len() < 16 {
                return Err(format!("the token of line {number} has less than 16 characters"));
            }
            tokens.push((Sha256::digest(token).into(), scopes));
        }
        if tokens.is_empty() {
            return Err("there is no token".to_owned());
        }
        Ok(Self { tokens, tickets: Mutex::default(), sessions: Sessions::default() })
    }

    pub fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Checks a request. Without tokens, it has to come from a page or program on this host: a page of another site could
    /// reach the server through a browser here.
    pub fn check(&self, scope: Scope, headers: &HeaderMap) -> Result<(), ApiError> {
        if !self.has_tokens() {
            return check_local(headers);
        }
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let Some(token) = token else {
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "a token is needed: `Authorization: Bearer TOKEN`"));
        };
        self.check_token(scope, token)
    }

    /// Checks a request for a page: a token, or the cookie of a session.
    pub fn check_page(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        match self.has_tokens() && self.sessions.has(headers) {
            true => Ok(()),
            false => self.check(Scope::Read, headers),
        }
    }

    /// Checks that a page of this server, or a program, sends a form.
    pub fn check_form(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if !self.has_tokens() {
            return check_local(headers);
        }
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        match text(ORIGIN) {
            None => Ok(()),
            Some(origin) if origin.split_once("://").is_some_and(|(_, host)| text(HOST) == Some(host)) => Ok(()),
            Some(_) => Err(ApiError::new(StatusCode::FORBIDDEN, OTHER_SITE)),
        }
    }

    /// Checks a token.
    pub fn check_token(&self, scope: Scope, token: &str) -> Result<(), ApiError> {
        let digest: [u8; 32] = Sha256::digest(token.trim()).into();
        // Comparing digests tells nothing about a token by its time.
        let found: Vec<_> = self.tokens.iter().filter(|(known, _)| *known == digest).collect();
        if found.is_empty() {
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "the token is unknown"));
        }
        match found.iter().any(|(_, scopes)| scopes.contains(&scope)) {
            true => Ok(()),
            false => Err(ApiError::new(StatusCode::FORBIDDEN, format!("the token has not the scope {}", scope.word()))),
        }
    }

    /// Checks a request for the socket of a call, which may have a ticket in place of a token, because pages cannot set
    /// headers of a WebSocket.
    pub fn check_socket(&self, call_id: &CallId, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let query = uri.query().unwrap_or_default();
        match query.split('&').find_map(|pair| pair.strip_prefix("ticket=")) {
            Some(ticket) if self.has_tokens() => {
                let found = self.tickets.lock().unwrap_or_else(PoisonError::into_inner).remove(ticket);
                match found {
                    Some((of, until)) if of == *call_id && Instant::now() <= until => Ok(()),
                    _ => Err(ApiError::new(
                        StatusCode::FORBIDDEN,
                        "the ticket is unknown, used, too old, or of another call",
                    )),
                }
            }
            _ => self.check(Scope::Call, headers),
        }
    }

    /// Returns a ticket that opens one socket of a call, within 30 s.
    ///
    /// Returns an error if the system has no random bytes.
    pub fn ticket(&self, call_id: &CallId) -> Result<String, ApiError> {
        let ticket = secret()?;
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        tickets.retain(|_, (_, until)| *until >= now);
        tickets.insert(ticket.clone(), (call_id.clone(), now + TICKET_LASTS));
        Ok(ticket)
    }
}

impl Scope {
    fn read(word: &str) -> Option<Self> {
        [Self::Call, Self::Read, Self::Admin].into_iter().find(|scope| scope.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }
}

/// Returns a secret that nobody can guess.
///
/// Returns an error if the system has no random bytes.
#[expect(clippy::disallowed_methods, reason = "a secret must not be what a seed gives")]
pub fn secret() -> Result<String, ApiError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    Ok(secret.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Checks that the request names this host, and that a page that sends it is of this host.
fn check_local(headers: &HeaderMap) -> Result<(), ApiError> {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !is_local(host) {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "without tokens, the server answers to localhost alone"));
    }
    match headers.get(ORIGIN).map(|value| value.to_str().unwrap_or_default()) {
        None => Ok(()),
        Some(origin) if origin.split_once("://").is_some_and(|(_, host)| is_local(host)) => Ok(()),
        Some(_) => Err(ApiError::new(StatusCode::FORBIDDEN, OTHER_SITE)),
    }
}

/// Returns whether a host, with or without a port, is this one.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn without_tokens_only_this_host_has_access() {
        let access = Access::local();
        let status = |pairs: &[(&'static str, &'static str)]| {
            access.check(Scope::Admin, &headers(pairs)).err().map(|error| error.status.as_u16())
        };
        for host in ["localhost", "localhost:80", "127.0.0.1:8765", "[::1]:8765"] {
            assert_eq!(status(&[("host", host)]), None, "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "[fe80::1]:80"]
        {
            assert_eq!(status(&[("host", host)]), Some(403), "{host}");
        }
        assert_eq!(status(&[("host", "localhost"), ("origin", "http://localhost:3000")]), None);
        for origin in ["https://evil.example", "null", "file://", "https://localhost.evil.example"] {
            assert_eq!(status(&[("host", "localhost"), ("origin", origin)]), Some(403), "{origin}");
        }
    }

    #[test]
    fn token_allows_what_its_scopes_say() {
        let access = Access::of_tokens("# tokens\ncall,read 0123456789abcdef\n\nadmin fedcba9876543210\n").unwrap();
        let status = |scope, token: &'static str| {
            let error = access.check(scope, &headers(&[("authorization", token)])).err();
            error.map(|error| error.status.as_u16())
        };
        assert_eq!(status(Scope::Call, "Bearer 0123456789abcdef"), None);
        assert_eq!(status(Scope::Admin, "Bearer 0123456789abcdef"), Some(403));
        assert_eq!(status(Scope::Admin, "Bearer fedcba9876543210"), None);
        for wrong in ["Bearer 0123456789abcdee", "Bearer", "Basic 0123456789abcdef", ""] {
            assert_eq!(status(Scope::Read, wrong), Some(401), "{wrong}");
        }
        assert_eq!(access.check(Scope::Read, &HeaderMap::new()).unwrap_err().status.as_u16(), 401);
        for wrong in ["", "call", "call short", "root 0123456789abcdef"] {
            let error = Access::of_tokens(wrong).err().unwrap();
            assert!(!error.contains("0123456789abcdef"), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn ticket_opens_one_socket_of_its_call_in_time() {
        let access = Access::of_tokens("call 0123456789abcdef").unwrap();
        let [one, two] = ["one", "two"].map(|id| CallId::new(id).unwrap());
        let is_open = |call_id: &CallId, ticket: &str| {
            let uri: Uri = format!("/v1/calls/{call_id}/socket?ticket={ticket}").parse().unwrap();
            access.check_socket(call_id, &uri, &HeaderMap::new()).is_ok()
        };
        let ticket = access.ticket(&one).unwrap();
        assert!(is_open(&one, &ticket) && !is_open(&one, &ticket), "it opens one socket");
        assert!(!is_open(&two, &access.ticket(&one).unwrap()), "it is of another call");
        let late = access.ticket(&one).unwrap();
        tokio::time::advance(TICKET_LASTS + Duration::from_millis(1)).await;
        assert!(!is_open(&one, &late) && !is_open(&one, "") && !is_open(&one, "guess"));
    }
}
