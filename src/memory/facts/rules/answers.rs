//! Short answers, which mean nothing without their question.

use super::Finding;
use crate::memory::facts::language::{WORDS, ranges};
use crate::memory::facts::tokens::{Token, tokens};
use crate::memory::facts::{Fact, LIMIT, WISH};
use crate::memory::one_line::one_line;
use crate::message::Message;

/// The maximum length of an answer, in words.
const LONGEST_ANSWER: usize = 4;
/// The minimum number of words with a meaning of their own in a question that a bare yes or no answers.
const LEAST_QUESTION: usize = 2;
/// The maximum length of a question that is kept with its answer, in characters.
const LONGEST_QUESTION: usize = 100;

impl Finding<'_> {
    /// Adds a short answer to the last question of `asked`: one of its alternatives, or a bare yes or no with the
    /// question. Returns whether the text is one.
    pub(super) fn answer(&mut self, asked: &Message) -> bool {
        let heard = asked.heard_contents();
        let question = heard.texts().last().and_then(|text| last_question(text));
        let Some(question) = question.filter(|_| self.tokens.len() <= LONGEST_ANSWER) else { return false };
        let words = tokens(question);
        self.alternative(&words) || self.bare_reply(question, &words)
    }

    /// Adds "Window" if that answers "Aisle or window?".
    fn alternative(&mut self, question: &[Token<'_>]) -> bool {
        let offers = question.iter().any(|token| WORDS.alternatives.contains(token.lower.as_str()));
        let own: Vec<&Token<'_>> = self.tokens.iter().filter(|token| !WORDS.is_stopword(&token.lower)).collect();
        let is_offered =
            |token: &&Token<'_>| token.is_word() && question.iter().any(|offered| offered.lower == token.lower);
        if !offers || !(1..=2).contains(&own.len()) || !own.iter().all(is_offered) {
            return false;
        }
        let words: Vec<&str> = own.iter().map(|token| token.text).collect();
        self.facts.push(Fact::new("", words.join(" "), self.source));
        true
    }

    /// Adds "Do you want insurance? No". "Anything else? No" decides nothing.
    fn bare_reply(&mut self, question: &str, words: &[Token<'_>]) -> bool {
        let Some((reply, rest)) = self.tokens.split_first() else { return false };
        let is_bare = WORDS.is_reply(&reply.lower) && rest.iter().all(|token| WORDS.is_stopword(&token.lower));
        let lower: Vec<String> = words.iter().map(|token| token.lower.clone()).collect();
        let meaning = lower.iter().filter(|word| !WORDS.is_stopword(word)).count();
        let closes = || ranges(&WORDS.closings, &lower).next().is_some();
        let is_short = question.chars().count() <= LONGEST_QUESTION;
        if !is_bare || !is_short || meaning < LEAST_QUESTION || closes() {
            return false;
        }
        let slot = if WORDS.refusals.contains(reply.lower.as_str()) { LIMIT } else { WISH };
        let value = one_line(&format!("{question}? {}", reply.text), LONGEST_QUESTION + 20);
        self.facts.push(Fact::new(slot, value, self.source));
        true
    }
}

/// Returns the last question of a text, without its question mark.
pub(super) fn last_question(text: &str) -> Option<&str> {
    let end = text.rfind('?')?;
    let start = text.get(..end)?.rfind(['.', '!', '?', '\n']).map_or(0, |at| at + 1);
    text.get(start..end).map(|question| question.trim_matches([' ', '¿']))
}
