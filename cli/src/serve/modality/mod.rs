//! The chat modality of an environment: messages that are submitted now or at a scheduled time, their query and their state.
//!
//! A conversation of chats is a call of the log without a telephone and without a model: whoever answers submits the answer.
//! `chats.rs` has the open conversations, `message.rs` a submitted message, `schedule.rs` those of later, `state.rs` what is
//! read.

mod chats;
mod message;
mod schedule;
pub mod state;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use verbale::clock::{Clock, SystemClock};

use super::Server;
use super::auth::Scope;
use super::error::ApiError;
use super::request::{Answer, Body, body};
pub use chats::{Added, Chats};
pub use message::Message;
pub use schedule::Schedule;
use schedule::{Pending, moment, read_moment};

const FORM: &str = "the body has a role and a content, and the fields of a chat input";

/// Adds a message to a conversation.
#[utoipa::path(
    post,
    path = "/modalities/chat/submit",
    request_body = Value,
    responses((status = 201, description = "done", body = Value)),
    security(("call" = [])),
)]
pub async fn submit(State(server): State<Arc<Server>>, headers: HeaderMap, given: Body<Value>) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    apply(&server, body(given, FORM)?, None).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    modality: String,
    data: Value,
}

/// Adds a message to a conversation, as an event.
#[utoipa::path(
    post,
    path = "/events/immediate",
    operation_id = "immediate_event",
    request_body = Event,
    responses((status = 201, description = "done", body = Value)),
    security(("call" = [])),
)]
pub async fn immediate(State(server): State<Arc<Server>>, headers: HeaderMap, given: Body<Event>) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    let Event { modality, data } = body(given, "the body is `{\"modality\": \"chat\", \"data\": {...}}`")?;
    check_modality(&modality)?;
    apply(&server, data, None).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Scheduled {
    scheduled_time: String,
    modality: String,
    data: Value,
}

/// Adds a message to a conversation at a time. A time that has passed is now.
#[utoipa::path(
    post,
    path = "/events",
    operation_id = "scheduled_event",
    request_body = Scheduled,
    responses((status = 201, description = "done", body = Value), (status = 202, description = "pending", body = Value)),
    security(("call" = [])),
)]
pub async fn scheduled(State(server): State<Arc<Server>>, headers: HeaderMap, given: Body<Scheduled>) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    let form = "the body is `{\"scheduled_time\": \"...\", \"modality\": \"chat\", \"data\": {...}}`";
    let Scheduled { scheduled_time, modality, data } = body(given, form)?;
    check_modality(&modality)?;
    let at_ms = read_moment(&scheduled_time)?;
    let now_ms = SystemClock.now_ms();
    if at_ms <= now_ms {
        return apply(&server, data, Some(at_ms)).await;
    }
    server.check_running("the server is stopping")?;
    // A message that cannot be added is refused now.
    let message = Message::read(data, at_ms)?;
    let event_id = super::unique_id(now_ms);
    let answer =
        json!({ "event_id": event_id, "scheduled_time": moment(at_ms), "status": "pending", "message": message.json });
    server.calls.schedule.add(at_ms, Pending { event_id, message })?;
    Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
}

/// Returns the events that wait for their time, and the last ones that could not be applied.
#[utoipa::path(
    get,
    path = "/events/pending",
    operation_id = "pending_events",
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
pub async fn pending(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    Ok(Json(server.calls.schedule.list()).into_response())
}

/// Adds the message of an event. Its time is that of the message, or this one, or now.
async fn apply(server: &Server, data: Value, at_ms: Option<i64>) -> Answer {
    let message = Message::read(data, at_ms.unwrap_or_else(|| SystemClock.now_ms()))?;
    server.check_running("the server is stopping; submit the message to another one")?;
    let answer = message.json.clone();
    let is_stored = server.calls.submit(&message).await?.is_stored().await;
    // Without the log, the message is in the spool or in memory.
    let status = if is_stored { StatusCode::CREATED } else { StatusCode::ACCEPTED };
    Ok((status, Json(json!({ "status": "executed", "is_stored": is_stored, "message": answer }))).into_response())
}

fn check_modality(modality: &str) -> Result<(), ApiError> {
    if modality == "chat" { Ok(()) } else { Err(ApiError::invalid("the only modality is `chat`")) }
}
