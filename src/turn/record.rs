//! The [`TurnRecord`] of a turn, which is stored with its last message.

use std::sync::Arc;

use super::core::{Core, Turn};
use super::end::TurnEnd;
use super::event::{CallEvent, SpeechId};
use super::words::text_of;
use crate::log::Durability;
use crate::message::{Amount, MessageId, RequestRecord, Text, TurnRecord};
use crate::model::Usage;
use crate::policy::Tokens;

/// The parts of a turn's record, collected while the turn runs.
#[derive(Default)]
pub(super) struct Recorder {
    /// When the first request was sent.
    start_ms: i64,
    /// The requests. Their times count from the start of the turn, and within a request from that request.
    requests: Vec<RequestRecord>,
    /// The model of the last request.
    model: Option<Text>,
    /// The number of sentences that filled a silence.
    pub fillers: u32,
    /// The last message that the turn added.
    pub message: Option<MessageId>,
}

impl Recorder {
    /// Adds a request that is sent to `model` at `at_ms`.
    pub fn record_asked(&mut self, request: RequestRecord, model: Option<Text>, at_ms: i64) {
        if self.requests.is_empty() {
            self.start_ms = at_ms;
        }
        let after_ms = Amount::unless_zero(at_ms.saturating_sub(self.start_ms));
        let is_other = model != self.model;
        self.requests.push(RequestRecord { after_ms, model: model.clone().filter(|_| is_other), ..request });
        self.model = model;
    }

    /// Changes the record of the last request.
    pub fn record(&mut self, change: impl FnOnce(&mut RequestRecord)) {
        if let Some(request) = self.requests.last_mut() {
            change(request);
        }
    }

    /// Returns the tokens of the last answer, if the model reported them.
    pub fn last_output(&self) -> Option<u32> {
        self.requests.last().and_then(|request| request.output.get()).and_then(|output| u32::try_from(output).ok())
    }

    /// Records the first token, unless one was recorded.
    pub fn record_first_token(&mut self, at_ms: i64) {
        let start_ms = self.start_ms;
        self.record(|request| {
            if request.first_token_ms.is_unknown() {
                request.first_token_ms = request.since_asked(start_ms, at_ms).into();
            }
        });
    }

    /// Records that the answer to the last request has ended, or that the request has failed.
    pub fn record_end(&mut self, at_ms: i64) {
        let start_ms = self.start_ms;
        self.record(|request| request.took_ms = request.since_asked(start_ms, at_ms).into());
    }
}

impl Core {
    /// Changes the record of a turn's last request. Returns `false` if the turn is over.
    pub(super) fn record_request(&mut self, id: SpeechId, change: impl FnOnce(&mut RequestRecord)) -> bool {
        let Some(turn) = self.turn_of(id) else { return false };
        turn.recorder.record(change);
        true
    }

    /// Records that a turn's last request got no answer.
    pub(super) fn record_failure(&mut self, id: SpeechId, reason: &'static str) {
        let now_ms = self.now_ms();
        if let Some(turn) = self.turn_of(id) {
            turn.recorder.record_end(now_ms);
            turn.recorder.record(|request| request.failure = Some(text_of(reason)));
        }
    }

    /// Records that a turn's last request goes to another model. Returns `false` if the turn is over.
    pub(super) fn record_switch(&mut self, id: SpeechId, from: Arc<str>, to: Arc<str>, reason: &'static str) -> bool {
        let switch = format!("{from} -> {to}: {reason}");
        let is_running = self.record_request(id, |record| record.rare.switches.push(switch.into()));
        if is_running {
            self.events.push(CallEvent::ModelSwitched { speech: id, from, to, reason });
        }
        is_running
    }

    /// Stores the record of an ended turn.
    ///
    /// It is stored with the turn's last message, else with `fixed`, the message that the ear added, else with the
    /// conversation's last message.
    pub(super) fn store_record(&mut self, turn: Turn, end: &TurnEnd, fixed: Option<MessageId>) {
        let Recorder { start_ms, requests, model: _, fillers, message } = turn.recorder;
        let last = || self.manager.all().next_back().map(|wrapper| wrapper.id());
        let Some(message) = message.or(fixed).or_else(last) else { return };
        let (end, reason) = end.words();
        let end_ms = self.now_ms();
        let start_ms = if requests.is_empty() { end_ms } else { start_ms };
        let took_ms = Amount::unless_zero(end_ms.saturating_sub(start_ms));
        let log = self.log_level().filter(|level| *level != Durability::Stored).map(|level| text_of(level.word()));
        let requests = requests.into();
        let record = TurnRecord { end, reason, start_ms, took_ms, requests, fillers, log, ..TurnRecord::default() };
        if let Some(mut entry) = self.manager.entry(&message) {
            let record = record.after(entry.metadata().turn());
            entry.set_turn(record);
            self.ended = Some((turn.id, message));
        }
    }

    /// Returns how durable the changes until now are, if the conversation is logged.
    pub(crate) fn log_level(&self) -> Option<Durability> {
        Some(self.writer.as_ref()?.level())
    }

    /// Records the tokens of a request. They often arrive after the turn has ended.
    pub(super) fn record_usage(&mut self, id: SpeechId, usage: Usage) {
        self.events.push(CallEvent::Used { usage });
        self.estimator.observe(self.estimated, Tokens::new(usage.input_tokens));
        let record = |request: &mut RequestRecord| usage.record(request);
        if self.record_request(id, record) {
            return;
        }
        if let Some((_, message)) = self.ended.filter(|(ended, _)| *ended == id)
            && let Some(mut entry) = self.manager.entry(&message)
            && let Some(mut turn) = entry.metadata().turn().cloned()
            && let Some(request) = turn.requests.last_mut()
        {
            record(request);
            entry.set_turn(turn);
        }
    }
}
