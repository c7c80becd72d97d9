//! [`Sessions`]: who has logged in to the pages, and the cookie that says so.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::auth::secret;
use super::error::ApiError;

/// How long a session lasts.
const LASTS: Duration = Duration::from_secs(12 * 3_600);
/// The most sessions at a time. The one that ends first makes room.
const MAX_SESSIONS: usize = 1_000;
const NAME: &str = "verbale_session";

/// The sessions of this process, by the SHA-256 of their ids, with their ends.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<[u8; 32], Instant>>);

impl Sessions {
    /// Begins a session. Returns its id.
    ///
    /// Returns an error if the system has no random bytes.
    pub fn open(&self) -> Result<String, ApiError> {
        let id = secret()?;
        let mut all = self.all();
        let now = Instant::now();
        all.retain(|_, until| *until >= now);
        if all.len() >= MAX_SESSIONS
            && let Some(oldest) = all.iter().min_by_key(|(_, until)| **until).map(|(digest, _)| *digest)
        {
            all.remove(&oldest);
        }
        all.insert(digest(&id), now + LASTS);
        Ok(id)
    }

    /// Returns whether a request belongs to a session.
    pub fn has(&self, headers: &HeaderMap) -> bool {
        let id = id_of(headers);
        id.is_some_and(|id| self.all().get(&digest(id)).is_some_and(|until| Instant::now() <= *until))
    }

    /// Ends the session of a request.
    pub fn close(&self, headers: &HeaderMap) {
        if let Some(id) = id_of(headers) {
            self.all().remove(&digest(id));
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<[u8; 32], Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(id: &str) -> [u8; 32] {
    Sha256::digest(id).into()
}

fn id_of(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME).map(|(_, id)| id)
}

/// Returns the cookie of a session, or one that removes it. A proxy that speaks TLS says so in `X-Forwarded-Proto`.
pub fn cookie(session: Option<&str>, headers: &HeaderMap) -> String {
    let is_tls = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let (id, lasts) = session.map_or(("", 0), |id| (id, LASTS.as_secs()));
    let secure = if is_tls { "; Secure" } else { "" };
    format!("{NAME}={id}; HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts}{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, cookie.parse().unwrap())])
    }

    #[tokio::test(start_paused = true)]
    async fn session_ends_at_logout_or_after_its_time() {
        let sessions = Sessions::default();
        let request = of(&format!("a=b; {NAME}={}", sessions.open().unwrap()));
        assert!(sessions.has(&request));
        for other in ["", "verbale_session=", "verbale_session=0", "other_session=0", "verbale_session"] {
            assert!(!sessions.has(&of(other)), "{other}");
        }
        sessions.close(&request);
        assert!(!sessions.has(&request), "it was closed");
        let request = of(&format!("{NAME}={}", sessions.open().unwrap()));
        tokio::time::advance(LASTS).await;
        assert!(sessions.has(&request));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!sessions.has(&request), "its time is over");
    }

    #[tokio::test(start_paused = true)]
    async fn oldest_session_makes_room() {
        let sessions = Sessions::default();
        let mut ids = Vec::new();
        for _ in 0..=MAX_SESSIONS {
            ids.push(sessions.open().unwrap());
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let has = |id: &str| sessions.has(&of(&format!("{NAME}={id}")));
        assert_eq!(ids.iter().map(|id| has(id)).collect::<Vec<_>>(), [vec![false], vec![true; MAX_SESSIONS]].concat());
    }

    #[test]
    fn cookie_is_secure_behind_tls() {
        let tls = HeaderMap::from_iter([("x-forwarded-proto".parse().unwrap(), "https".parse().unwrap())]);
        let plain = "verbale_session=id; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200";
        assert_eq!(cookie(Some("id"), &HeaderMap::new()), plain);
        assert_eq!(cookie(Some("id"), &tls), format!("{plain}; Secure"));
        assert_eq!(cookie(None, &tls), "verbale_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure");
    }
}
