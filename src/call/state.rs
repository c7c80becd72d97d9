//! [`State`]: the conversation of a live call, and what is going on in it.
//!
//! Synchronous, under one lock that is never held while anything is waited for. What changes it is in `events.rs`,
//! `speaking.rs`, `summaries.rs` and `closing.rs`.

use std::sync::Arc;

use tokio::task::AbortHandle;

use super::ledger::Ledger;
use super::observer::CallEvent;
use super::reply::Outlet;
use super::settings::CallSettings;
use super::speech::SpeechId;
use super::speeches::Speeches;
use super::summaries::Summaries;
use super::totals::Totals;
use crate::clock::Clock;
use crate::log::{CallWriter, Ending, HandedOver, NotAccepted};
use crate::manager::{MessagesManager, Tail};
use crate::message::{Invocation, InvocationId, MessageWrapper, PlainMessage, Role, Text};
use crate::model::Usage;
use crate::policy::{Calibrated, CharacterEstimator, Tokens};

/// The conversation of a live call, and what is going on in it.
pub(super) struct State {
    pub manager: MessagesManager<PlainMessage>,
    pub writer: Option<Arc<CallWriter>>,
    pub ending: Option<Ending>,
    pub opened_ms: i64,
    pub ledger: Ledger,
    pub speeches: Speeches,
    pub summaries: Summaries,
    pub totals: Totals,
    pub estimator: Calibrated<CharacterEstimator>,
    /// Of the last request, before it is corrected.
    pub estimated: Tokens,
    /// The reply that is being generated.
    pub turn: Option<Turn>,
    /// Nothing is begun or reported any more; only what tools come to is still taken.
    pub is_closing: bool,
    pub is_closed: bool,
    /// Between the end of the caller's words and the first of the answer nothing else may be begun.
    pub caller_waits: bool,
    /// Whether the caller said something since a reply was begun: a fixed sentence behind it is no answer.
    pub is_unanswered: bool,
    /// Why the log takes nothing any more.
    pub not_logged: Option<NotAccepted>,
    /// What happened and was not told yet.
    pub events: Vec<CallEvent>,
    pub listening_since_ms: Option<i64>,
    /// When the caller had finished, until it was answered.
    pub listened_until_ms: Option<i64>,
    pub last_said: Option<(Text, i64)>,
    pub not_understood: bool,
    pub settings: Arc<CallSettings>,
    pub clock: Arc<dyn Clock>,
}

/// A reply that is being generated.
pub(super) struct Turn {
    pub speech: SpeechId,
    pub outlet: Outlet,
    /// Ends the task that generates it, and with it the request to the model.
    pub task: Option<AbortHandle>,
    /// What the model has said and is not in the list yet.
    pub text: String,
    /// The calls it has asked for and are not in the list yet.
    pub invocations: Vec<Invocation>,
    pub asked_ms: i64,
    pub first_token_ms: Option<i64>,
    /// Whether the caller has got any words.
    pub has_spoken: bool,
    /// The calls whose outcome the model was told of and has said nothing about yet.
    pub tells: Vec<InvocationId>,
    /// When all there is was reported to be played. It counts if nothing more is said.
    pub played_ms: Option<i64>,
}

impl Turn {
    pub fn new(speech: SpeechId, outlet: Outlet, asked_ms: i64) -> Self {
        Self {
            speech,
            outlet,
            task: None,
            text: String::new(),
            invocations: Vec::new(),
            asked_ms,
            first_token_ms: None,
            has_spoken: false,
            tells: Vec::new(),
            played_ms: None,
        }
    }
}

impl State {
    pub fn new(manager: MessagesManager<PlainMessage>, settings: Arc<CallSettings>, clock: Arc<dyn Clock>) -> Self {
        Self {
            ledger: Ledger::default().with_messages(manager.meta_messages().iter().map(PlainMessage::message)),
            manager,
            writer: None,
            ending: None,
            opened_ms: clock.now_ms(),
            estimated: Tokens::default(),
            speeches: Speeches::new(settings.speech_bytes_per_s),
            summaries: Summaries::default(),
            totals: Totals::default(),
            estimator: Calibrated::new(CharacterEstimator),
            turn: None,
            is_closing: false,
            is_closed: false,
            caller_waits: false,
            is_unanswered: false,
            not_logged: None,
            events: Vec::new(),
            listening_since_ms: None,
            listened_until_ms: None,
            last_said: None,
            not_understood: false,
            settings,
            clock,
        }
    }

    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Whether there is something that the model could answer.
    pub fn is_answerable(&self) -> bool {
        self.is_unanswered || self.manager.messages().last().is_some_and(|last| last.role() == Role::User)
    }

    /// Whether a reply is being generated for this speech.
    pub fn turn_of(&mut self, speech: SpeechId) -> Option<&mut Turn> {
        self.turn.as_mut().filter(|turn| turn.speech == speech)
    }

    /// The calls whose outcome is known here, and not to the caller.
    pub fn untold(&self) -> Vec<InvocationId> {
        let untold = self.ledger.open().filter(|entry| entry.state().told() == Some(false));
        untold.map(|entry| entry.id().clone()).collect()
    }

    /// What a request took.
    pub fn used(&mut self, usage: Usage) {
        self.events.push(CallEvent::Used { usage });
        self.estimator.observe(self.estimated, Tokens::new(usage.input_tokens));
    }

    /// Hands what is new to the log's writer. What it does not take stays pending, and comes with the next turn.
    pub fn log(&mut self) {
        let Some(writer) = &self.writer else { return };
        match writer.hand_over(&mut self.manager, Tail::Include) {
            Ok(HandedOver { records, is_full, .. }) => {
                if records > 0 {
                    self.events.push(CallEvent::HandedOver { records: count(records) });
                }
                if is_full {
                    self.events.push(CallEvent::NotHandedOver);
                }
            }
            Err(error) => {
                if self.not_logged.is_none() {
                    tracing::error!(call_id = ?writer.claim().call_id(), %error, "nothing of the call is logged any more");
                    self.not_logged = Some(error);
                }
                self.events.push(CallEvent::NotHandedOver);
            }
        }
    }
}

/// How long it was, in milliseconds; nothing, where the clock was set back.
pub(super) fn since(from_ms: i64, until_ms: i64) -> u32 {
    u32::try_from(until_ms.saturating_sub(from_ms).max(0)).unwrap_or(u32::MAX)
}

/// A count, as events tell it.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
