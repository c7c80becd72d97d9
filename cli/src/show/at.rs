//! [`At`]: the prompt of a turn, rebuilt from the log.

use std::io::Write;
use std::str::FromStr;

use serde::Serialize;
use verbale::conversation::Conversation;
use verbale::log::{CallId, LoggedCall};
use verbale::message::{Record, Text};
use verbale::model::ModelRequest;
use verbale::{Message, MessagesManager, PlainMessage};

use super::{Shown, started_ms};
use crate::command::json_line;
use crate::failure::{DIFFERENT, Failure};
use crate::redact::Mask;
use crate::text::{count, visible};
use crate::time::since;
use crate::turns::{Sent, Turns};

/// A request of a turn: `3` is the last one of turn 3, `3.1` its first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    turn: u32,
    request: Option<usize>,
}

impl FromStr for At {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected the number of a turn, such as 3, or of one of its requests, such as 3.1";
        let (turn, request) = text.split_once('.').map_or((text, None), |(turn, request)| (turn, Some(request)));
        let turn = turn.parse().ok().filter(|turn| *turn > 0).ok_or(EXPECTED)?;
        let request = request.map(|request| request.parse().ok().filter(|request| *request > 0).ok_or(EXPECTED));
        Ok(Self { turn, request: request.transpose()? })
    }
}

/// A request that was sent, and its prompt.
#[derive(Debug)]
pub struct Prompt {
    turn: u32,
    /// The number of the request in its turn, and of all requests of the turn.
    request: usize,
    requests: usize,
    sent_ms: i64,
    started_ms: i64,
    model: Option<String>,
    sent_hash: Option<String>,
    /// Whether the rebuilt prompt has the hash of the one that was sent.
    is_same: Option<bool>,
    rebuilt: ModelRequest,
}

impl At {
    /// Rebuilds the prompt. The shown prompt is masked, the compared one is not.
    pub fn rebuild(self, call_id: &CallId, call: LoggedCall, mask: Mask) -> Result<Prompt, Failure> {
        let started_ms = started_ms(&call);
        let masked = mask.apply(call.clone())?;
        let conversation: MessagesManager<PlainMessage> = call.restore();
        let turns = Turns::of(&conversation);
        let all: Vec<Sent<'_>> = turns.requests().collect();
        let is_asked =
            |sent: &Sent<'_>| sent.turn.number == self.turn && self.request.is_none_or(|asked| asked == sent.number);
        let until = all.iter().rposition(is_asked).and_then(|at| all.get(..=at)).unwrap_or_default();
        let Some(Sent { turn, number: request, request: record, sent_ms, .. }) = until.last().copied() else {
            return Err(self.not_found(call_id, &turns));
        };
        let (turn, requests) = (turn.number, turn.turn.requests.len());
        let model = until.iter().rev().find_map(|sent| sent.request.model.clone());
        let sent_hash = record.prompt_hash.clone();
        let rebuilt = |conversation| Conversation::from_manager(call_id.clone(), conversation).prompt_at(sent_ms);
        let is_same = rebuilt(conversation).and_then(|(_, is_same)| is_same);
        let (rebuilt, _) = rebuilt(masked.restore()).ok_or_else(|| {
            let text = format!(
                "the log of call {call_id} has no messages that turn {turn} could send; `verbale check` says why"
            );
            Failure::NotFound(text)
        })?;
        Ok(Prompt { turn, request, requests, sent_ms, started_ms, model, sent_hash, is_same, rebuilt })
    }

    fn not_found(self, call_id: &CallId, turns: &Turns) -> Failure {
        let turn = self.turn;
        let requests: usize =
            turns.0.iter().filter(|asked| asked.number == turn).map(|asked| asked.turn.requests.len()).sum();
        let text = match (turns.0.last(), requests) {
            (None, _) => format!("the log has no turns of call {call_id}"),
            (Some(last), 0) => {
                format!("call {call_id} has no request of turn {turn}; its last turn is {}", last.number)
            }
            (_, requests) => format!("turn {turn} of call {call_id} has {}", count(requests as u64, "request")),
        };
        Failure::NotFound(text)
    }
}

/// Returns the turn of the last request, and the memory that it had in its prompt, if any.
pub fn last_memory(call_id: &CallId, call: LoggedCall) -> Option<(u32, Text)> {
    let conversation: MessagesManager<PlainMessage> = call.restore();
    let turns = Turns::of(&conversation);
    let Sent { turn, sent_ms, .. } = turns.requests().last()?;
    let (request, _) = Conversation::from_manager(call_id.clone(), conversation).prompt_at(sent_ms)?;
    Some((turn.number, request.memory?))
}

/// A prompt, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    turn: u32,
    request: usize,
    sent_ms: i64,
    model: &'a Option<String>,
    prompt_hash: &'a Option<String>,
    is_same: Option<bool>,
    system: &'a [Text],
    late_system: &'a [Text],
    memory: &'a Option<Text>,
    messages: Vec<Record>,
}

impl Prompt {
    fn status(&self) -> u8 {
        if self.is_same == Some(false) { DIFFERENT } else { 0 }
    }

    /// Writes the prompt as one JSON object. Returns the exit status.
    pub fn json(&self, out: &mut dyn Write) -> Result<u8, Failure> {
        let printed = Printed {
            turn: self.turn,
            request: self.request,
            sent_ms: self.sent_ms,
            model: &self.model,
            prompt_hash: &self.sent_hash,
            is_same: self.is_same,
            system: &self.rebuilt.system,
            late_system: &self.rebuilt.late_system,
            memory: &self.rebuilt.memory,
            messages: self.rebuilt.messages.iter().cloned().map(Record::from).collect(),
        };
        json_line(out, &printed)?;
        Ok(self.status())
    }

    /// Writes the prompt for people. Returns the exit status.
    pub fn show(&self, out: &mut dyn Write) -> Result<u8, Failure> {
        let at = since(self.started_ms, self.sent_ms);
        let model = self.model.as_deref().map_or_else(String::new, |model| format!(" to {}", visible(model)));
        writeln!(out, "turn {}, request {} of {}, sent at {at}{model}", self.turn, self.request, self.requests)?;
        let hash = self.sent_hash.as_deref().map(visible).unwrap_or_default();
        match self.is_same {
            Some(true) => writeln!(out, "the prompt below was sent: it has the hash {hash}")?,
            Some(false) => writeln!(
                out,
                "another prompt was sent: the one below has not its hash {hash}. Messages changed later, or the service \
                 has a policy, limits or facts of its own"
            )?,
            None => writeln!(out, "the log has no hash of the prompt that was sent")?,
        }
        writeln!(out, "tools and settings are not in the log")?;
        self.part(out, "instructions", &self.rebuilt.system)?;
        self.part(out, "later instructions", &self.rebuilt.late_system)?;
        self.part(out, "memory", self.rebuilt.memory.as_slice())?;
        writeln!(out, "\n{}", count(self.rebuilt.messages.len() as u64, "message"))?;
        let mut shown = Shown { out, started_ms: self.started_ms, turns: &mut 0 };
        self.rebuilt.messages.iter().try_for_each(|message| shown.of_prompt(message))?;
        Ok(self.status())
    }

    fn part(&self, out: &mut dyn Write, title: &str, texts: &[Text]) -> Result<(), Failure> {
        if texts.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{title}")?;
        for line in texts.iter().flat_map(|text| text.as_str().lines()) {
            writeln!(out, "  {}", visible(line))?;
        }
        Ok(())
    }
}

impl Shown<'_> {
    /// Shows a message as the model gets it: all of its contents, without its turn. Words that were not heard are not in the prompt.
    fn of_prompt(&mut self, message: &Message) -> Result<(), Failure> {
        let at_ms = message.metadata().timing(verbale::message::Timing::Creation).unwrap_or_default();
        message.contents().iter().try_for_each(|content| self.content(at_ms, message.role(), content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_named_by_their_turn() {
        assert_eq!("3".parse(), Ok(At { turn: 3, request: None }));
        assert_eq!("12.2".parse(), Ok(At { turn: 12, request: Some(2) }));
        for wrong in ["", "0", "3.", "3.0", ".1", "-1", "one", "1.2.3"] {
            assert!(wrong.parse::<At>().is_err(), "{wrong}");
        }
    }
}
