//! Reads of the conversations of chats: a query, and the whole state.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use verbale::conversation::{Conversation, Conversations, HistoryQuery};
use verbale::log::CallId;
use verbale::{Message, MessagesManager, PlainMessage, Role};

use super::chats::MAX_HISTORY;
use super::message::{MESSAGE_ID, of_manager, order};
use super::schedule::{moment, read_moment};
use crate::serve::Server;
use crate::serve::auth::Scope;
use crate::serve::error::ApiError;
use crate::serve::reads::{find, read_all};
use crate::serve::request::{Answer, Body, body, call_id};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    conversation_id: Option<String>,
    role: Option<String>,
    since: Option<String>,
    until: Option<String>,
    limit: Option<usize>,
    search: Option<String>,
}

/// Finds messages of a conversation, or of all open ones: the newest ones, in the order of time.
#[utoipa::path(
    post,
    path = "/environment/modalities/chat/query",
    operation_id = "chat_query",
    request_body = Query,
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
pub async fn query(State(server): State<Arc<Server>>, headers: HeaderMap, given: Body<Query>) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let asked = body(given, "the body has conversation_id, role, since, until, limit and search, or some of them")?;
    let ids = match &asked.conversation_id {
        Some(id) => vec![call_id(id)?],
        None => server.calls.chats.ids(),
    };
    let query = asked.history()?;
    let selected = Conversations::default().with_history_limit(usize::MAX);
    let mut written = HashMap::new();
    for call_id in ids {
        if let Some(manager) = whole(&server, &call_id).await? {
            for message in of_manager(call_id.as_str(), &manager) {
                let id = message.get("message_id").and_then(Value::as_str).unwrap_or_default().to_owned();
                written.insert((call_id.clone(), id), message);
            }
            selected.insert(&Conversation::from_manager(call_id, manager)).map_err(ApiError::invalid)?;
        }
    }
    let found = selected.query(&query).map_err(ApiError::invalid)?;
    let mut messages: Vec<Value> =
        found.into_iter().filter_map(|found| written.remove(&(found.conversation, id_of(&found.message)))).collect();
    messages.sort_by_cached_key(order);
    Ok(Json(json!({ "messages": messages })).into_response())
}

/// Returns the id that a message has in the interface.
fn id_of(message: &Message) -> String {
    let own = message.metadata().aux().get(MESSAGE_ID).and_then(verbale::Value::as_str);
    own.map_or_else(|| message.id().to_string(), str::to_owned)
}

impl Query {
    fn history(&self) -> Result<HistoryQuery, ApiError> {
        let mut query = HistoryQuery::default().newest_first();
        if let Some(role) = &self.role {
            let known = [Role::User, Role::Assistant].into_iter().find(|known| known.to_string() == *role);
            query = query.with_role(known.ok_or_else(|| ApiError::invalid("the role is user or assistant"))?);
        } else {
            query = query.with_role(Role::User).with_role(Role::Assistant);
        }
        if let Some(since) = &self.since {
            query = query.with_since_ms(read_moment(since)?);
        }
        if let Some(until) = &self.until {
            query = query.with_until_ms(read_moment(until)?);
        }
        if let Some(limit) = self.limit {
            query = query.with_limit(limit);
        }
        if let Some(search) = &self.search {
            query = query.with_text(search.as_str());
        }
        Ok(query)
    }
}

/// Returns all messages of a conversation, open or from the log. There may be none.
async fn whole(server: &Server, call_id: &CallId) -> Result<Option<MessagesManager<PlainMessage>>, ApiError> {
    match find(server, call_id).await {
        Ok(conversation) => Ok(Some(read_all(server, &conversation, MessagesManager::clone).await?)),
        Err(error) if error.is_no_call() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the state of all open conversations, with the messages in memory.
#[utoipa::path(
    get,
    path = "/environment/modalities/chat",
    operation_id = "chat_state",
    responses((status = 200, description = "done", body = Value)),
    security(("read" = [])),
)]
pub async fn snapshot(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    server.access.check(Scope::Read, &headers)?;
    let (mut messages, mut conversations) = (Vec::new(), Map::new());
    let (mut last_updated, mut update_count) = (None, 0);
    for conversation in server.calls.chats.all() {
        let metadata = conversation.metadata();
        let id = metadata.conversation.to_string();
        messages.extend(conversation.read(|manager| of_manager(&id, manager)));
        last_updated = last_updated.max(metadata.last_updated_ms);
        update_count += metadata.update_count;
        let roles: Vec<String> = metadata.roles.iter().map(Role::to_string).collect();
        let about = json!({
            "conversation_id": id,
            "created_at": metadata.created_ms.map(moment),
            "last_message_at": metadata.last_message_ms.map(moment),
            "message_count": metadata.update_count,
            "participant_roles": roles,
        });
        conversations.insert(id, about);
    }
    messages.sort_by_cached_key(order);
    let state = json!({
        "modality_type": "chat",
        "last_updated": last_updated.map(moment),
        "update_count": update_count,
        "messages": messages,
        "conversations": conversations,
        "max_history_size": MAX_HISTORY,
        "default_conversation_id": "default",
    });
    Ok(Json(state).into_response())
}
