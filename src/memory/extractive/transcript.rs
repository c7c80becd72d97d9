//! [`Transcript`]: the previous summary and the new messages as a list of turns with their facts.

use std::collections::HashMap;
use std::ops::Range;

use super::clauses::clauses;
use super::clean::push_clean;
use super::hash::Hash;
use super::tools;
use super::weight::{Term, Weight, weigh};
use crate::manager::Summarizing;
use crate::memory::facts::says_yes_or_no;
use crate::memory::one_line::one_line;
use crate::message::{Content, Message, Role, ToolCall, ToolCallId, ToolResult};

/// The speaker of a line. The next summary recognizes lines by these labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Caller,
    Assistant,
    /// A tool call with its result.
    Tool,
    /// A picture or document.
    Attachment,
    /// Background that nobody said.
    Context,
    /// A summary by another summarizer.
    Earlier,
}

impl Speaker {
    const ALL: [Self; 6] = [Self::Caller, Self::Assistant, Self::Tool, Self::Attachment, Self::Context, Self::Earlier];

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Caller => "caller: ",
            Self::Assistant => "assistant: ",
            Self::Tool => "tool: ",
            Self::Attachment => "attached: ",
            Self::Context => "context: ",
            Self::Earlier => "earlier: ",
        }
    }

    /// Returns `true` if the words of this speaker are quoted.
    pub(super) const fn is_quoted(self) -> bool {
        !matches!(self, Self::Tool | Self::Attachment)
    }
}

/// The words of one speaker without an interruption.
#[derive(Debug)]
pub(super) struct Turn {
    pub speaker: Speaker,
    pub text: String,
    is_carried: bool,
}

/// A clause of a turn, which is kept or dropped as a whole.
#[derive(Debug)]
pub(super) struct Fact {
    pub turn: usize,
    pub range: Range<usize>,
    pub chars: usize,
    pub weight: Weight,
    pub terms: Range<usize>,
    /// The question that this fact answers.
    pub answers: Option<usize>,
}

/// All turns and their facts in the order of the call.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub turns: Vec<Turn>,
    pub facts: Vec<Fact>,
    pub terms: Vec<Term>,
    /// The number of tool lines that hold each value, by hash.
    seen: HashMap<u64, u32>,
    /// The turn in which the caller first says something of substance.
    opening: Option<usize>,
    /// Whether the calls of tools are left out.
    is_of_talk: bool,
}

/// A clause with fewer points is kept only if the summary would be empty without it.
pub(super) const ENOUGH: u32 = 24;
/// The bonus for a caller's first words, which mostly state the topic of the call.
const OPENING: u32 = 30;
/// The bonus for words right after a question of the assistant.
const ASKED_FOR: u32 = 15;
/// The bonus for an unanswered question, so that it is always kept.
const LEFT_OPEN: u32 = 300;
/// The maximum length of a document's or picture's name, in characters.
const LONGEST_NAME: usize = 60;
/// An answer with at most this many words needs its question to be understood, and so does a longer one with a yes or no.
const SHORT_ANSWER: usize = 6;

impl Transcript {
    pub(super) fn of(summarizing: &Summarizing, is_of_talk: bool) -> Self {
        let mut transcript = Self { is_of_talk, ..Self::default() };
        if let Some(previous) = summarizing.previous() {
            for text in previous.contents().texts() {
                text.lines().for_each(|line| transcript.carry(line));
            }
        }
        // The number of each call keeps the order of calls that stay open.
        let mut open: HashMap<&ToolCallId, (usize, &ToolCall)> = HashMap::new();
        let mut calls = 0;
        for message in summarizing.messages() {
            transcript.hear(message);
            for content in message.contents() {
                match content {
                    Content::ToolCall(tool_call) => {
                        open.insert(tool_call.id(), (calls, tool_call));
                        calls += 1;
                    }
                    Content::ToolResult(result) => {
                        let tool_call = open.remove(result.tool_call_id()).map(|(_, tool_call)| tool_call);
                        transcript.tool(tool_call, Some(result));
                    }
                    Content::Media(media) => {
                        transcript.attach(media.kind.as_str(), media.label.as_deref());
                    }
                    Content::Text(_) | Content::Unknown(_) => {}
                }
            }
        }
        let mut pending: Vec<_> = open.into_values().collect();
        pending.sort_by_key(|(number, _)| *number);
        for (_, tool_call) in pending {
            transcript.tool(Some(tool_call), None);
        }
        (0..transcript.turns.len()).for_each(|turn| transcript.weigh(turn));
        transcript
    }

    /// Returns the clause of a fact on one line.
    pub(super) fn clause(&self, fact: &Fact) -> String {
        self.text(fact).replace('\n', " ")
    }

    pub(super) fn speaker(&self, fact: &Fact) -> Speaker {
        self.turns.get(fact.turn).map_or(Speaker::Earlier, |turn| turn.speaker)
    }

    fn text(&self, fact: &Fact) -> &str {
        self.turns.get(fact.turn).and_then(|turn| turn.text.get(fact.range.clone())).unwrap_or_default()
    }

    /// Adds a line of the previous summary.
    fn carry(&mut self, line: &str) {
        let line = line.trim();
        let labelled =
            Speaker::ALL.into_iter().find_map(|speaker| Some((speaker, line.strip_prefix(speaker.label())?)));
        let (speaker, text) = labelled.unwrap_or((Speaker::Earlier, line));
        if line == super::NOTHING {
            return;
        }
        if !speaker.is_quoted() {
            return self.add(speaker, tools::carried(text), true);
        }
        let words = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        match self.turns.last_mut() {
            // Prose may have several lines.
            Some(last) if speaker == Speaker::Earlier && last.speaker == speaker => push_clean(&mut last.text, words),
            _ => {
                let mut text = String::new();
                push_clean(&mut text, words);
                self.add(speaker, text, true);
            }
        }
    }

    /// Adds the words of a message, to the last turn if the speaker is the same.
    fn hear(&mut self, message: &Message) {
        let speaker = match message.role() {
            Role::User if message.is_background() => Speaker::Context,
            Role::User => Speaker::Caller,
            _ => Speaker::Assistant,
        };
        let heard = message.heard_contents();
        let mut text = String::new();
        heard.texts().for_each(|said| push_clean(&mut text, said));
        match self.turns.last_mut() {
            Some(last) if last.speaker == speaker && !last.is_carried && !text.is_empty() => {
                last.text.push('\n');
                last.text.push_str(&text);
            }
            _ => self.add(speaker, text, false),
        }
    }

    fn tool(&mut self, tool_call: Option<&ToolCall>, result: Option<&ToolResult>) {
        let line = tools::line(tool_call, result, &mut self.seen);
        self.add(Speaker::Tool, line, false);
    }

    fn attach(&mut self, kind: &str, name: Option<&str>) {
        let name = name.map(|name| format!(" \"{}\"", one_line(name, LONGEST_NAME))).unwrap_or_default();
        self.add(Speaker::Attachment, format!("{kind}{name}"), false);
    }

    fn add(&mut self, speaker: Speaker, text: String, is_carried: bool) {
        let is_left_out = self.is_of_talk && speaker == Speaker::Tool;
        if !text.is_empty() && !is_left_out {
            self.turns.push(Turn { speaker, text, is_carried });
        }
    }

    /// Scores the clauses of a turn and adds them as facts.
    fn weigh(&mut self, turn: usize) {
        let Some(Turn { speaker, text, .. }) = self.turns.get(turn) else { return };
        let speaker = *speaker;
        let question = self.facts.len().checked_sub(1).filter(|last| self.is_question(*last));
        let lower = text.to_ascii_lowercase();
        let ranges = if speaker.is_quoted() { clauses(text, &lower) } else { std::iter::once(0..text.len()).collect() };
        for (index, range) in ranges.into_iter().enumerate() {
            let (clause, lower) =
                (text.get(range.clone()).unwrap_or_default(), lower.get(range.clone()).unwrap_or_default());
            let first_term = self.terms.len();
            let mut weight = match speaker {
                Speaker::Tool => tools::weigh(clause, &mut self.terms),
                _ => weigh(clause, lower, &mut self.terms),
            };
            let is_answer = index == 0
                && speaker == Speaker::Caller
                && (weight.words <= SHORT_ANSWER || says_yes_or_no(lower))
                && !weight.is_wish
                && !weight.is_identity;
            let answers = question.filter(|_| is_answer);
            // A "yes" is new after each question. A caller's name counts even if a tool result holds it.
            if answers.is_some() || speaker == Speaker::Caller && weight.is_identity {
                weight.points += 30;
                let salt = if answers.is_some() { turn as u64 } else { 0 };
                self.terms.push(Term { hash: Hash::of(lower) ^ salt, worth: 6 });
            }
            if question.is_some() && answers.is_none() && index < 3 && speaker == Speaker::Caller {
                weight.points += ASKED_FOR;
            }
            if turn + 1 == self.turns.len() && weight.is_question && !weight.is_small_talk {
                weight.points += LEFT_OPEN;
                self.terms.push(Term { hash: Hash::of(lower) ^ turn as u64, worth: 6 });
            }
            if speaker == Speaker::Caller && weight.points >= ENOUGH && self.opening.is_none_or(|first| first == turn) {
                self.opening = Some(turn);
                weight.points += OPENING;
            }
            weight.points = match speaker {
                Speaker::Caller | Speaker::Tool => weight.points,
                Speaker::Assistant if weight.is_identity && !weight.is_hard => weight.points / 3,
                Speaker::Assistant => weight.points * 2 / 3,
                Speaker::Attachment => weight.points + 60,
                Speaker::Context | Speaker::Earlier => weight.points + 40,
            };
            self.facts.push(Fact {
                turn,
                chars: clause.chars().count(),
                range,
                weight,
                terms: first_term..self.terms.len(),
                answers,
            });
        }
    }

    fn is_question(&self, fact: usize) -> bool {
        self.facts.get(fact).is_some_and(|fact| {
            self.speaker(fact) == Speaker::Assistant && fact.weight.is_question && !fact.weight.is_small_talk
        })
    }
}
