//! [`CallSession`]: one live call, as the service that has its audio sees it.
//!
//! Owns the events that the service reports, and what it may ask. What they do is in `events.rs`.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;

use super::builder::CallBuilder;
use super::ear::CallEar;
use super::effect::{Effect, Ignored};
use super::reply::Reply;
use super::settings::CallSettings;
use super::speech::Played;
use super::utterance::Utterance;
use crate::conversation::{CallMetrics, Conversation};
use crate::log::{CallEnd, LogError};
use crate::manager::{ManagerError, MessagesManager};
use crate::message::{PlainMessage, Text, ToolCall, ToolResult};
use crate::model::Model;
use crate::turn::{CallEvent, Core, Host, SpeechId, TurnEnd, drive};

/// One live call: a [`Conversation`] with a telephone. See the [module](super) for what each event does, whenever it comes.
///
/// All methods but [`close`](Self::close) return at once, and may be called from any task; put the session in an `Arc` for
/// that. If it is dropped before it is closed, it warns, and hands what it has to the log's writer.
pub struct CallSession {
    pub(super) conversation: Conversation,
    pub(super) settings: Arc<CallSettings>,
    /// Events may be reported from threads outside of it.
    runtime: Handle,
    /// How the call ended, once it is closed.
    pub(super) call_end: Mutex<Option<CallEnd>>,
}

impl CallSession {
    /// The parts of a call whose replies come from `model`.
    pub fn with_model(model: impl Model + 'static) -> CallBuilder {
        CallBuilder::with_model(model)
    }

    /// The parts of a call in this conversation, with its configuration.
    pub fn of(conversation: &Conversation) -> CallBuilder {
        CallBuilder::of(conversation.clone())
    }

    pub(super) fn new(conversation: Conversation, settings: Arc<CallSettings>, runtime: Handle) -> Self {
        Self { conversation, settings, runtime, call_end: Mutex::default() }
    }

    /// The conversation of the call: its messages, its tools, queries and forks.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The time of the call, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.conversation.now_ms()
    }

    /// The caller began to speak. Whatever is generated or spoken is cut off.
    pub fn caller_started_speaking(&self, at_ms: i64) -> Effect {
        self.event(|ear, core| ear.caller_started_speaking(at_ms, core))
    }

    /// The caller said something. With a blank text, the caller only seemed to speak.
    ///
    /// Errors: those of the manager, at 100 million messages.
    pub fn caller_said(&self, utterance: impl Into<Utterance>) -> Result<Effect, ManagerError> {
        let utterance = utterance.into();
        let said = self.live(|ear, core| ear.caller_said(utterance, core));
        said.unwrap_or(Ok(Effect::Ignored(Ignored::Closed)))
    }

    /// The answer to what the caller said, as it comes.
    ///
    /// Errors: [`ReplyError`].
    pub fn reply(&self) -> Result<Reply, ReplyError> {
        let begun = self.live(|ear, core| {
            if ear.is_closing {
                return Err(ReplyError::Closed);
            }
            if core.turn.is_some() {
                return Err(ReplyError::InProgress);
            }
            if !core.manager.is_answerable() {
                return Err(ReplyError::NothingToAnswer);
            }
            if std::mem::take(&mut ear.not_understood) {
                return Ok(self.ask_to_repeat(ear, core));
            }
            let speech = core.begin_turn();
            Ok(self.begin_reply(speech, ear))
        });
        let reply = begun.unwrap_or(Err(ReplyError::Closed))?;
        self.drive(reply.speech());
        Ok(reply)
    }

    /// Drives a turn in a task, unless it has none: the caller is asked to repeat. Without the lock, for a runtime that is
    /// gone drops the task at once, and that ends the turn.
    fn drive(&self, speech: SpeechId) {
        if self.live(|_, core| core.turn_of(speech).is_none()).unwrap_or(true) {
            return;
        }
        let driving = drive(self.conversation.clone(), speech);
        let task = self.runtime.spawn(async move { drop(driving.await) }).abort_handle();
        self.live(|_, core| match core.turn_of(speech) {
            Some(turn) => turn.task = Some(task),
            // It was stopped meanwhile.
            None => task.abort(),
        });
    }

    /// Asks the caller to say it again, without the model.
    fn ask_to_repeat(&self, ear: &mut CallEar, core: &mut Core) -> Reply {
        let speech = core.next_speech();
        let reply = self.begin_reply(speech, ear);
        core.events.push(CallEvent::AskedToRepeat { speech });
        let text = ear.settings.ask_to_repeat.clone();
        ear.speak_fixed(speech, &text, false, core);
        ear.caller_waits = false;
        ear.generated(speech, core);
        ear.end_reply(super::ReplyEnd::AskedToRepeat);
        core.is_to_be_logged = true;
        reply
    }

    fn begin_reply(&self, speech: SpeechId, ear: &mut CallEar) -> Reply {
        ear.speeches.begin(speech);
        let is_cut = ear.speeches.cut_flag(speech);
        let (reply, outlet) = Reply::new(speech, is_cut, self.conversation.downgrade());
        ear.outlet = Some(outlet);
        reply
    }

    /// Speaks a fixed sentence, such as the greeting.
    ///
    /// Errors: [`SayError`].
    pub fn say(&self, text: impl Into<Text>) -> Result<SpeechId, SayError> {
        let text = text.into();
        let said = self.live(|ear, core| {
            if ear.is_closing {
                return Err(SayError::Closed);
            }
            if core.turn.is_some() {
                return Err(SayError::InProgress);
            }
            let speech = core.next_speech();
            ear.speeches.begin(speech);
            ear.add_fixed(speech, &text, core)?;
            // No reply: how long it took is excluded from the response-gap metrics.
            (ear.caller_waits, ear.listened_until_ms) = (false, None);
            ear.generated(speech, core);
            core.is_to_be_logged = true;
            Ok(speech)
        });
        said.unwrap_or(Err(SayError::Closed))
    }

    /// The first sound of a speech was played.
    pub fn playback_started(&self, speech: SpeechId, at_ms: i64) -> Effect {
        self.event(|ear, core| ear.playback_started(speech, at_ms, core))
    }

    /// A speech was played to its end. Reported while its reply is still generated, it counts if nothing more is said.
    pub fn playback_finished(&self, speech: SpeechId, at_ms: i64) -> Effect {
        self.event(|ear, core| ear.playback_finished(speech, at_ms, core))
    }

    /// The playback of a speech was cut off. A report that comes later and is more exact replaces the one before.
    pub fn playback_interrupted(&self, speech: SpeechId, played: Played, at_ms: i64) -> Effect {
        self.event(|ear, core| ear.playback_interrupted(speech, &played, at_ms, core))
    }

    /// Reports the result of an [external tool](crate::model::Tool::external).
    pub fn tool_result(&self, result: ToolResult) -> Effect {
        self.event(|_, core| match core.add_result(&result) {
            Ok(()) => Effect::Applied,
            Err(refused) => Effect::Ignored(refused.into()),
        })
    }

    /// The tool calls without a result, in order: those that run here, and those that the service runs.
    pub fn open_tool_calls(&self) -> Vec<ToolCall> {
        self.conversation.open_tool_calls()
    }

    /// Whether the caller's last words have no answer yet.
    pub fn is_answerable(&self) -> bool {
        self.live(|ear, core| !ear.is_closing && core.turn.is_none() && core.manager.is_answerable()).unwrap_or(false)
    }

    /// Reads the messages at one moment; print the manager to see the call. Using the session inside `look` deadlocks.
    pub fn with_manager<T>(&self, look: impl FnOnce(&MessagesManager<PlainMessage>) -> T) -> T {
        self.conversation.read(look)
    }

    /// Its turns, tools, summaries and tokens so far.
    pub fn totals(&self) -> CallMetrics {
        self.conversation.totals()
    }

    /// Why the log takes nothing more of the call, if so: another process owns it, or it was erased.
    pub fn not_logged(&self) -> Option<LogError> {
        self.conversation.not_logged()
    }

    fn event(&self, act: impl FnOnce(&mut CallEar, &mut Core) -> Effect) -> Effect {
        self.live(act).unwrap_or(Effect::Ignored(Ignored::Closed))
    }

    /// Works on the call; `None` once it is closed.
    pub(super) fn live<T>(&self, act: impl FnOnce(&mut CallEar, &mut Core) -> T) -> Option<T> {
        self.conversation.with(|core| with_ear(core, |ear, core| is_of(ear, &self.settings).then(|| act(ear, core))))?
    }
}

fn is_of(ear: &CallEar, settings: &Arc<CallSettings>) -> bool {
    Arc::ptr_eq(&ear.settings, settings)
}

/// Lets the ear of a live call work on its conversation; `None` where there is no live call.
fn with_ear<T>(core: &mut Core, act: impl FnOnce(&mut CallEar, &mut Core) -> T) -> Option<T> {
    core.with_ear(|ear, core| {
        let ear: &mut dyn Any = ear;
        ear.downcast_mut::<CallEar>().map(|ear| act(ear, core))
    })
}

/// Nobody listens to a reply any more.
pub(super) fn abandon(conversation: &Conversation, speech: SpeechId) {
    conversation.with(|core| {
        if core.turn_of(speech).is_some() {
            core.end_turn(speech, &TurnEnd::Interrupted);
            core.is_to_be_logged = true;
        }
    });
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The call is closed.
    #[error("the call is closed")]
    Closed,
    /// One reply is generated at a time.
    #[error("a reply is being generated; read that one, or drop it to end it")]
    InProgress,
    /// The last words are the assistant's own.
    #[error("there is nothing to answer; to speak first, use `say`")]
    NothingToAnswer,
}

/// Why a sentence is not spoken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SayError {
    /// The call is closed.
    #[error("the call is closed")]
    Closed,
    /// Its place among the words of the reply would not be known.
    #[error("a reply is being generated; read it to its end, or drop it to end it")]
    InProgress,
    /// It is blank, or the conversation is full.
    #[error(transparent)]
    Manager(#[from] ManagerError),
}

impl Drop for CallSession {
    fn drop(&mut self) {
        if self.live(|_, _| ()).is_some() {
            tracing::warn!(call_id = ?self.conversation.id(), "a call is dropped that was not closed; what it has goes to the log's writer");
            self.begin_to_close(self.now_ms());
            self.end(self.now_ms());
        }
    }
}

impl fmt::Debug for CallSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallSession").field("call_id", self.conversation.id()).finish_non_exhaustive()
    }
}
