//! [`Turns`]: the turns of a call with their numbers, and how long the caller waited in each.

use verbale::message::{Attribute, Part, Timing};
use verbale::{Message, MessageWrapper, MessagesManager, Role};

use crate::text::count;
use crate::time::lasting;
use crate::turn::{Request, Turn};

/// The turns of a call, in the order of the log.
#[derive(Debug, Default)]
pub struct Turns(pub Vec<Numbered>);

/// A turn, and where the call has it.
#[derive(Debug)]
pub struct Numbered {
    /// Turns count from 1.
    pub number: u32,
    /// The index of the message with its record.
    pub message: usize,
    pub turn: Turn,
    /// How long the caller waited, if there was an answer.
    pub gap: Option<Gap>,
}

/// A request, and where the call has it.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'t> {
    pub turn: &'t Numbered,
    /// The requests of a turn count from 1.
    pub number: usize,
    pub request: &'t Request,
    pub sent_ms: i64,
    /// Whether its memory covers other messages than that of the request before.
    pub is_after_cut: bool,
}

/// The silence between the caller's last word and the first word of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub from_ms: i64,
    pub until_ms: i64,
}

impl Gap {
    pub fn length_ms(self) -> i64 {
        self.until_ms.saturating_sub(self.from_ms)
    }
}

/// The words of the caller and the assistant, with their times.
#[derive(Default)]
struct Spoken {
    /// When words of the caller were known, and when they had ended.
    caller: Vec<(i64, i64)>,
    /// When the model was asked for words, and when they were first heard, or generated if nothing was played.
    assistant: Vec<(i64, i64)>,
}

impl Turns {
    pub fn of<W: MessageWrapper>(conversation: &MessagesManager<W>) -> Self {
        let messages = || conversation.meta_messages().iter().map(MessageWrapper::message);
        let mut spoken = Spoken::default();
        messages().for_each(|message| spoken.note(message));
        let mut turns = Vec::new();
        let (mut number, mut answered_ms) = (0, i64::MIN);
        for (index, message) in messages().enumerate() {
            let Some(record) = message.metadata().turn().and_then(Turn::read) else { continue };
            number += record.left_out;
            for turn in record.each() {
                number += 1;
                let gap = spoken.gap_of(&turn, &mut answered_ms);
                turns.push(Numbered { number, message: index, turn, gap });
            }
        }
        Self(turns)
    }

    /// Iterates over the requests.
    pub fn requests(&self) -> impl Iterator<Item = Sent<'_>> {
        let mut covers = None;
        let all = self.0.iter().flat_map(|turn| (1..).zip(&turn.turn.requests).map(move |sent| (turn, sent)));
        all.map(move |(turn, (number, request))| {
            let is_after_cut = request.memory_covers.is_some() && request.memory_covers != covers;
            covers = request.memory_covers.or(covers);
            Sent { turn, number, request, sent_ms: turn.turn.sent_ms(request), is_after_cut }
        })
    }

    /// Returns the turns with an answer, and its gap in milliseconds, the shortest first.
    pub fn by_gap(&self) -> Vec<(i64, &Numbered)> {
        let mut gaps: Vec<_> = self.0.iter().filter_map(|turn| Some((turn.gap?.length_ms(), turn))).collect();
        gaps.sort_by_key(|(gap_ms, turn)| (*gap_ms, std::cmp::Reverse(turn.number)));
        gaps
    }
}

/// Returns whether an assistant's message is a fixed sentence, such as one that fills a silence, and no answer of the model.
pub fn is_fixed(message: &Message) -> bool {
    message.metadata().has(Attribute::Hardcoded) && message.metadata().timing(Timing::LlmEnd).is_none()
}

/// Returns the value that so many percent of the sorted values do not exceed, by nearest rank.
pub fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    sorted.get((sorted.len() * percent).div_ceil(100).checked_sub(1)?).copied()
}

impl Spoken {
    fn note(&mut self, message: &Message) {
        let timing = |timing| message.metadata().timing(timing);
        match message.role() {
            Role::User if !message.is_fake() && !message.is_background() => {
                let parts =
                    message.parts().filter(|part| part.contents().iter().any(|content| content.as_text().is_some()));
                let end_ms = |part: Part<'_>| part.timing(Timing::ListenEnd).unwrap_or(part.created_ms());
                self.caller.extend(parts.map(|part| (part.created_ms(), end_ms(part))));
            }
            Role::Assistant if message.contents().texts().next().is_some() => {
                let Some(asked_ms) = timing(Timing::LlmStart).filter(|_| !is_fixed(message)) else { return };
                let heard_ms =
                    [Timing::PlayStart, Timing::LlmFirstToken, Timing::Creation].into_iter().find_map(timing);
                self.assistant.push((asked_ms, heard_ms.unwrap_or(asked_ms)));
            }
            _ => {}
        }
    }

    /// Returns the gap of a turn, which begins with the caller's words that no earlier turn answered, or else with the turn.
    fn gap_of(&self, turn: &Turn, answered_ms: &mut i64) -> Option<Gap> {
        let end_ms = turn.start_ms.saturating_add(turn.took_ms);
        let is_of_turn = |asked_ms: i64| (turn.start_ms..=end_ms).contains(&asked_ms);
        let heard = self.assistant.iter().filter(|(asked_ms, _)| is_of_turn(*asked_ms)).map(|(_, heard_ms)| *heard_ms);
        let until_ms = heard.min()?;
        let known = self.caller.iter().filter(|(known_ms, _)| *known_ms <= turn.start_ms);
        let said_ms = known.map(|(_, end_ms)| *end_ms).max().filter(|said_ms| *said_ms > *answered_ms);
        *answered_ms = turn.start_ms;
        let from_ms = said_ms.unwrap_or(turn.start_ms);
        Some(Gap { from_ms, until_ms: until_ms.max(from_ms) })
    }
}

impl Numbered {
    /// Returns the largest part of the gap, in words, and what makes it shorter.
    pub fn slowness(&self, gap: Gap) -> (String, &'static str) {
        let answered_ms = |request: &Request| Some(self.turn.sent_ms(request).saturating_add(request.first_token_ms?));
        let requests = &self.turn.requests;
        let answering =
            requests.iter().rposition(|request| answered_ms(request).is_some_and(|at_ms| at_ms <= gap.until_ms));
        let Some((at, request)) = answering.and_then(|at| Some((at, requests.get(at)?))) else {
            return ("the log does not say why".to_owned(), "");
        };
        let (mut failed_ms, mut model_ms, mut tools_ms) = (0, request.first_token_ms.unwrap_or_default(), 0);
        for (earlier, next) in requests.iter().zip(requests.iter().skip(1)).take(at) {
            let all_ms = next.after_ms.saturating_sub(earlier.after_ms);
            if earlier.failure.is_some() {
                failed_ms += all_ms;
            } else {
                let took_ms = earlier.took_ms.unwrap_or_default().min(all_ms);
                model_ms += took_ms;
                tools_ms += all_ms - took_ms;
            }
        }
        let before_ms = self.turn.start_ms.saturating_sub(gap.from_ms);
        let speech_ms = gap.until_ms.saturating_sub(answered_ms(request).unwrap_or(gap.until_ms));
        let most = [failed_ms, model_ms, tools_ms, before_ms, speech_ms].into_iter().max().unwrap_or_default();
        let took = lasting(most);
        if most == model_ms {
            let tokens = count(request.input.unwrap_or_default(), "token");
            let prompt =
                format!("the model took {took} for a prompt of {tokens}, {} of them cached", request.cache_read);
            (prompt, "shorten the prompt with a policy, set cache points, or choose a faster model or latency mode")
        } else if most == failed_ms {
            (format!("failed requests took {took}"), "add another model with `or_else`, or ask again sooner")
        } else if most == tools_ms {
            (format!("tools took {took}"), "make the tool faster, or fill the silence: `CallSettings::with_fillers`")
        } else if most == before_ms {
            let fix = "take the caller's words as complete after a shorter silence";
            (format!("the model was asked {took} after the caller's last word"), fix)
        } else {
            let fix = "look at the speech synthesis: a shorter first sentence is spoken sooner";
            (format!("the speech began {took} after the model's first word"), fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_use_the_nearest_rank() {
        let of = |length: i64| [50, 90, 100].map(|percent| percentile(&(1..=length).collect::<Vec<_>>(), percent));
        assert_eq!(of(0), [None; 3]);
        assert_eq!(of(1), [Some(1); 3]);
        assert_eq!(of(2), [Some(1), Some(2), Some(2)]);
        assert_eq!(of(10), [Some(5), Some(9), Some(10)]);
        assert_eq!(of(11), [Some(6), Some(10), Some(11)]);
    }
}
