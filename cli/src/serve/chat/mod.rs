//! `POST /v1/chat/completions`: a call behind the interface of OpenAI's models, for LiveKit, Pipecat, Vapi and others.
//!
//! Such a client sends the whole conversation with each request. The call has it already, with its memory and its log, so
//! `sync.rs` takes from the list only what is new: the caller's words, results of tools, and how much of the last answer was
//! heard. `request.rs` reads the list, `answer.rs` writes the answer.

mod answer;
mod request;
mod sync;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::Server;
use super::auth::Scope;
use super::error::ApiError;
use super::request::{Answer, Body, body};
use answer::Form;
use request::ChatRequest;
pub use sync::Chat;

/// The name of the model, where a client asks for one.
const MODEL: &str = "verbale";

/// Answers a request in the form of OpenAI's chat completions. The call is named by `X-Verbale-Call`, `user`, or `call.id`.
#[utoipa::path(
    post,
    path = "/v1/chat/completions",
    params(("X-Verbale-Call" = Option<String>, Header, description = "the id of the call")),
    request_body = Value,
    responses((status = 200, description = "done", body = Value)),
    security(("call" = [])),
)]
pub async fn complete(State(server): State<Arc<Server>>, headers: HeaderMap, given: Body<ChatRequest>) -> Response {
    match answer(server, headers, given).await {
        Ok(response) => response,
        Err(ApiError { status, text }) => {
            let kind = if status.is_server_error() { "server_error" } else { "invalid_request_error" };
            let error = json!({ "error": { "message": text, "type": kind, "param": null, "code": null } });
            (status, Json(error)).into_response()
        }
    }
}

async fn answer(server: Arc<Server>, headers: HeaderMap, given: Body<ChatRequest>) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    let request = body(given, "the body is not that of OpenAI's chat completions")?;
    server.check_running("the server is stopping; ask another one")?;
    let call_id = request.call_id(&headers)?;
    let is_stream = request.stream == Some(true);
    let form = Form {
        model: request.model.clone().unwrap_or_else(|| MODEL.to_owned()),
        has_usage: !is_stream || request.includes_usage(),
    };
    let (start, list) = request.read()?;
    let opened = server.calls.open(&call_id, &start).await?;
    // A client that was gone asks again.
    opened.call.stopped_answer_is_over().await;
    let asked = sync::take(&opened, start.tools, &list)?;
    let pieces = answer::follow(opened.call, asked);
    match is_stream {
        true => Ok(answer::stream(form, pieces)),
        false => Ok(answer::whole(form, pieces).await),
    }
}

/// Lists the one model, for clients that look for it.
#[utoipa::path(
    get,
    path = "/v1/models",
    responses((status = 200, description = "done", body = Value)),
    security(("call" = [])),
)]
pub async fn models(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Call, &headers)?;
    let model = json!({ "id": MODEL, "object": "model", "created": 0, "owned_by": MODEL });
    Ok((StatusCode::OK, Json(json!({ "object": "list", "data": [model] }))).into_response())
}
