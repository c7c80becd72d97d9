//! The HTTP interface: everything but the socket of a call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use verbale::log::{CallChange, CallId, CallQuery, Cursor, Day, LogErrorKind, Tenant};

use super::Server;
use super::auth::Scope;
use super::chat;
use super::error::ApiError;
use super::limits::{self, MAX_BODY, MAX_MESSAGE};
use super::protocol::Start;
use super::{edits, reads, socket, telemetry};

/// An answer of the interface, or why there is none.
pub type Answer = Result<Response, ApiError>;

/// Returns the routes.
pub fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/v1/calls", get(list))
        .route("/v1/calls/{id}", get(reads::messages).post(open))
        .route("/v1/calls/{id}/socket", get(connect))
        .route("/v1/calls/{id}/ticket", post(ticket))
        .route("/v1/calls/{id}/memory", get(reads::memory))
        .route("/v1/calls/{id}/metrics", get(reads::metrics))
        .route("/v1/calls/{id}/turns", get(reads::turns))
        .route("/v1/calls/{id}/prompt", get(reads::prompt))
        .route("/v1/calls/{id}/system", post(edits::system))
        .route("/v1/calls/{id}/data", post(edits::data))
        .route("/v1/calls/{id}/attributes", post(edits::attributes))
        .route("/v1/calls/{id}/close", post(close))
        .route("/v1/calls/{id}/hold", post(hold))
        .route("/v1/calls/{id}/release", post(release))
        .route("/v1/calls/{id}/erase", post(erase))
        .route("/v1/drain", post(drain))
        .route("/metrics", get(telemetry::metrics))
        .merge(chat::routes())
        .fallback(|| async { ApiError::new(StatusCode::NOT_FOUND, "there is no such address; see docs/serve.md") })
        .layer(axum::extract::DefaultBodyLimit::max(MAX_BODY))
        .layer(axum::middleware::from_fn_with_state(server.clone(), limits::apply))
        .with_state(server)
}

async fn ready(State(server): State<Arc<Server>>) -> Response {
    match server.is_draining() {
        true => ApiError::busy("the server is stopping").into_response(),
        false => "ok\n".into_response(),
    }
}

/// Opens the socket of a call.
async fn connect(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Answer {
    let call_id = call_id(&id)?;
    server.access.check_socket(&call_id, &uri, &headers)?;
    if server.is_draining() {
        return Err(ApiError::busy("the server is stopping; connect to another one"));
    }
    let upgrade = upgrade.max_message_size(MAX_MESSAGE);
    Ok(upgrade.on_upgrade(move |socket| socket::serve(socket, server, call_id)))
}

/// Returns a ticket for the socket of a call.
async fn ticket(State(server): State<Arc<Server>>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    Ok(Json(json!({ "ticket": server.access.ticket(&call_id(&id)?)? })).into_response())
}

/// Opens a call, or resumes it.
async fn open(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Json<Start>, axum::extract::rejection::JsonRejection>,
) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    let Json(start) =
        body.map_err(|error| ApiError::new(error.status(), "the body is not that of `start`, without its type"))?;
    if server.is_draining() {
        return Err(ApiError::busy("the server is stopping; open the call at another one"));
    }
    let opened = server.calls.open(&call_id(&id)?, &start).await?;
    let answer = json!({ "call": id, "instance": opened.call.instance, "is_resumed": opened.is_resumed });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

#[derive(Deserialize)]
struct Close {
    #[serde(default = "hangup")]
    reason: String,
}

fn hangup() -> String {
    "hangup".to_owned()
}

async fn close(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Option<Json<Close>>,
) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    let reason = body.map_or_else(hangup, |Json(close)| close.reason);
    match server.calls.close(&call_id(&id)?, &reason).await? {
        true => Ok(Json(json!({ "call": id, "reason": reason })).into_response()),
        false => Err(ApiError::new(StatusCode::NOT_FOUND, "the call is not live here")),
    }
}

#[derive(Deserialize)]
struct Listing {
    day: Option<String>,
    tenant: Option<String>,
    after: Option<String>,
    limit: Option<u16>,
}

/// Returns the ids of the live calls, or the calls of a day.
async fn list(State(server): State<Arc<Server>>, Query(listing): Query<Listing>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let Some(day) = listing.day else {
        let ids: Vec<String> = server.calls.ids().iter().map(ToString::to_string).collect();
        return Ok(Json(json!({ "live": ids })).into_response());
    };
    let day: Day = day.parse().map_err(|_| ApiError::invalid("a day is written as 2025-10-20"))?;
    let tenant = listing.tenant.map(Tenant::new).transpose()?;
    let mut query = CallQuery::of_day(day).with_tenant(tenant).with_limit(listing.limit.unwrap_or(100));
    if let Some(after) = listing.after {
        let after: Cursor = after.parse().map_err(|_| ApiError::invalid("the cursor is not one of a list"))?;
        query = query.with_after(after);
    }
    let page = server.log.list_calls(&query).await?;
    let calls: Vec<Value> = page
        .calls
        .iter()
        .map(|header| {
            let reason = header.call_end().map(|end| end.reason.to_string());
            json!({ "call": header.call_id().to_string(), "started_ms": header.started_ms(), "reason": reason })
        })
        .collect();
    let next = page.next.map(|next| next.to_string());
    Ok(Json(json!({ "calls": calls, "unreadable": page.unreadable.len(), "next": next })).into_response())
}

async fn hold(state: State<Arc<Server>>, id: Path<String>, headers: HeaderMap) -> Answer {
    change(state, id, headers, CallChange::Hold, "held").await
}

async fn release(state: State<Arc<Server>>, id: Path<String>, headers: HeaderMap) -> Answer {
    change(state, id, headers, CallChange::Release, "released").await
}

async fn change(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    change: CallChange,
    done: &str,
) -> Answer {
    server.access.check(Scope::Admin, &headers)?;
    server.log.change_call(&call_id(&id)?, &change).await?;
    Ok(Json(json!({ "call": id, "state": done })).into_response())
}

/// Erases a call. A live call is closed first.
async fn erase(State(server): State<Arc<Server>>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Admin, &headers)?;
    let call_id = call_id(&id)?;
    server.calls.close(&call_id, "erased").await?;
    match server.writer.erase(&call_id).await {
        Err(error) if error.kind() != LogErrorKind::Erased => Err(error.into()),
        _ => Ok(Json(json!({ "call": id, "state": "erased" })).into_response()),
    }
}

/// Closes all calls and takes no new ones, so that the process can be stopped.
async fn drain(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Admin, &headers)?;
    server.is_draining.store(true, Ordering::Release);
    let drained = server.calls.drain().await;
    Ok(Json(json!({ "closed": drained.closed.len(), "is_complete": drained.is_complete() })).into_response())
}

/// Reads the id of a call.
pub fn call_id(id: &str) -> Result<CallId, ApiError> {
    CallId::new(id).map_err(ApiError::invalid)
}
