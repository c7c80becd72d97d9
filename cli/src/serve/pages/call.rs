//! The page of a call: its report, which follows the call as long as it is live here.

use std::sync::Arc;

use askama::Template;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use verbale::log::{CallHeader, CallId, Durability, LoggedCall};
use verbale::{LastMessage, Record};

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

/// The state that readers of a live call's page share: its newest version, and the messages that the call no longer has in memory.
#[derive(Default)]
pub struct Seen(Mutex<Shown>);

#[derive(Default)]
struct Shown {
    version: String,
    page: Bytes,
    /// How many messages had left memory when the log was read.
    left: usize,
    older: Vec<Record>,
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
    let page = match server.calls.get(&call_id) {
        Some(live) => of_live(&server, call_id, &live).await?,
        None => of_log(&server, call_id).await?,
    };
    Ok((headers(), page).into_response())
}

/// Returns the page of a live call. It is made once for each version.
async fn of_live(server: &Server, call_id: CallId, live: &LiveCall) -> Result<Bytes, ApiError> {
    let mut shown = live.seen.0.lock().await;
    // Later changes are another version.
    let version = live.changes.version();
    if shown.version == version {
        return Ok(shown.page.clone());
    }
    let log = log_of(live);
    let conversation = live.session.conversation();
    let metadata = conversation.metadata();
    let (left, newest) = conversation.read(|manager| (manager.pruned(), manager.records()));
    // If the log cannot be read, the page names what is missing.
    if shown.left != left
        && let Ok(call) = server.log.read_call(&call_id).await
    {
        (shown.left, shown.older) = (left, call.records);
    }
    // The newest revision of each message counts.
    let records = shown.older.iter().cloned().chain(newest).collect();
    let started_ms = metadata.created_ms.unwrap_or_else(|| live.session.now_ms());
    // Fails for a time that no log has.
    let header = CallHeader::new(call_id.clone(), started_ms).ok();
    let follow = Follow { events: format!("/calls/{}/events", encoded(call_id.as_str())), version: version.clone() };
    let status = format!("Live, {}", count(metadata.messages as u64, "message"));
    let served = served(server, Some(follow), status);
    let page = render(call_id, LoggedCall::new(header, records), served, Some(log)).await?;
    (shown.version, shown.page) = (version, page.clone());
    Ok(page)
}

async fn of_log(server: &Server, call_id: CallId) -> Result<Bytes, ApiError> {
    let call = stored(server, &call_id).await?;
    let status = match call.ended {
        Some(_) => "The call has ended",
        None => "The call is not live at this server, and this page does not follow it",
    };
    render(call_id, call, served(server, None, status.to_owned()), None).await
}

/// Makes a page. That of a long call takes its time.
async fn render(call_id: CallId, call: LoggedCall, served: Served, log: Option<String>) -> Result<Bytes, ApiError> {
    let page = spawn_blocking(move || Page::new(&call_id, call, Known::default()).served(served, log).render());
    Ok(page.await.map_err(internal)?.map_err(internal)?.into())
}

fn internal(error: impl std::fmt::Display) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error)
}

/// Says what the log has of a live call, and what waits.
pub fn log_of(live: &LiveCall) -> String {
    let conversation = live.session.conversation();
    if conversation.not_logged().is_some() {
        return "nothing more is logged: another server has the call, or it was erased".to_owned();
    }
    let has_new = || conversation.read(|manager| !manager.new_changes(LastMessage::Include).is_empty());
    let place = match conversation.log_level() {
        None | Some(Durability::Stored) if !has_new() => return "everything is stored".to_owned(),
        Some(Durability::Spooled) => "the spool",
        _ => "memory",
    };
    // The manager learns only with the next change what was stored.
    let waiting = conversation.read(|manager| manager.changes(LastMessage::Include).len());
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
