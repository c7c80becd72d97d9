//! [`CallSession`]: one live call, as the service that has its audio sees it.
//!
//! Owns the events that the service reports, and what it may ask. What they do is in `state.rs`.

use std::fmt;
use std::sync::Arc;

use super::builder::CallBuilder;
use super::effect::Effect;
use super::reply::Reply;
use super::shared::Shared;
use super::speech::{Played, SpeechId};
use super::totals::Totals;
use super::utterance::Utterance;
use crate::log::NotAccepted;
use crate::manager::{ManagerError, MessagesManager};
use crate::message::{Invocation, InvocationResult, PlainMessage, Text};
use crate::model::Model;

/// One live call. See the [module](super) for what each event does, whenever it comes.
///
/// All methods but [`close`](Self::close) come back at once, and may be called from any task; put it in an `Arc` for that.
/// Dropped before it is closed, it warns, and hands what it has to the log's writer.
pub struct CallSession {
    pub(super) shared: Arc<Shared>,
}

impl CallSession {
    /// The parts of a call whose replies come from `model`.
    pub fn with_model(model: impl Model + 'static) -> CallBuilder {
        CallBuilder::new(Arc::new(model))
    }

    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The time of the call, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.shared.lock().now_ms()
    }

    /// The caller began to speak. Whatever is generated or spoken is cut off.
    pub fn caller_started_speaking(&self, at_ms: i64) -> Effect {
        self.shared.with(|state| state.caller_started_speaking(at_ms))
    }

    /// The caller said something. With a blank text, the caller only seemed to speak.
    ///
    /// Errors: those of the manager, at 100 million messages.
    pub fn caller_said(&self, utterance: impl Into<Utterance>) -> Result<Effect, ManagerError> {
        let utterance = utterance.into();
        self.shared.with(|state| state.caller_said(utterance))
    }

    /// The answer to what the caller said, as it comes.
    ///
    /// Errors: [`ReplyError`].
    pub fn reply(&self) -> Result<Reply, ReplyError> {
        self.shared.with(|state| {
            if state.is_closing {
                return Err(ReplyError::Closed);
            }
            if state.turn.is_some() {
                return Err(ReplyError::InProgress);
            }
            if !state.is_answerable() {
                return Err(ReplyError::NothingToAnswer);
            }
            if std::mem::take(&mut state.not_understood) {
                return Ok(self.shared.ask_to_repeat(state));
            }
            Ok(self.shared.begin_turn(state))
        })
    }

    /// Speaks a fixed sentence, such as the greeting.
    ///
    /// Errors: [`SayError`].
    pub fn say(&self, text: impl Into<Text>) -> Result<SpeechId, SayError> {
        let text = text.into();
        self.shared.with(|state| {
            if state.is_closing {
                return Err(SayError::Closed);
            }
            if state.turn.is_some() {
                return Err(SayError::InProgress);
            }
            let speech = state.speeches.begin();
            state.add_fixed(speech, &text)?;
            // No reply: how long it took is not the model's doing.
            (state.caller_waits, state.listened_until_ms) = (false, None);
            state.generated(speech);
            state.log();
            Ok(speech)
        })
    }

    /// The first sound of a speech was played.
    pub fn playback_started(&self, speech: SpeechId, at_ms: i64) -> Effect {
        self.shared.with(|state| state.playback_started(speech, at_ms))
    }

    /// A speech was played to its end. Reported while its reply is still generated, it counts if nothing more is said.
    pub fn playback_finished(&self, speech: SpeechId, at_ms: i64) -> Effect {
        self.shared.with(|state| state.playback_finished(speech, at_ms))
    }

    /// The playback of a speech was cut off. A report that comes later and is more exact replaces the one before.
    pub fn playback_interrupted(&self, speech: SpeechId, played: Played, at_ms: i64) -> Effect {
        self.shared.with(|state| state.playback_interrupted(speech, &played, at_ms))
    }

    /// What came of a tool that the service runs.
    pub fn tool_result(&self, result: InvocationResult) -> Effect {
        self.shared.tool_result(result)
    }

    /// The calls of tools without an outcome, in order: those that run here, and those that are the service's to run.
    pub fn open_invocations(&self) -> Vec<Invocation> {
        self.shared.lock().open_calls()
    }

    /// Whether the caller's last words have no answer yet.
    pub fn is_answerable(&self) -> bool {
        let state = self.shared.lock();
        !state.is_closing && state.turn.is_none() && state.is_answerable()
    }

    /// Looks at the conversation; print it to see the call. Nothing happens in the call meanwhile: `look` must not ask the
    /// session for anything, or it waits for itself.
    pub fn with_manager<T>(&self, look: impl FnOnce(&MessagesManager<PlainMessage>) -> T) -> T {
        look(&self.shared.lock().manager)
    }

    /// What the call came to so far.
    pub fn totals(&self) -> Totals {
        self.shared.lock().totals.clone()
    }

    /// Why the log takes nothing of the call any more: another process has taken it over, or it was erased.
    pub fn not_logged(&self) -> Option<NotAccepted> {
        self.shared.lock().not_logged.clone()
    }
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
        self.shared.with(|state| {
            if state.is_closed {
                return;
            }
            tracing::warn!(call_id = ?self.shared.call_id, "a call is dropped that was not closed; what it has goes to the log's writer");
            let now_ms = state.now_ms();
            state.begin_to_close(now_ms);
            state.end(now_ms);
        });
    }
}

impl fmt::Debug for CallSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallSession").field("call_id", &self.shared.call_id).finish_non_exhaustive()
    }
}
