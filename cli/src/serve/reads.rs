//! The data of a call that programs read over HTTP, live or from the log.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use verbale::conversation::Conversation;
use verbale::log::{CallId, LoggedCall};
use verbale::{Message, MessageWrapper, MessagesManager, PlainMessage, Record};

use super::Server;
use super::auth::Scope;
use super::error::ApiError;
use super::request::{Answer, call_id, live};
use crate::turns::Turns;

type Id = Path<String>;

/// Returns the messages of a call. Those of a live call are the ones in memory.
#[utoipa::path(
    get,
    path = "/v1/calls/{id}",
    params(("id" = String, Path, description = "the id of the call")),
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
pub async fn messages(State(server): State<Arc<Server>>, Path(id): Id, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let call_id = call_id(&id)?;
    if let Some(call) = server.calls.get(&call_id) {
        let records = call.session.conversation().read(MessagesManager::records);
        return Ok(Json(json!({ "call": id, "state": "live", "messages": records })).into_response());
    }
    let call = stored(&server, &call_id).await?;
    let state = if call.ended.is_some() { "ended" } else { "open" };
    let reason = call.ended.as_ref().map(|ended| ended.reason.to_string());
    Ok(Json(json!({ "call": id, "state": state, "reason": reason, "messages": call.records })).into_response())
}

/// Returns the facts of a call, and the acts whose outcome the caller was not told.
#[utoipa::path(
    get,
    path = "/v1/calls/{id}/memory",
    params(("id" = String, Path, description = "the id of the call")),
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
pub async fn memory(State(server): State<Arc<Server>>, Path(id): Id, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let conversation = find(&server, &call_id(&id)?).await?;
    let facts: Vec<Value> =
        conversation.facts().iter().map(|fact| json!({ "name": fact.slot(), "value": fact.value() })).collect();
    let untold: Vec<Value> = conversation
        .untold_acts()
        .iter()
        .map(|act| json!({ "tool_call_id": act.id().to_string(), "tool": act.name().to_string() }))
        .collect();
    Ok(Json(json!({ "call": id, "facts": facts, "untold": untold })).into_response())
}

/// Returns the metrics of a live call.
#[utoipa::path(
    get,
    path = "/v1/calls/{id}/metrics",
    params(("id" = String, Path, description = "the id of the call")),
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
pub async fn metrics(State(server): State<Arc<Server>>, Path(id): Id, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let metrics = live(&server, &id)?.session.conversation().metrics();
    let answer = json!({
        "call": id,
        "turns": metrics.turns,
        "barge_ins": metrics.barge_ins,
        "tool_calls": metrics.tool_calls,
        "model_switches": metrics.model_switches,
        "summaries_applied": metrics.summaries_applied,
        "input_tokens": metrics.usage.input_tokens,
        "output_tokens": metrics.usage.output_tokens,
        "response_gaps_ms": metrics.response_gaps_ms,
        "first_tokens_ms": metrics.first_tokens_ms,
        "text": metrics.to_string(),
    });
    Ok(Json(answer).into_response())
}

/// Returns the records of a call's turns, each with the message that has it.
#[utoipa::path(
    get,
    path = "/v1/calls/{id}/turns",
    params(("id" = String, Path, description = "the id of the call")),
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
pub async fn turns(State(server): State<Arc<Server>>, Path(id): Id, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let conversation = find(&server, &call_id(&id)?).await?;
    let turns: Vec<Value> = read_all(&server, &conversation, |manager| {
        let messages = manager.meta_messages().iter().map(MessageWrapper::message);
        let turns = messages.filter_map(|message| Some((message, message.metadata().turn()?)));
        let turn = |(message, turn): (&Message, _)| {
            json!({ "message": message.id().to_string(), "seq": message.position().seq(), "turn": turn })
        };
        turns.map(turn).collect()
    })
    .await?;
    Ok(Json(json!({ "call": id, "turns": turns })).into_response())
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AskedPrompt {
    /// The number of the turn, from 1; the last one by default.
    turn: Option<u32>,
}

/// Returns the prompt of a turn's last request.
#[utoipa::path(
    get,
    path = "/v1/calls/{id}/prompt",
    params(("id" = String, Path, description = "the id of the call"), AskedPrompt),
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
pub async fn prompt(
    State(server): State<Arc<Server>>,
    Path(id): Id,
    Query(asked): Query<AskedPrompt>,
    headers: HeaderMap,
) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let conversation = find(&server, &call_id(&id)?).await?;
    let turns = read_all(&server, &conversation, Turns::of).await?;
    let sent = turns.requests().filter(|sent| asked.turn.is_none_or(|turn| sent.turn.number == turn)).last();
    let rebuilt = sent.and_then(|sent| Some((sent.turn.number, sent.sent_ms, conversation.prompt_at(sent.sent_ms)?)));
    let Some((turn, sent_ms, (prompt, is_same))) = rebuilt else {
        return Err(ApiError::new(StatusCode::NOT_FOUND, "the call has no request of that turn in memory"));
    };
    let messages: Vec<Record> = prompt.messages.into_iter().map(Record::from).collect();
    let answer = json!({
        "call": id, "turn": turn, "sent_ms": sent_ms, "is_same": is_same, "system": prompt.system,
        "late_system": prompt.late_system, "memory": prompt.memory, "messages": messages,
    });
    Ok(Json(answer).into_response())
}

/// Returns a call or a chat: the one that is open here, or what the log has of it.
pub async fn find(server: &Server, call_id: &CallId) -> Result<Conversation, ApiError> {
    match server.calls.conversation(call_id) {
        Some(conversation) => Ok(conversation),
        None => Ok(Conversation::from_manager(call_id.clone(), stored(server, call_id).await?.restore())),
    }
}

/// Reads all messages of a call. Those that have left memory come from the log.
pub async fn read_all<T>(
    server: &Server,
    conversation: &Conversation,
    read: impl FnOnce(&MessagesManager<PlainMessage>) -> T,
) -> Result<T, ApiError> {
    match conversation.read(MessagesManager::pruned) {
        0 => Ok(conversation.read(read)),
        _ => Ok(read(&conversation.whole(&*server.log).await?)),
    }
}

/// Reads a call from the log.
pub async fn stored(server: &Server, call_id: &CallId) -> Result<LoggedCall, ApiError> {
    let call = server.log.read_call(call_id).await?;
    if call.is_empty() { Err(ApiError::no_call()) } else { Ok(call) }
}
