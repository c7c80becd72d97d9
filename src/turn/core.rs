//! [`Core`]: what turns work on, and [`Host`], which keeps it under a lock.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::ear::{Ear, Ended, EndedTurn, Nobody};
use super::end::TurnEnd;
use super::event::{CallEvent, SpeechId};
use super::record::Recorder;
use super::setup::Setup;
use crate::log::CallId;
use crate::manager::MessagesManager;
use crate::memory::ToolHistory;
use crate::message::{MessageId, MessageWrapper, PlainMessage, ToolCall, ToolCallId};
use crate::policy::{Calibrated, CharacterEstimator, Tokens};

pub(crate) type Manager = MessagesManager<PlainMessage>;

/// Keeps a [`Core`] under a lock.
pub(crate) trait Host: Clone + Send + Sync + 'static {
    /// The call that the core is of.
    fn call_id(&self) -> &CallId;

    /// Works on the core. What follows from it, such as logging, happens before this returns; observers are called after the
    /// lock is released. Calling it from inside `act` deadlocks.
    fn with<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T;
}

/// What turns work on.
pub(crate) struct Core {
    pub manager: Manager,
    pub tools_used: ToolHistory,
    pub setup: Setup,
    pub ear: Box<dyn Ear>,
    pub estimator: Calibrated<CharacterEstimator>,
    /// The turn that is being driven.
    pub turn: Option<Turn>,
    /// What happened and was not reported to observers yet.
    pub events: Vec<CallEvent>,
    /// Whether what is new is to be handed to the log's writer.
    pub is_to_be_logged: bool,
    /// Whether something happened after which a summary may be due.
    pub may_summarize: bool,
    /// Whether somebody else than the engine may have added tool calls or results.
    pub tools_are_stale: bool,
    /// Notified of each result of a tool.
    pub results: Arc<Notify>,
    /// How many system messages there were at the first request. The others follow the cached prefix.
    pub(super) stable_system: Option<usize>,
    /// The last turn that ended, and the message with its record: its usage may still come.
    pub(super) ended: Option<(SpeechId, MessageId)>,
    /// The estimate of the last request's window, before it is corrected.
    pub(super) estimated: Tokens,
    next_speech: u32,
}

/// A turn that is being driven.
pub(crate) struct Turn {
    pub id: SpeechId,
    /// Cancels the task that drives it, if there is one, and with it the request to the model.
    pub task: Option<AbortHandle>,
    /// Whether it has said anything.
    pub has_spoken: bool,
    pub(super) answer: Answer,
    /// How often tools were called.
    pub(super) rounds: u32,
    /// The tool calls whose outcome the model knows and has said nothing about yet.
    pub(super) reports: Vec<ToolCallId>,
    pub(super) generated_bytes: usize,
    pub(super) recorder: Recorder,
}

/// What the model has said to one request, and is not in the conversation yet.
#[derive(Default)]
pub(super) struct Answer {
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub asked_ms: i64,
    pub first_token_ms: Option<i64>,
}

impl Core {
    pub fn new(manager: Manager, setup: Setup) -> Self {
        let messages = manager.all().map(PlainMessage::message);
        Self {
            tools_used: ToolHistory::default().with_messages(messages),
            manager,
            setup,
            ear: Box::new(Nobody),
            estimator: Calibrated::new(CharacterEstimator),
            turn: None,
            events: Vec::new(),
            is_to_be_logged: false,
            may_summarize: false,
            tools_are_stale: false,
            results: Arc::default(),
            stable_system: None,
            ended: None,
            estimated: Tokens::default(),
            next_speech: 1,
        }
    }

    /// Somebody else than the engine has changed the messages.
    pub fn changed(&mut self) {
        (self.is_to_be_logged, self.tools_are_stale) = (true, true);
        // The service may have reported what a tool did.
        self.results.notify_waiters();
    }

    pub fn now_ms(&self) -> i64 {
        self.manager.now_ms()
    }

    /// The next thing that the assistant says: a turn, or a fixed sentence.
    pub fn next_speech(&mut self) -> SpeechId {
        let id = SpeechId(self.next_speech);
        self.next_speech += 1;
        id
    }

    /// Begins a turn. [`drive`](super::drive) drives it.
    pub fn begin_turn(&mut self) -> SpeechId {
        let id = self.next_speech();
        self.turn = Some(Turn {
            id,
            task: None,
            has_spoken: false,
            answer: Answer::default(),
            rounds: 0,
            reports: Vec::new(),
            generated_bytes: 0,
            recorder: Recorder::default(),
        });
        self.is_to_be_logged = true;
        self.events.push(CallEvent::TurnStarted { speech: id });
        id
    }

    /// The turn with this id, while it is driven.
    pub fn turn_of(&mut self, id: SpeechId) -> Option<&mut Turn> {
        self.turn.as_mut().filter(|turn| turn.id == id)
    }

    /// Stops the turn that is being driven, and returns whether there was one. What it has said stays.
    pub fn stop_turn(&mut self, ear: &mut dyn Ear) -> bool {
        let Some(turn) = self.turn.take() else { return false };
        self.end(turn, &TurnEnd::Interrupted, ear);
        true
    }

    /// Ends a turn, unless it has ended already.
    pub fn end_turn(&mut self, id: SpeechId, end: &TurnEnd) {
        if let Some(turn) = self.turn.take_if(|turn| turn.id == id) {
            self.with_ear(|ear, core| core.end(turn, end, ear));
        }
    }

    fn end(&mut self, mut turn: Turn, end: &TurnEnd, ear: &mut dyn Ear) {
        if let Some(task) = turn.task.take().filter(|_| matches!(end, TurnEnd::Interrupted)) {
            task.abort();
        }
        self.commit_cut(&mut turn, ear);
        let ended = EndedTurn { id: turn.id, has_spoken: turn.has_spoken };
        let Ended { outcome, added_bytes, message } = ear.ended(&ended, end, self);
        let generated_bytes = count(turn.generated_bytes + added_bytes);
        self.events.push(CallEvent::ReplyEnded { speech: turn.id, outcome, generated_bytes });
        self.write_record(turn, end, message);
        self.may_summarize = true;
    }

    /// Lets the ear work on the core. What the engine does meanwhile is heard by the ear that it is given.
    pub fn with_ear<T>(&mut self, work: impl FnOnce(&mut dyn Ear, &mut Self) -> T) -> T {
        let mut ear = std::mem::replace(&mut self.ear, Box::new(Nobody));
        let done = work(&mut *ear, self);
        self.ear = ear;
        done
    }
}

/// A duration in milliseconds; 0 if the clock was set back.
pub(crate) fn since(from_ms: i64, until_ms: i64) -> u32 {
    u32::try_from(until_ms.saturating_sub(from_ms).max(0)).unwrap_or(u32::MAX)
}

/// A count as events have it.
pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
