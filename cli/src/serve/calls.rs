//! [`Calls`]: the live calls of the server.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use verbale::call::{CallHost, CallSettings, Closed, Drained};
use verbale::clock::{Clock, SystemClock};
use verbale::conversation::{Conversation, ConversationError, ConversationErrorKind};
use verbale::log::{CallHeader, CallId, CallerId, LogError, LogWriter, Tenant};
use verbale::message::Map;

use super::callback::Callbacks;
use super::changes::Changes;
use super::error::ApiError;
use super::events::Events;
use super::live::LiveCall;
use super::modality::{Added, Chats, Message, Schedule};
use super::models::Models;
use super::outbox::Outbox;
use super::protocol::Start;
use super::tools::ClientTools;
use crate::log::Log;

/// How long a client waits for a call that is opened or resumed.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the log may take to store the end of a call.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The live calls.
pub struct Calls {
    host: CallHost,
    models: Models,
    /// The instructions of calls whose client sends none.
    system: Option<String>,
    salt: Option<String>,
    max_calls: usize,
    callbacks: Option<Arc<Callbacks>>,
    live: Mutex<HashMap<CallId, Arc<LiveCall>>>,
    /// The conversations without a telephone, and their messages of later.
    pub chats: Chats,
    pub schedule: Schedule,
    /// The changes of all live calls, and of their list.
    pub changes: Arc<Changes>,
    /// How many calls have ended.
    ended: AtomicU64,
    /// One connection opens a call, and others wait for it.
    opening: Mutex<HashMap<CallId, Weak<Gate>>>,
}

type Gate = tokio::sync::Mutex<()>;

/// A call that was opened, resumed, or live before.
pub struct Opened {
    pub call: Arc<LiveCall>,
    pub is_resumed: bool,
}

impl Calls {
    pub fn new(
        writer: LogWriter,
        log: Log,
        models: Models,
        system: Option<String>,
        salt: Option<String>,
        max_calls: usize,
        callbacks: Option<Arc<Callbacks>>,
    ) -> Self {
        Self {
            chats: Chats::new(writer.clone(), log),
            schedule: Schedule::new(Arc::new(SystemClock)),
            host: CallHost::new(writer),
            models,
            system,
            salt,
            max_calls,
            callbacks,
            live: Mutex::default(),
            changes: Arc::new(Changes::of_all()),
            ended: AtomicU64::new(0),
            opening: Mutex::default(),
        }
    }

    pub fn get(&self, call_id: &CallId) -> Option<Arc<LiveCall>> {
        self.live().get(call_id).cloned()
    }

    /// Returns the conversation of a live call or an open chat.
    pub fn conversation(&self, call_id: &CallId) -> Option<Conversation> {
        let live = self.get(call_id).map(|call| call.session.conversation().clone());
        live.or_else(|| self.chats.get(call_id))
    }

    /// Returns the ids of the live calls and of the open chats.
    pub fn ids(&self) -> Vec<CallId> {
        self.live().keys().cloned().chain(self.chats.ids()).collect()
    }

    /// Returns the live calls, in no particular order.
    pub fn all(&self) -> Vec<Arc<LiveCall>> {
        self.live().values().cloned().collect()
    }

    /// Returns how many calls have ended in this process.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }

    /// Returns the calls that had no message and no request for this long.
    pub fn idle(&self, limit: Duration) -> Vec<CallId> {
        let live = self.live();
        let idle = live.iter().filter(|(_, call)| call.is_idle(limit)).map(|(call_id, _)| call_id.clone());
        idle.chain(self.chats.idle(limit)).collect()
    }

    /// Returns the live call, resumes it from the log, or opens it.
    pub async fn open(&self, call_id: &CallId, start: &Start) -> Result<Opened, ApiError> {
        let gate = self.gate(call_id);
        let _alone = gate.lock().await;
        if let Some(call) = self.get(call_id) {
            call.touch();
            return Ok(Opened { call, is_resumed: true });
        }
        if self.chats.get(call_id).is_some() {
            return Err(ApiError::conflict("a chat has this id; close it first"));
        }
        self.check_room()?;
        let header = self.header(call_id, start)?;
        let changes = Arc::new(Changes::of_call(&self.changes));
        let events = Arc::new(Events { outbox: Arc::new(Outbox::new()), changes, call: OnceLock::new() });
        let tools = Arc::new(ClientTools::new(events.outbox.clone(), self.callbacks.clone()));
        let mut builder = self.models.call().observer(events.clone());
        if let Some(system) = start.system.as_ref().or(self.system.as_ref()) {
            builder = builder.system(system.as_str());
        }
        for definition in &start.tools {
            builder = builder.tool(tools.tool(definition).map_err(ApiError::invalid)?);
        }
        if !start.fillers.is_empty() {
            builder = builder.settings(CallSettings::default().with_fillers(start.fillers.iter().map(String::as_str)));
        }
        let hosted = self.host.open_or_resume(header, OPEN_TIMEOUT, || builder).await.map_err(failed)?;
        let instance = super::unique_id(SystemClock.now_ms());
        let call = Arc::new(LiveCall::new(hosted.session, instance, &events, tools));
        // Nobody else has set it.
        let _ = events.call.set(Arc::downgrade(&call));
        self.live().insert(call_id.clone(), call.clone());
        call.changes.note();
        if hosted.is_resumed {
            // Words that the process before did not answer.
            let _ = call.answer();
        } else if let Some(greeting) = &start.greeting {
            call.say(greeting.clone()).map_err(ApiError::invalid)?;
        }
        Ok(Opened { call, is_resumed: hosted.is_resumed })
    }

    /// Adds a message to a chat.
    pub async fn submit(&self, message: &Message) -> Result<Added, ApiError> {
        let gate = self.gate(&message.call_id);
        let _alone = gate.lock().await;
        if self.get(&message.call_id).is_some() {
            return Err(ApiError::conflict("a live call has this id; its socket takes the words"));
        }
        if self.chats.get(&message.call_id).is_none() {
            self.check_room()?;
        }
        self.chats.add(message).await
    }

    fn check_room(&self) -> Result<(), ApiError> {
        match self.ids().len() < self.max_calls {
            true => Ok(()),
            false => Err(ApiError::busy("the server has as many calls as it may have; try another one, or later")),
        }
    }

    fn header(&self, call_id: &CallId, start: &Start) -> Result<CallHeader, ApiError> {
        let mut header = CallHeader::new(call_id.clone(), SystemClock.now_ms()).map_err(invalid)?;
        if let (Some(number), Some(salt)) = (&start.caller, &self.salt) {
            header = header.with_caller(CallerId::new(number, salt.as_bytes()).map_err(invalid)?);
        }
        if let Some(tenant) = &start.tenant {
            header = header.with_tenant(Tenant::new(tenant.as_str()).map_err(invalid)?);
        }
        if !start.attributes.is_empty() {
            let attributes = serde_json::Value::Object(start.attributes.clone());
            let attributes: Map =
                serde_json::from_value(attributes).map_err(|_| ApiError::invalid("the attributes cannot be stored"))?;
            header = header.with_attributes(attributes);
        }
        Ok(header)
    }

    /// Closes a live call and tells its client. Returns whether it was live.
    pub async fn close(&self, call_id: &CallId, reason: &str) -> Result<bool, ApiError> {
        let Some(call) = self.get(call_id) else { return self.close_chat(call_id, reason).await };
        call.begin_closing();
        let closed = self.host.close(call_id, reason, CLOSE_TIMEOUT).await.map_err(failed)?;
        self.live().remove(call_id);
        call.end(reason, false, closed.is_some_and(|closed| is_stored(&closed)));
        self.ended.fetch_add(1, Ordering::AcqRel);
        call.changes.note();
        Ok(true)
    }

    async fn close_chat(&self, call_id: &CallId, reason: &str) -> Result<bool, ApiError> {
        let gate = self.gate(call_id);
        let _alone = gate.lock().await;
        let is_closed = self.chats.close(call_id, reason).await?;
        self.ended.fetch_add(u64::from(is_closed), Ordering::AcqRel);
        self.changes.note();
        Ok(is_closed)
    }

    /// Closes all calls and stores everything, within this time. Their clients learn that another server can continue them.
    pub async fn drain(&self, timeout: Duration) -> Drained {
        self.live().values().for_each(|call| call.begin_closing());
        let (drained, ()) = tokio::join!(self.host.drain(timeout), self.chats.drain(timeout));
        let stored: HashSet<&CallId> =
            drained.closed.iter().filter(|(_, closed)| is_stored(closed)).map(|(call_id, _)| call_id).collect();
        for (call_id, call) in self.live().drain() {
            call.end("drain", true, stored.contains(&call_id));
            self.ended.fetch_add(1, Ordering::AcqRel);
            call.changes.note();
        }
        self.changes.note();
        drained
    }

    fn gate(&self, call_id: &CallId) -> Arc<Gate> {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        opening.retain(|_, gate| gate.strong_count() > 0);
        let known = opening.get(call_id).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let gate = Arc::default();
            opening.insert(call_id.clone(), Arc::downgrade(&gate));
            gate
        })
    }

    fn live(&self) -> MutexGuard<'_, HashMap<CallId, Arc<LiveCall>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the log has everything of a closed call.
fn is_stored(closed: &Closed) -> bool {
    closed.unstored.is_empty() && closed.not_accepted.is_none()
}

fn invalid(error: LogError) -> ApiError {
    ApiError::invalid(error)
}

fn failed(error: ConversationError) -> ApiError {
    match error.kind() {
        ConversationErrorKind::Closed | ConversationErrorKind::InUse => ApiError::busy(error),
        _ => match error.log_error() {
            Some(log) => ApiError::of_log(log),
            None => ApiError::invalid(error),
        },
    }
}
