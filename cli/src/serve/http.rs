//! The HTTP interface: everything but the socket of a call.

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use verbale::log::{CallQuery, Tenant};

use super::Server;
use super::auth::Scope;
use super::chat;
use super::error::ApiError;
use super::limits::{self, MAX_BODY};
use super::protocol::Start;
use super::request::{self, Answer, Body, body, call_id, cursor};
use super::{admin, edits, modality, openapi, pages, reads, socket, telemetry, twilio};

/// Returns the routes, and the document about them.
pub fn router(server: Arc<Server>) -> Router {
    let (router, document) = openapi::document()
        .routes(routes!(healthy))
        .routes(routes!(ready))
        .routes(routes!(list))
        .routes(routes!(reads::messages, open))
        .routes(routes!(connect))
        .routes(routes!(ticket))
        .routes(routes!(reads::memory))
        .routes(routes!(reads::metrics))
        .routes(routes!(reads::turns))
        .routes(routes!(reads::prompt))
        .routes(routes!(edits::system))
        .routes(routes!(edits::data))
        .routes(routes!(edits::attributes))
        .routes(routes!(close))
        .routes(routes!(admin::hold))
        .routes(routes!(admin::release))
        .routes(routes!(admin::erase))
        .routes(routes!(admin::drain))
        .routes(routes!(telemetry::metrics))
        .routes(routes!(chat::complete))
        .routes(routes!(chat::models))
        .routes(routes!(twilio::voice))
        .routes(routes!(twilio::after))
        .routes(routes!(twilio::connect))
        .routes(routes!(modality::submit))
        .routes(routes!(modality::immediate))
        .routes(routes!(modality::scheduled))
        .routes(routes!(modality::pending))
        .routes(routes!(modality::state::query))
        .routes(routes!(modality::state::snapshot))
        .split_for_parts();
    let document = openapi::text(&document);
    router
        .merge(pages::routes())
        .route("/openapi.json", get(|| async { ([(CONTENT_TYPE, "application/json")], document) }))
        .fallback(|| async { ApiError::new(StatusCode::NOT_FOUND, "there is no such address; see docs/serve.md") })
        .layer(axum::extract::DefaultBodyLimit::max(MAX_BODY))
        .layer(axum::middleware::from_fn_with_state(server.clone(), limits::apply))
        .with_state(server)
}

/// Answers as long as the process is alive.
#[utoipa::path(
    get,
    path = "/healthz",
    responses((status = 200, description = "done", body = String)),
    security(()),
)]
async fn healthy() -> &'static str {
    "ok\n"
}

/// Answers as long as the server takes calls.
#[utoipa::path(
    get,
    path = "/readyz",
    responses((status = 200, description = "done", body = String)),
    security(()),
)]
async fn ready(State(server): State<Arc<Server>>) -> Response {
    server.check_running("the server is stopping").map(|()| "ok\n").into_response()
}

/// Opens the socket of a call.
#[utoipa::path(
    get,
    path = "/v1/calls/{id}/socket",
    params(("id" = String, Path, description = "the id of the call"), ("ticket" = Option<String>, Query, description = "in place of a token")),
    responses((status = 101, description = "done")),
    security(("call" = [])),
)]
async fn connect(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Answer {
    let call_id = call_id(&id)?;
    server.access.check_socket(&call_id, &uri, &headers)?;
    server.check_running("the server is stopping; connect to another one")?;
    Ok(limits::of_socket(upgrade).on_upgrade(move |socket| socket::serve(socket, server, call_id)))
}

/// Returns a ticket for the socket of a call.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/ticket",
    params(("id" = String, Path, description = "the id of the call")),
    responses((status = 200, description = "done", body = Value)),
    security(("call" = [])),
)]
async fn ticket(State(server): State<Arc<Server>>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    Ok(Json(json!({ "ticket": server.access.ticket(&call_id(&id)?)? })).into_response())
}

/// Opens a call, or resumes it.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}",
    params(("id" = String, Path, description = "the id of the call")),
    request_body = Start,
    responses((status = 201, description = "done", body = Value)),
    security(("call" = [])),
)]
async fn open(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    given: Body<Start>,
) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    let start = body(given, "the body is not that of `start`, without its type")?;
    server.check_running("the server is stopping; open the call at another one")?;
    let opened = server.calls.open(&call_id(&id)?, &start).await?;
    let answer = json!({ "call": id, "instance": opened.call.instance, "is_resumed": opened.is_resumed });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

#[derive(Deserialize, ToSchema)]
struct Close {
    #[serde(default = "hangup")]
    reason: String,
}

fn hangup() -> String {
    "hangup".to_owned()
}

/// Ends a live call.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/close",
    params(("id" = String, Path, description = "the id of the call")),
    request_body = Close,
    responses((status = 200, description = "done", body = Value)),
    security(("call" = [])),
)]
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
        false => Err(ApiError::not_live()),
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Listing {
    day: Option<String>,
    tenant: Option<String>,
    after: Option<String>,
    limit: Option<u16>,
}

/// Returns the ids of the live calls, or the calls of a day.
#[utoipa::path(
    get,
    path = "/v1/calls",
    params(Listing),
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
async fn list(State(server): State<Arc<Server>>, Query(listing): Query<Listing>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let Some(day) = listing.day else {
        let ids: Vec<String> = server.calls.ids().iter().map(ToString::to_string).collect();
        return Ok(Json(json!({ "live": ids })).into_response());
    };
    let tenant = listing.tenant.map(Tenant::new).transpose()?;
    let after = listing.after.map(|after| cursor(&after)).transpose()?;
    let query = CallQuery::of_day(request::day(&day)?).with_tenant(tenant).with_limit(listing.limit.unwrap_or(100));
    let page = server.log.list_calls(&query.with_after(after)).await?;
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
