//! [`CallSession`]: one live call, as the service that owns its audio sees it.
//!
//! Owns the methods that the service calls. `events.rs` has the effects of its reports.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::runtime::Handle;

use super::ear::CallEar;
use super::effect::{Effect, Ignored};
use super::reply::Reply;
use super::settings::CallSettings;
use super::silence::{Silence, watch};
use super::speech::Played;
use super::utterance::Utterance;
use crate::conversation::{Conversation, ConversationError, Problem};
use crate::log::CallEnd;
use crate::manager::ManagerError;
use crate::message::{Text, ToolResult};
use crate::turn::{CallEvent, Core, Host, ReplyEnd, SpeechId, TurnEnd, count, drive};

/// One live call: a [`Conversation`] with a telephone. The [module](super) lists the effect of each event.
///
/// All methods except [`close`](Self::close) return at once and may be called from any task; share the session in an
/// `Arc`. A session that is dropped without `close` logs a warning and submits its changes to the log. Each `at_ms` is
/// the time of the event, in milliseconds since the Unix epoch.
pub struct CallSession {
    pub(super) conversation: Conversation,
    pub(super) settings: Arc<CallSettings>,
    /// Spawns tasks for events that are reported from other threads.
    runtime: Handle,
    /// How the call ended, once it is closed.
    pub(super) call_end: Mutex<Option<CallEnd>>,
    /// Removes the session from its host, if it has one.
    pub(super) leave_host: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl CallSession {
    pub(super) fn new(conversation: Conversation, settings: Arc<CallSettings>, runtime: Handle) -> Self {
        Self { conversation, settings, runtime, call_end: Mutex::default(), leave_host: OnceLock::new() }
    }

    /// Returns the conversation of the call, with its messages, open tool calls, metrics, queries and forks.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Returns the current time of the call's clock, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.conversation.now_ms()
    }

    /// Reports that the caller started to speak. This is a barge-in if a reply is running or a speech is open.
    pub fn caller_started_speaking(&self, at_ms: i64) -> Effect {
        self.event(|ear, core| ear.caller_started_speaking(at_ms, core))
    }

    /// Reports the caller's words. A blank text reports that the caller only seemed to speak.
    ///
    /// Returns [`ManagerError`] if a time is in seconds instead of milliseconds, or if the conversation already has 100
    /// million messages.
    pub fn caller_said(&self, utterance: impl Into<Utterance>) -> Result<Effect, ManagerError> {
        let utterance = utterance.into();
        let said = self.live(|ear, core| ear.caller_said(utterance, core));
        said.unwrap_or(Ok(Effect::ignored(Ignored::CLOSED)))
    }

    /// Starts the answer to the caller's words and returns it as a stream.
    ///
    /// Returns [`InUse`] while a reply is running, [`NothingToAnswer`] if there is [nothing to
    /// answer](crate::MessagesManager::is_answerable), and [`Closed`] in a closed call.
    ///
    /// [`InUse`]: crate::conversation::ConversationErrorKind::InUse
    /// [`NothingToAnswer`]: crate::conversation::ConversationErrorKind::NothingToAnswer
    /// [`Closed`]: crate::conversation::ConversationErrorKind::Closed
    pub fn reply(&self) -> Result<Reply, ConversationError> {
        let begun = self.live(|ear, core| {
            check_silent(ear, core)?;
            if !core.is_answerable() {
                return Err(Problem::NothingToAnswer { advice: "to speak first, use `say`" });
            }
            if std::mem::take(&mut ear.is_doubtful)
                && let Some((_, sentence)) = ear.settings.ask_to_repeat.clone()
            {
                return Ok(self.ask_to_repeat(&sentence, ear, core));
            }
            let speech = core.begin_turn();
            ear.silence = Silence::begin(core.now_ms());
            Ok(self.begin_reply(speech, ear))
        });
        let reply = begun.unwrap_or(Err(Problem::Closed))?;
        self.drive(reply.speech());
        Ok(reply)
    }

    /// Drives the turn of a speech, if it has one, in a task.
    ///
    /// The task is spawned without the lock: a runtime that shuts down drops it at once, and that ends the turn.
    fn drive(&self, speech: SpeechId) {
        if self.live(|_, core| core.turn_of(speech).is_none()).unwrap_or(true) {
            return;
        }
        let driving = drive(self.conversation.clone(), speech);
        let task = self.runtime.spawn(async move { drop(driving.await) }).abort_handle();
        self.live(|_, core| match core.turn_of(speech) {
            Some(turn) => turn.task = Some(task),
            // The turn was stopped meanwhile.
            None => task.abort(),
        });
        self.runtime.spawn(watch(self.conversation.downgrade(), self.settings.clone(), speech));
    }

    /// Asks the caller to repeat, without the model.
    fn ask_to_repeat(&self, sentence: &Text, ear: &mut CallEar, core: &mut Core) -> Reply {
        let speech = core.next_speech();
        let reply = self.begin_reply(speech, ear);
        let (end, generated_bytes) = (ReplyEnd::AskedToRepeat, count(sentence.len()));
        core.events.push(CallEvent::ReplyEnded { speech, end, generated_bytes });
        ear.speak_fixed(speech, sentence, false, core);
        ear.caller_waits = false;
        ear.finish_generating(speech, core);
        ear.end_reply(ReplyEnd::AskedToRepeat);
        core.is_to_be_logged = true;
        reply
    }

    fn begin_reply(&self, speech: SpeechId, ear: &mut CallEar) -> Reply {
        ear.speeches.begin(speech);
        let reading = ear.speeches.reading(speech);
        let (reply, outlet) = Reply::new(speech, reading, self.conversation.downgrade());
        ear.outlet = Some(outlet);
        reply
    }

    /// Adds a fixed sentence, such as the greeting, and returns its speech.
    ///
    /// Returns [`InUse`] while a reply is running, because the order of the words would be unknown, [`Refused`] for a
    /// blank text, and [`Closed`] in a closed call.
    ///
    /// [`InUse`]: crate::conversation::ConversationErrorKind::InUse
    /// [`Refused`]: crate::conversation::ConversationErrorKind::Refused
    /// [`Closed`]: crate::conversation::ConversationErrorKind::Closed
    pub fn say(&self, text: impl Into<Text>) -> Result<SpeechId, ConversationError> {
        let text = text.into();
        let said = self.live(|ear, core| {
            check_silent(ear, core)?;
            let speech = core.next_speech();
            ear.speeches.begin(speech);
            ear.add_fixed(speech, &text, core)?;
            ear.speeches.reading(speech).hand_out(|| Some(core.now_ms()));
            // A fixed sentence is not a reply, so it is excluded from the response-gap metrics.
            (ear.caller_waits, ear.words_ended_ms) = (false, None);
            ear.finish_generating(speech, core);
            core.is_to_be_logged = true;
            Ok(speech)
        });
        said.unwrap_or_else(|| Err(Problem::Closed.into()))
    }

    /// Reports that the playback of a speech started.
    pub fn playback_started(&self, speech: SpeechId, at_ms: i64) -> Effect {
        self.event(|ear, core| ear.playback_started(speech, at_ms, core))
    }

    /// Reports that a speech was played to its end.
    ///
    /// While its reply is running, the report takes effect only if no more text follows.
    pub fn playback_finished(&self, speech: SpeechId, at_ms: i64) -> Effect {
        self.event(|ear, core| ear.playback_finished(speech, at_ms, core))
    }

    /// Reports that the playback of a speech was interrupted. A later, more exact report replaces an earlier one.
    pub fn playback_interrupted(&self, speech: SpeechId, played: Played, at_ms: i64) -> Effect {
        self.event(|ear, core| ear.playback_interrupted(speech, &played, at_ms, core))
    }

    /// Reports the result of an [external tool](crate::model::Tool::external).
    ///
    /// The result is ignored if the call is unknown, has a result, or is a call of another tool.
    pub fn tool_result(&self, result: ToolResult) -> Effect {
        self.event(|_, core| match core.add_result(&result) {
            Ok(()) => Effect::APPLIED,
            Err(refused) => Effect::ignored(refused.into()),
        })
    }

    /// Returns whether [`reply`](Self::reply) would start an answer now: no reply is running, and there is [something
    /// to answer](crate::MessagesManager::is_answerable), which may also be a late tool result.
    pub fn is_answerable(&self) -> bool {
        self.live(|ear, core| check_silent(ear, core).is_ok() && core.is_answerable()).unwrap_or(false)
    }

    fn event(&self, act: impl FnOnce(&mut CallEar, &mut Core) -> Effect) -> Effect {
        self.live(act).unwrap_or(Effect::ignored(Ignored::CLOSED))
    }

    /// Locks the call and runs `act` on it. Returns `None` in a closed call.
    pub(super) fn live<T>(&self, act: impl FnOnce(&mut CallEar, &mut Core) -> T) -> Option<T> {
        live(&self.conversation, &self.settings, act)
    }
}

/// Locks the call with these settings and runs `act` on it. Returns `None` in a closed call.
pub(super) fn live<T>(
    conversation: &Conversation,
    settings: &Arc<CallSettings>,
    act: impl FnOnce(&mut CallEar, &mut Core) -> T,
) -> Option<T> {
    conversation.with(|core| {
        core.with_ear(|ear, core| {
            let ear = (ear as &mut dyn Any).downcast_mut::<CallEar>()?;
            // Another call may have taken the conversation after this one was closed.
            Arc::ptr_eq(&ear.settings, settings).then(|| act(ear, core))
        })
    })
}

/// Returns an error if a new speech cannot start.
fn check_silent(ear: &CallEar, core: &Core) -> Result<(), Problem> {
    match (ear.is_closing, &core.turn) {
        (true, _) => Err(Problem::Closed),
        (false, Some(_)) => Err(Problem::InReply),
        (false, None) => Ok(()),
    }
}

/// Ends the turn of a reply that was dropped.
pub(super) fn abandon(conversation: &Conversation, speech: SpeechId) {
    conversation.with(|core| {
        if core.turn_of(speech).is_some() {
            core.end_turn(speech, &TurnEnd::Interrupted);
            core.is_to_be_logged = true;
        }
    });
}

impl Drop for CallSession {
    fn drop(&mut self) {
        if self.live(|_, _| ()).is_some() {
            tracing::warn!(
                call_id = ?self.conversation.id(),
                "a call was dropped without `close`; its changes go to the log, but nobody waits for them"
            );
            self.begin_closing(self.now_ms());
            self.detach(self.now_ms());
        }
    }
}

impl fmt::Debug for CallSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallSession").field("call_id", self.conversation.id()).finish_non_exhaustive()
    }
}
