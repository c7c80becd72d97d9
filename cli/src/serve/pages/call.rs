//! The page of a call: its report, which follows the call as long as it is live here.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use verbale::log::{CallHeader, CallId, LoggedCall};
use verbale::{LastMessage, MessagesManager, Record};

use super::events::Followed;
use super::{NoPage, check, encoded, events, headers, served};
use crate::html::{Follow, Served};
use crate::report::{Known, Page};
use crate::serve::Server;
use crate::serve::error::ApiError;
use crate::serve::live::LiveCall;
use crate::serve::reads::stored;
use crate::serve::request::{Answer, call_id};
use crate::text::count;

/// The messages that a live call no longer has in memory, and how many it had when they were read. All readers share them.
#[derive(Default)]
pub struct Older(Mutex<(usize, Vec<Record>)>);

impl Older {
    /// Returns the stored records of a call of which so many have left memory. They are read once.
    async fn records(&self, server: &Server, call_id: &CallId, left: usize) -> Vec<Record> {
        if left == 0 {
            return Vec::new();
        }
        let mut known = self.0.lock().await;
        // Without them, the page names what is missing.
        if known.0 != left
            && let Ok(call) = server.log.read_call(call_id).await
        {
            *known = (left, call.records);
        }
        known.1.clone()
    }
}

/// Returns the page of a call, live or from the log.
pub async fn page(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    uri: Uri,
    given: HeaderMap,
) -> Result<Response, NoPage> {
    check(&server, &given, &uri)?;
    let call_id = call_id(&id)?;
    let (call, served, log) = match server.calls.get(&call_id) {
        Some(live) => of_live(&server, &call_id, &live).await,
        None => of_log(&server, &call_id).await?,
    };
    // A long call takes its time.
    let page = spawn_blocking(move || Page::new(&call_id, call, Known::default()).served(served, log).render());
    let page = page.await.map_err(internal)?.map_err(internal)?;
    Ok((headers(), page).into_response())
}

fn internal(error: impl std::fmt::Display) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error)
}

async fn of_live(server: &Server, call_id: &CallId, live: &LiveCall) -> (LoggedCall, Served, Option<String>) {
    // What changes from here on is another version.
    let version = live.changes.version();
    let log = log_of(live);
    let conversation = live.session.conversation();
    let metadata = conversation.metadata();
    let (left, newest) = conversation.read(|manager| (manager.pruned(), manager.records()));
    let mut records = live.older.records(server, call_id, left).await;
    // The newest revision of each message counts.
    records.extend(newest);
    let started_ms = metadata.created_ms.unwrap_or_else(|| live.session.now_ms());
    // Fails for a time that no log has.
    let header = CallHeader::new(call_id.clone(), started_ms).ok();
    let follow = Follow { events: format!("/calls/{}/events", encoded(call_id.as_str())), version };
    let status = format!("Live, {}", count(metadata.messages as u64, "message"));
    (LoggedCall::new(header, records), served(server, Some(follow), status), Some(log))
}

async fn of_log(server: &Server, call_id: &CallId) -> Result<(LoggedCall, Served, Option<String>), ApiError> {
    let call = stored(server, call_id).await?;
    let status = match call.ended {
        Some(_) => "The call has ended",
        None => "The call is not live at this server, and this page does not follow it",
    };
    Ok((call, served(server, None, status.to_owned()), None))
}

/// Says what the log has of a live call, and what waits.
pub fn log_of(live: &LiveCall) -> String {
    let conversation = live.session.conversation();
    if conversation.not_logged().is_some() {
        return "nothing more is logged: another server has the call, or it was erased".to_owned();
    }
    let (new, waiting) = conversation.read(|manager: &MessagesManager<_>| {
        (manager.new_changes(LastMessage::Include).len(), manager.changes(LastMessage::Include).len())
    });
    // Without new changes, the level is that of everything. The manager learns only with the next one what was stored.
    let place = match live.log_level() {
        "stored" | "" if new == 0 => return "everything is stored".to_owned(),
        "spooled" => "the spool",
        _ => "memory",
    };
    format!("up to {} in {place}", count(waiting.max(1) as u64, "message"))
}

/// Returns the events of a call's page.
pub async fn events(State(server): State<Arc<Server>>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    let followed = match server.calls.get(&call_id(&id)?) {
        Some(live) => Followed { changes: live.changes.clone(), is_over: Box::new(move || live.outbox.is_ended()) },
        None => Followed { changes: server.calls.changes.clone(), is_over: Box::new(|| true) },
    };
    events::events(server, headers, followed)
}
