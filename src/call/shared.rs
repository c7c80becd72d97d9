//! [`Shared`]: what the tasks of a live call have in common: its parts, and its state under a lock.
//!
//! Owns how tasks come to the state, and what is begun behind a change of it: summaries, and what observers are told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::ledger::OUTCOME_UNKNOWN;
use super::observer::{CallEvent, Observer};
use super::reply::{Reply, ReplyEnd};
use super::settings::CallSettings;
use super::speech::SpeechId;
use super::state::{State, Turn, since};
use super::tool::{self, Tools};
use super::{effect::Effect, spans, summaries, turn};
use crate::log::CallId;
use crate::message::{Invocation, InvocationId, InvocationResult, Text, is_blank};
use crate::model::{Failure, Model, ModelRequest, Summarizer, Usage};

/// What the tasks of a live call have in common.
pub(super) struct Shared {
    /// Events may be reported from threads outside of it.
    pub runtime: Handle,
    pub call_id: Option<CallId>,
    pub model: Arc<dyn Model>,
    pub summarizer: Arc<dyn Summarizer>,
    pub tools: Tools,
    /// The system prompt, and what holds for tools.
    pub instructions: Option<Text>,
    pub settings: Arc<CallSettings>,
    pub observer: Option<Arc<dyn Observer>>,
    /// Told of each result of a tool.
    pub results: Notify,
    pub state: Mutex<State>,
}

impl Shared {
    /// Does something with the state, and then what follows from it.
    pub fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let done = act(&mut state);
        summaries::begin_if_due(self, &mut state);
        let events = std::mem::take(&mut state.events);
        for event in &events {
            state.totals.note(event);
        }
        // Observers may ask the session.
        drop(state);
        if let Some(observer) = &self.observer {
            for event in &events {
                // What an observer does wrong must not end a turn in the middle.
                if catch_unwind(AssertUnwindSafe(|| observer.observe(event))).is_err() {
                    tracing::error!(call_id = ?self.call_id, "an observer panicked");
                }
            }
        }
        done
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to generate an answer.
    pub fn begin_turn(self: &Arc<Self>, state: &mut State) -> Reply {
        let speech = state.speeches.begin();
        let (reply, outlet) = Reply::new(speech, state.speeches.cut_flag(speech), Arc::downgrade(self));
        state.is_unanswered = false;
        state.turn = Some(Turn::new(speech, outlet, state.now_ms()));
        state.log();
        state.events.push(CallEvent::TurnStarted { speech });
        let task = self.runtime.spawn(turn::run(self.clone(), speech)).abort_handle();
        // It cannot have come to an end so soon but where the runtime is gone.
        let is_dead = task.is_finished();
        if let Some(turn) = state.turn_of(speech) {
            turn.task = Some(task);
        }
        if is_dead {
            state.stop_turn(ReplyEnd::Interrupted);
        }
        reply
    }

    /// Asks the caller to say it again, without the model.
    pub fn ask_to_repeat(self: &Arc<Self>, state: &mut State) -> Reply {
        let speech = state.speeches.begin();
        let (reply, outlet) = Reply::new(speech, state.speeches.cut_flag(speech), Arc::downgrade(self));
        let turn = Turn::new(speech, outlet, state.now_ms());
        state.is_unanswered = false;
        state.events.push(CallEvent::AskedToRepeat { speech });
        state.speak(turn, &self.settings.ask_to_repeat, ReplyEnd::AskedToRepeat);
        reply
    }

    /// What the model is asked now; `None` where the reply is over.
    pub fn request(self: &Arc<Self>, speech: SpeechId, round: u32) -> Option<ModelRequest> {
        self.with(|state| {
            let (untold, now_ms) = (state.untold(), state.now_ms());
            let turn = state.turn_of(speech)?;
            (turn.tells, turn.asked_ms, turn.first_token_ms) = (untold, now_ms, None);
            let mut request = state.request(&self.settings);
            request.system = self.instructions.iter().cloned().collect();
            spans::asked(state.manager.last_summary().is_some());
            if round < self.settings.max_tool_rounds {
                request.tools = self.tools.specs.clone();
            }
            Some(request)
        })
    }

    /// The model said something. Says whether the reply goes on.
    pub fn text(self: &Arc<Self>, speech: SpeechId, text: Text) -> bool {
        self.with(|state| {
            let now_ms = state.now_ms();
            let Some(turn) = state.turn_of(speech) else { return false };
            let is_first = turn.first_token_ms.is_none();
            turn.first_token_ms.get_or_insert(now_ms);
            turn.text.push_str(&text);
            let says_something = !is_blank(&text);
            let is_first_word = says_something && !turn.has_spoken;
            turn.has_spoken |= is_first_word;
            let asked_ms = turn.asked_ms;
            turn.outlet.text(text);
            let mut tells = Vec::new();
            if says_something {
                turn.played_ms = None;
                tells = std::mem::take(&mut turn.tells);
            }
            state.speeches.tell(speech, tells);
            if is_first {
                state.events.push(CallEvent::FirstToken { speech, after_ms: since(asked_ms, now_ms) });
            }
            if is_first_word {
                state.first_words(speech);
            }
            true
        })
    }

    /// The model asked for a tool. Says whether the reply goes on.
    pub fn invocation(self: &Arc<Self>, speech: SpeechId, invocation: Invocation) -> bool {
        self.lock().asked_for(speech, invocation)
    }

    /// The model stopped: what it said goes into the list. Gives the calls that are to be run; `None` where the reply is over.
    pub fn stopped(self: &Arc<Self>, speech: SpeechId) -> Option<Vec<Invocation>> {
        self.with(|state| {
            let mut turn = state.turn.take_if(|turn| turn.speech == speech)?;
            let calls = std::mem::take(&mut turn.invocations);
            state.commit(&mut turn, &calls, None);
            let now_ms = state.now_ms();
            for call in &calls {
                state.note_call(call, now_ms);
                state.events.push(CallEvent::ToolCalled { id: call.id().clone() });
                turn.outlet.tool_called(call.clone());
            }
            state.turn = Some(turn);
            state.log();
            Some(calls)
        })
    }

    pub fn end_turn(self: &Arc<Self>, speech: SpeechId, end: ReplyEnd) {
        self.with(|state| {
            let Some(turn) = state.turn.take_if(|turn| turn.speech == speech) else { return };
            state.ended(turn, end);
        });
    }

    /// Says the apology, behind whatever was said.
    pub fn apologise(self: &Arc<Self>, speech: SpeechId, failure: Option<Failure>) {
        self.with(|state| {
            let Some(mut turn) = state.turn.take_if(|turn| turn.speech == speech) else { return };
            state.commit_cut(&mut turn);
            state.speak(turn, &self.settings.apology, ReplyEnd::Apologised(failure));
        });
    }

    pub fn usage(self: &Arc<Self>, usage: Usage) {
        spans::used(usage);
        self.with(|state| state.used(usage));
    }

    pub fn tool_result(self: &Arc<Self>, result: InvocationResult) -> Effect {
        let effect = self.with(|state| state.tool_result(result));
        self.results.notify_waiters();
        effect
    }

    /// What a tool of the service did is unknown, unless it is told in time.
    pub fn expire(self: &Arc<Self>, call: Invocation, at: Instant) {
        let shared = Arc::downgrade(self);
        self.runtime.spawn(async move {
            sleep_until(at).await;
            let Some(shared) = shared.upgrade() else { return };
            // One that has a result keeps it.
            shared.tool_result(tool::failed(
                &call,
                OUTCOME_UNKNOWN,
                "The tool did not answer in time; whether it acted is not known.",
            ));
        });
    }

    /// Nobody listens to a reply any more.
    pub fn abandon(self: &Arc<Self>, speech: SpeechId) {
        self.with(|state| {
            if state.turn_of(speech).is_some() {
                state.stop_turn(ReplyEnd::Interrupted);
                state.log();
            }
        });
    }

    pub fn any_open(&self, ids: &[InvocationId]) -> bool {
        self.lock().manager.open_invocations().into_iter().any(|open| ids.contains(open))
    }

    pub fn has_spoken(&self, speech: SpeechId) -> bool {
        self.lock().turn_of(speech).is_some_and(|turn| turn.has_spoken)
    }

    pub fn has_said_nothing(&self, speech: SpeechId) -> bool {
        self.lock().turn_of(speech).is_some_and(|turn| is_blank(&turn.text) && turn.invocations.is_empty())
    }
}
