//! The events of a page: that it has changed, or will change no more. A page that follows asks for itself again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::serve::Server;
use crate::serve::changes::Changes;
use crate::serve::error::ApiError;
use crate::serve::request::Answer;

/// The pause after an event, so that a burst of changes is one event.
const PAUSE: Duration = Duration::from_millis(200);

/// The call or the list that a page follows.
pub struct Followed {
    pub changes: Arc<Changes>,
    /// Returns whether the page will change no more.
    pub is_over: Box<dyn Fn() -> bool + Send + Sync>,
}

struct Follower {
    server: Arc<Server>,
    /// Who reads the events.
    headers: HeaderMap,
    followed: Followed,
    newest: watch::Receiver<u64>,
    is_first: bool,
    is_last: bool,
}

/// Returns the events. They end with the page, the server, or the session of who reads them.
///
/// The first one has the state of now, so that the page knows whether it missed something.
pub fn events(server: Arc<Server>, headers: HeaderMap, followed: Followed) -> Answer {
    server.access.check_page(&headers)?;
    if server.is_draining() && !(followed.is_over)() {
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"));
    }
    let newest = followed.changes.watch();
    let follower = Follower { server, headers, followed, newest, is_first: true, is_last: false };
    let events = stream::unfold(follower, |mut follower| async {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

impl Follower {
    async fn next(&mut self) -> Option<Event> {
        if self.is_last {
            return None;
        }
        if !self.is_first {
            sleep(PAUSE).await;
            self.newest.changed().await.ok()?;
        }
        self.is_first = false;
        // The session may have ended.
        self.server.access.check_page(&self.headers).ok()?;
        self.newest.mark_unchanged();
        self.is_last = (self.followed.is_over)();
        if self.server.is_draining() && !self.is_last {
            return None;
        }
        let name = if self.is_last { "ended" } else { "changed" };
        Some(Event::default().event(name).data(self.followed.changes.version()))
    }
}
