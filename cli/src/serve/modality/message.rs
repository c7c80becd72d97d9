//! [`Message`]: a submitted message, as `verbale::exchange::import_chat` reads it.

use serde_json::Value;
use verbale::clock::{Clock, SystemClock};
use verbale::exchange::{ImportOptions, export_chat, import_chat};
use verbale::log::CallId;
use verbale::message::{Contents, Decision, Map};
use verbale::{Draft, MessageId, MessageWrapper, MessagesManager, PlainMessage, Role, Timing};

use super::schedule::{moment, read_moment};
use crate::serve::error::ApiError;

/// The custom data that keeps the `message_id` of a client, if it is not an id of the library.
pub const MESSAGE_ID: &str = "chatMessageId";

/// A submitted message that can be added.
#[derive(Clone)]
pub struct Message {
    pub call_id: CallId,
    /// The message in the form of its interface.
    pub json: Value,
    role: Role,
    contents: Contents,
    id: MessageId,
    data: Map,
    at_ms: i64,
}

impl Message {
    /// Reads a message. Without a time of its own, it gets `at_ms`; without an id, a new one.
    ///
    /// Returns an error without words of the message.
    pub fn read(mut data: Value, at_ms: i64) -> Result<Self, ApiError> {
        let fields =
            data.as_object_mut().filter(|fields| fields.contains_key("role") && fields.contains_key("content"));
        let fields = fields.ok_or_else(|| ApiError::invalid("a message has a `role` and a `content`"))?;
        let is_missing =
            |name: &str, fields: &serde_json::Map<String, Value>| fields.get(name).is_none_or(Value::is_null);
        if is_missing("timestamp", fields) {
            fields.insert("timestamp".to_owned(), moment(at_ms).into());
        }
        if is_missing("message_id", fields) && is_missing("input_id", fields) {
            // Not the time of the message: all ids of a process rise, so one of the year 2999 would be followed by others.
            fields.insert("message_id".to_owned(), crate::serve::unique_id(SystemClock.now_ms()).into());
        }
        let conversations: Vec<(String, MessagesManager<PlainMessage>)> =
            import_chat(data.to_string(), &ImportOptions::default()).map_err(ApiError::invalid)?;
        let one = conversations.into_iter().next();
        let (conversation, mut manager) = one.ok_or_else(|| ApiError::invalid("there is no message"))?;
        let json = of_manager(&conversation, &manager).pop();
        let message = manager.meta_messages().last().map(|last| last.message().clone());
        let (Some(json), Some(message)) = (json, message) else {
            return Err(ApiError::invalid("there is no message"));
        };
        let at_ms = message.metadata().timing(Timing::Creation).unwrap_or(at_ms);
        // A time that no log takes is refused here, before anything is added.
        if let Some(mut entry) = manager.entry(&message.id()) {
            entry.set_part_timing(Timing::Creation, at_ms).map_err(ApiError::invalid)?;
        }
        Ok(Self {
            call_id: CallId::new(conversation)?,
            json,
            role: message.role(),
            contents: message.contents().clone(),
            id: message.id(),
            data: message.metadata().aux().clone(),
            at_ms,
        })
    }

    /// Adds the message. It is not merged with another one.
    ///
    /// Returns an error, and adds nothing, if the conversation has a message with its id.
    pub fn add_to(&self, manager: &mut MessagesManager<PlainMessage>) -> Result<(), ApiError> {
        let id = self.data.get(MESSAGE_ID);
        let mut all = manager.meta_messages().iter().map(MessageWrapper::message);
        if id.is_some() && all.any(|message| message.metadata().aux().get(MESSAGE_ID) == id) {
            return Err(ApiError::conflict("the conversation has a message with this id"));
        }
        // Each input is a decision of its own, so that the next one is not merged with it.
        let mut decision = Decision::default();
        decision.step = Some(manager.message_count());
        let draft = Draft::new(self.role, self.contents.clone()).with_id(self.id).with_decision(decision);
        let mut entry = manager.add(draft).map_err(ApiError::conflict)?;
        entry.set_part_timing(Timing::Creation, self.at_ms).map_err(ApiError::invalid)?;
        for (key, value) in self.data.iter() {
            entry.set_data(key.as_str(), value.clone()).map_err(ApiError::invalid)?;
        }
        Ok(())
    }
}

/// Returns the messages of a conversation in the form of the interface, in the order of time.
pub fn of_manager(conversation: &str, manager: &MessagesManager<PlainMessage>) -> Vec<Value> {
    // The list is one of objects.
    let mut all: Vec<Value> = serde_json::from_str(&export_chat([(conversation, manager)]).text).unwrap_or_default();
    all.sort_by_cached_key(order);
    all
}

/// Returns the place of a message: by time, and messages of one time by `input_id` or else `message_id`.
pub fn order(message: &Value) -> (i64, String) {
    let text = |name: &str| message.get(name).and_then(Value::as_str);
    let at_ms = text("timestamp").and_then(|timestamp| read_moment(timestamp).ok()).unwrap_or_default();
    (at_ms, text("input_id").or(text("message_id")).unwrap_or_default().to_owned())
}
