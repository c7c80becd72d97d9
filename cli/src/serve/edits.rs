//! Changes to a live call that are allowed at any time: instructions, data and marks of messages.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use verbale::conversation::{ConversationError, ConversationErrorKind, Edit};
use verbale::{Attribute, MessageId};

use super::Server;
use super::auth::Scope;
use super::error::ApiError;
use super::request::{Answer, Body, body, live};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    text: String,
}

/// Adds instructions. The next prompt has them after the earlier ones.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/system",
    params(("id" = String, Path, description = "the id of the call")),
    request_body = System,
    responses((status = 200, description = "done", body = Value)),
    security(("call" = [])),
)]
pub async fn system(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    given: Body<System>,
) -> Answer {
    let System { text } = allowed(&server, &headers, given, "`{\"text\": \"...\"}`")?;
    let message = edit(&server, &id, |edit| edit.add_system(text.as_str()))?;
    Ok(Json(json!({ "call": id, "message": message.to_string() })).into_response())
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Data {
    message: String,
    key: String,
    value: Value,
}

/// Sets custom data of a message. A null removes it.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/data",
    params(("id" = String, Path, description = "the id of the call")),
    request_body = Data,
    responses((status = 200, description = "done", body = Value)),
    security(("call" = [])),
)]
pub async fn data(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    given: Body<Data>,
) -> Answer {
    let Data { message, key, value } =
        allowed(&server, &headers, given, "`{\"message\": \"ID\", \"key\": \"...\", \"value\": ...}`")?;
    let message = message_id(&message)?;
    let before = edit(&server, &id, |edit| edit.set_data(&message, key, value))?;
    Ok(Json(json!({ "call": id, "before": before })).into_response())
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    message: String,
    attribute: String,
}

/// Marks a message.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/attributes",
    params(("id" = String, Path, description = "the id of the call")),
    request_body = Mark,
    responses((status = 200, description = "done", body = Value)),
    security(("call" = [])),
)]
pub async fn attributes(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    given: Body<Mark>,
) -> Answer {
    let Mark { message, attribute } =
        allowed(&server, &headers, given, "`{\"message\": \"ID\", \"attribute\": \"hardcoded\"}`")?;
    let message = message_id(&message)?;
    let all = [Attribute::Hardcoded, Attribute::LlmInterrupted, Attribute::SpeechInterrupted];
    let known = all.into_iter().find(|known| known.to_string() == attribute);
    let attribute = known.ok_or_else(|| ApiError::invalid(format!("the attribute is one of {}", names(&all))))?;
    let is_new = edit(&server, &id, |edit| edit.add_attribute(&message, attribute))?;
    Ok(Json(json!({ "call": id, "is_new": is_new })).into_response())
}

/// Returns the body of a request that may change a call.
fn allowed<T>(server: &Server, headers: &HeaderMap, given: Body<T>, form: &str) -> Result<T, ApiError> {
    server.access.check(Scope::Call, headers)?;
    body(given, format!("the body is {form}"))
}

fn edit<T>(
    server: &Server,
    id: &str,
    change: impl FnOnce(&mut Edit<'_>) -> Result<T, ConversationError>,
) -> Result<T, ApiError> {
    let call = live(server, id)?;
    call.touch();
    call.session.conversation().edit(change).map_err(|error| match error.kind() {
        ConversationErrorKind::NotFound => ApiError::new(StatusCode::NOT_FOUND, error),
        _ => ApiError::invalid(error),
    })
}

fn names(attributes: &[Attribute]) -> String {
    attributes.iter().map(Attribute::to_string).collect::<Vec<_>>().join(", ")
}

fn message_id(id: &str) -> Result<MessageId, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("the id of the message is none"))
}
