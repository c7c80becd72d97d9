//! What an operator does with calls: holds, erasures, and the end of all of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use serde_json::json;
use verbale::log::{CallChange, LogErrorKind};

use super::Server;
use super::auth::Scope;
use super::request::{Answer, call_id};

/// Keeps a call from being erased and from expiring.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/hold",
    params(("id" = String, Path, description = "the id of the call")),
    responses((status = 200, description = "done", body = Value)),
    security(("admin" = [])),
)]
pub async fn hold(state: State<Arc<Server>>, id: Path<String>, headers: HeaderMap) -> Answer {
    change(state, id, headers, CallChange::Hold, "held").await
}

/// Ends the hold of a call.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/release",
    params(("id" = String, Path, description = "the id of the call")),
    responses((status = 200, description = "done", body = Value)),
    security(("admin" = [])),
)]
pub async fn release(state: State<Arc<Server>>, id: Path<String>, headers: HeaderMap) -> Answer {
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
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/erase",
    params(("id" = String, Path, description = "the id of the call")),
    responses((status = 200, description = "done", body = Value)),
    security(("admin" = [])),
)]
pub async fn erase(State(server): State<Arc<Server>>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Admin, &headers)?;
    let call_id = call_id(&id)?;
    server.calls.close(&call_id, "erased").await?;
    match server.writer.erase(&call_id).await {
        Err(error) if error.kind() != LogErrorKind::Erased => Err(error.into()),
        _ => Ok(Json(json!({ "call": id, "state": "erased" })).into_response()),
    }
}

/// Closes all calls and takes no new ones, so that the process can be stopped.
#[utoipa::path(
    post,
    path = "/v1/drain",
    responses((status = 200, description = "done", body = Value)),
    security(("admin" = [])),
)]
pub async fn drain(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Admin, &headers)?;
    let drained = server.drain().await;
    Ok(Json(json!({ "closed": drained.closed.len(), "is_complete": drained.is_complete() })).into_response())
}
