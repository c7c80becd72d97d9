//! [`Core`]: the state of a conversation that turns change, and [`Host`], which keeps it under a lock.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::ear::{Ear, Ended, Nobody};
use super::end::TurnEnd;
use super::event::{CallEvent, SpeechId};
use super::record::Recorder;
use super::setup::Setup;
use super::stale::Stale;
use crate::log::{CallId, CallWriter};
use crate::manager::MessagesManager;
use crate::memory::{Covered, FactTable, ToolHistory};
use crate::message::{MessageId, MessageWrapper, PlainMessage, Position, ToolCall, ToolCallId};
use crate::model::NoResult;
use crate::policy::{Calibrated, CharacterEstimator, Tokens};

pub(crate) type Manager = MessagesManager<PlainMessage>;

/// Keeps a [`Core`] under a lock.
pub(crate) trait Host: Clone + Send + Sync + 'static {
    /// Returns the id of the call.
    fn call_id(&self) -> &CallId;

    /// Returns whether the call is logged.
    fn is_logged(&self) -> bool;

    /// Waits until the log has stored all messages, and returns `false` if it has not by the deadline.
    fn stored(&self, by: Instant) -> impl Future<Output = bool> + Send;

    /// Locks the core and runs `act` on it.
    ///
    /// Changes are submitted to the log before this returns. Observers run after the lock is released. Calling `with` inside
    /// `act` deadlocks.
    fn with<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T;
}

/// The state of a conversation that turns change.
pub(crate) struct Core {
    pub manager: Manager,
    pub tools_used: ToolHistory,
    /// The acts of another process whose outcome is unknown and was not looked up yet.
    pub inherited: Vec<ToolCallId>,
    /// The facts in the messages up to the last request.
    pub facts: FactTable,
    /// The lengths of the messages that summaries cover.
    pub(super) covered: Covered,
    pub setup: Setup,
    /// The handle for logging, if the conversation is logged.
    pub writer: Option<Arc<CallWriter>>,
    pub ear: Box<dyn Ear>,
    pub estimator: Calibrated<CharacterEstimator>,
    /// The running turn.
    pub turn: Option<Box<Turn>>,
    /// Events that observers have not received yet.
    pub events: Vec<CallEvent>,
    /// Whether an observer is being called. A turn waits for it, so that what follows from an event comes after it.
    pub is_observed: bool,
    /// Whether to submit changes to the log.
    pub is_to_be_logged: bool,
    /// Whether the log must store the changes at once, because a tool that acts has ended.
    pub is_to_be_stored: bool,
    /// Whether to check that a summary is due.
    pub may_summarize: bool,
    /// The messages that were changed from outside the engine since the memory was updated.
    pub(super) stale: Stale,
    /// Results that no request has contained yet, and that no turn waits for.
    pub news: Vec<ToolCallId>,
    /// Notifies of each result of a tool.
    pub results: Arc<Notify>,
    /// The number of system messages at the first request. Later ones follow the cached prefix.
    pub(super) stable_system: Option<usize>,
    /// The last ended turn and the message with its record, which may still get its usage.
    pub(super) ended: Option<(SpeechId, MessageId)>,
    /// The uncorrected estimate of the last request's window.
    pub(super) estimated: Tokens,
    next_speech: u32,
}

/// A running turn.
pub(crate) struct Turn {
    pub id: SpeechId,
    /// Cancels the task that drives the turn, and thus the request to the model. A run has no task.
    pub task: Option<AbortHandle>,
    /// Whether the model has generated any words.
    pub has_spoken: bool,
    pub(super) answer: Answer,
    /// The tool calls that the turn waits for, or waited for last.
    pub(super) awaits: Vec<ToolCallId>,
    /// Whether a tool that acts once did not run, because the log was late.
    pub is_not_done: bool,
    /// Whether a tool that may act ran.
    pub has_acted: bool,
    /// Whether the model was asked again because of a broken tool call. This happens at most once.
    pub(super) is_corrected: bool,
    /// Whether the model was asked again because its answer was blank. This happens at most once.
    pub(super) was_blank: bool,
    /// Whether the last answer was cut off and had tool calls, so that it may promise acts that did not happen.
    pub has_dropped_calls: bool,
    /// Whether the next answer may be longer, because a tool call was cut off.
    pub(super) needs_room: bool,
    /// The maximum tokens of an answer from then on.
    pub(super) room: Option<u32>,
    /// The number of answers with tool calls.
    pub(super) rounds: u32,
    /// The tool calls whose outcome is in the request, until the next words report it.
    pub(super) reports: Vec<ToolCallId>,
    pub(super) generated_bytes: usize,
    pub(super) recorder: Recorder,
}

/// The part of an answer that is not in the conversation yet.
#[derive(Default)]
pub(super) struct Answer {
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// The calls of the answer that cannot run, because their arguments are incomplete or not JSON.
    pub broken: Vec<(ToolCallId, NoResult)>,
    pub asked_ms: i64,
    pub first_token_ms: Option<i64>,
}

impl Turn {
    /// Returns the text of the answer that is not in the conversation yet.
    pub fn unfinished_text(&self) -> &str {
        &self.answer.text
    }

    /// Notes a sentence that filled a silence.
    pub fn note_filler(&mut self, bytes: usize) {
        self.recorder.fillers += 1;
        self.generated_bytes += bytes;
    }
}

impl Core {
    pub fn new(manager: Manager, setup: Setup) -> Self {
        let mut tools_used = ToolHistory::default();
        tools_used.extend(manager.all().map(PlainMessage::message));
        Self::of(manager, setup, tools_used, &[])
    }

    /// `news` are results that no request has contained yet. Late results and acts are added to them.
    pub(super) fn of(manager: Manager, setup: Setup, tools_used: ToolHistory, news: &[ToolCallId]) -> Self {
        Self {
            news: tools_used
                .unreported()
                .filter(|used| used.late_ms().is_some() || used.act().is_some() || news.contains(used.id()))
                .map(|used| used.id().clone())
                .collect(),
            inherited: tools_used.lost_acts().cloned().collect(),
            tools_used,
            facts: FactTable::default(),
            covered: Covered::default(),
            manager,
            setup,
            writer: None,
            ear: Box::new(Nobody),
            estimator: Calibrated::new(CharacterEstimator),
            turn: None,
            events: Vec::new(),
            is_observed: false,
            is_to_be_logged: false,
            is_to_be_stored: false,
            may_summarize: false,
            stale: Stale::Nothing,
            results: Arc::default(),
            stable_system: None,
            ended: None,
            estimated: Tokens::default(),
            next_speech: 1,
        }
    }

    /// Returns whether the model has something to answer, which may be the result of a tool that came late.
    pub fn is_answerable(&self) -> bool {
        self.manager.is_answerable() || !self.news.is_empty()
    }

    /// Returns the position after the caller's last words and the last tool result, while a reply is generated or
    /// played. The messages from there on will change again.
    pub fn open_from(&self) -> Option<Position> {
        let is_open = self.turn.is_some() || self.ear.oldest_needed().is_some();
        is_open.then(|| self.manager.after_last_user())
    }

    pub fn now_ms(&self) -> i64 {
        self.manager.now_ms()
    }

    /// Returns the id of a new speech.
    pub fn next_speech(&mut self) -> SpeechId {
        let id = SpeechId(self.next_speech);
        self.next_speech += 1;
        id
    }

    /// Begins a turn, which [`drive`](super::drive) drives.
    pub fn begin_turn(&mut self) -> SpeechId {
        let id = self.next_speech();
        self.turn = Some(Box::new(Turn {
            id,
            task: None,
            has_spoken: false,
            answer: Answer::default(),
            awaits: Vec::new(),
            is_not_done: false,
            has_acted: false,
            is_corrected: false,
            was_blank: false,
            has_dropped_calls: false,
            needs_room: false,
            room: None,
            rounds: 0,
            reports: Vec::new(),
            generated_bytes: 0,
            recorder: Recorder::default(),
        }));
        self.is_to_be_logged = true;
        self.events.push(CallEvent::TurnStarted { speech: id });
        id
    }

    /// Returns the turn with this id while it runs.
    pub fn turn_of(&mut self, id: SpeechId) -> Option<&mut Turn> {
        self.turn.as_deref_mut().filter(|turn| turn.id == id)
    }

    /// Stops the running turn and returns whether there was one. Its words stay in the conversation.
    pub fn stop_turn(&mut self, ear: &mut dyn Ear) -> bool {
        let Some(turn) = self.turn.take() else { return false };
        self.end(turn, &TurnEnd::Interrupted, ear);
        true
    }

    /// Ends a turn, unless it has already ended.
    pub fn end_turn(&mut self, id: SpeechId, end: &TurnEnd) {
        if let Some(turn) = self.turn.take_if(|turn| turn.id == id) {
            self.with_ear(|ear, core| core.end(turn, end, ear));
        }
    }

    fn end(&mut self, mut turn: Box<Turn>, end: &TurnEnd, ear: &mut dyn Ear) {
        if let Some(task) = turn.task.take().filter(|_| matches!(end, TurnEnd::Interrupted)) {
            task.abort();
        }
        self.commit_partial(&mut turn, ear);
        let Ended { end: reply_end, added_bytes, message } = ear.ended(&turn, end, self);
        let generated_bytes = count(turn.generated_bytes + added_bytes);
        self.events.push(CallEvent::ReplyEnded { speech: turn.id, end: reply_end, generated_bytes });
        self.store_record(*turn, end, message);
        self.may_summarize = true;
        self.events.extend(self.news.iter().map(|id| CallEvent::ResultReady { id: id.clone() }));
    }

    /// Runs `work` with the ear and the core. Meanwhile, the ear is taken out of the core.
    pub fn with_ear<T>(&mut self, work: impl FnOnce(&mut dyn Ear, &mut Self) -> T) -> T {
        let mut ear = std::mem::replace(&mut self.ear, Box::new(Nobody));
        let done = work(&mut *ear, self);
        self.ear = ear;
        done
    }
}

/// Returns a duration in milliseconds, or 0 if the clock was set back.
pub(crate) fn since(from_ms: i64, until_ms: i64) -> u32 {
    u32::try_from(until_ms.saturating_sub(from_ms).max(0)).unwrap_or(u32::MAX)
}

/// Converts a number for an event.
pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
