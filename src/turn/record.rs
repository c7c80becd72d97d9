//! [`Recorder`]: notes what happens in a turn, for its [`TurnRecord`].

use super::core::{Core, Turn};
use super::end::{TurnEnd, failure_word};
use super::event::{CallEvent, SpeechId};
use crate::message::{MessageId, MessageWrapper, RequestRecord, Text, TokenRecord, TurnRecord};
use crate::model::{Failure, Fingerprint, Repair, Usage};
use crate::policy::Tokens;

/// Notes what happens in a turn.
#[derive(Default)]
pub(super) struct Recorder {
    requests: Vec<RequestRecord>,
    /// The last message that the turn added.
    message: Option<MessageId>,
}

impl Recorder {
    pub fn asked(&mut self, request: RequestRecord) {
        self.requests.push(request);
    }

    pub fn first_token(&mut self, at_ms: i64) {
        self.last(|request| request.first_token_ms = request.first_token_ms.or(Some(at_ms)));
    }

    pub fn stopped(&mut self, at_ms: i64) {
        self.last(|request| request.end_ms = Some(at_ms));
    }

    pub fn failed(&mut self, failure: &Failure, at_ms: i64) {
        self.last(|request| {
            (request.failure, request.end_ms) = (Some(failure_word(failure).into()), Some(at_ms));
        });
    }

    pub fn repaired(&mut self, repairs: &[Repair]) {
        self.last(|request| request.repairs.extend(repairs.iter().map(|repair| Text::from(repair.to_string()))));
    }

    pub fn said_in(&mut self, message: MessageId) {
        self.message = Some(message);
    }

    fn last<T>(&mut self, note: impl FnOnce(&mut RequestRecord) -> T) {
        if let Some(request) = self.requests.last_mut() {
            note(request);
        }
    }
}

impl Core {
    /// Writes the record of a turn that is over to its last message. `fixed` is what its ear added. A turn without a message
    /// is recorded with the last one of the conversation.
    pub(super) fn write_record(&mut self, turn: Turn, end: &TurnEnd, fixed: Option<MessageId>) {
        let Recorder { requests, message } = turn.recorder;
        let last = || self.manager.all().next_back().map(MessageWrapper::id);
        let Some(message) = message.or(fixed).or_else(last) else { return };
        let (end, reason) = end.words();
        let mut record = TurnRecord::default();
        (record.end, record.reason, record.end_ms, record.requests) = (end, reason, self.now_ms(), requests);
        if let Some(mut entry) = self.manager.entry(&message) {
            let record = record.after(entry.metadata().turn());
            entry.set_turn(record);
            self.ended = Some((turn.id, message));
        }
    }

    /// Notes the hash of the prompt that is sent.
    pub(super) fn hashed(&mut self, id: SpeechId, hash: Fingerprint) {
        if let Some(turn) = self.turn_of(id) {
            turn.recorder.last(|request| request.prompt_hash = Some(hash.to_string().into()));
        }
    }

    /// Notes what was changed in the request. Returns `false` if the turn is over.
    pub(super) fn repaired(&mut self, id: SpeechId, repairs: &[Repair]) -> bool {
        let Some(turn) = self.turn_of(id) else { return false };
        turn.recorder.repaired(repairs);
        true
    }

    /// Notes that a request failed.
    pub(super) fn request_failed(&mut self, id: SpeechId, failure: &Failure) {
        let now_ms = self.now_ms();
        if let Some(turn) = self.turn_of(id) {
            turn.recorder.failed(failure, now_ms);
        }
    }

    /// Counts what a request took. It comes last, often after the turn has ended.
    pub(super) fn used(&mut self, id: SpeechId, usage: Usage) {
        self.events.push(CallEvent::Used { usage });
        self.estimator.observe(self.estimated, Tokens::new(usage.input_tokens));
        let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage;
        let tokens = TokenRecord {
            input: input_tokens,
            output: output_tokens,
            cache_read: cache_read_tokens,
            cache_write: cache_write_tokens,
        };
        if let Some(turn) = self.turn_of(id) {
            turn.recorder.last(|request| request.usage = Some(tokens));
        } else if let Some((_, message)) = self.ended.filter(|(ended, _)| *ended == id)
            && let Some(mut entry) = self.manager.entry(&message)
            && let Some(mut record) = entry.metadata().turn().cloned()
            && let Some(request) = record.requests.last_mut()
        {
            request.usage = Some(tokens);
            entry.set_turn(record);
        }
    }
}
