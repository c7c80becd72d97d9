//! The slot of a value: the words before it, the question that it answers, and whether it corrects another one.

use super::Finding;
use crate::memory::facts::language::{WORDS, after};
use crate::memory::facts::tokens::{Token, tokens};
use crate::memory::one_line::one_line;
use crate::message::Message;

impl Finding<'_> {
    /// Returns whether the sentence announces a correction before the word.
    pub(super) fn is_corrected(&self, at: usize) -> bool {
        let start = self.sentence(at);
        let words: Vec<String> =
            self.tokens.get(start..at).unwrap_or_default().iter().map(|token| token.lower.clone()).collect();
        after(&WORDS.corrections, &words).next().is_some()
    }

    /// Returns where the sentence of a word begins.
    pub(super) fn sentence(&self, at: usize) -> usize {
        (0..=at).rev().find(|start| self.get(*start).is_some_and(|token| token.is_first)).unwrap_or(0)
    }

    /// Returns the nouns directly before a word, or else what the assistant asked for.
    pub(super) fn slot(&self, at: usize) -> String {
        let mut nouns: Vec<&str> = Vec::new();
        let mut has_copula = false;
        for before in (at.saturating_sub(4)..at).rev() {
            let Some(token) = self.get(before) else { break };
            let is_stop = WORDS.stopwords.contains(token.lower.as_str());
            if is_stop
                && nouns.is_empty()
                && !has_copula
                && !token.ends_clause
                && ["is", "are", "ist", "es", "est", "è", "é", "number", "nummer"].contains(&token.lower.as_str())
            {
                has_copula = true;
                continue;
            }
            let is_cue = WORDS.corrections.iter().flatten().any(|word| *word == token.lower);
            let is_stop = is_stop || is_cue;
            let is_label = token.is_label && nouns.is_empty();
            if is_stop || !token.is_word() || (token.ends_clause && !is_label) || nouns.len() == 2 {
                break;
            }
            nouns.push(&token.lower);
        }
        nouns.reverse();
        if nouns.is_empty()
            && let Some(question) = &self.question
            && self.tokens.len() <= 12
        {
            return question.clone();
        }
        one_line(&nouns.join(" "), 30)
    }
}

/// Returns what the last question of a message asks for: the nouns before its question mark.
pub(super) fn question(message: &Message) -> Option<String> {
    let heard = message.heard_contents();
    let text = heard.texts().last()?.as_str();
    let end = text.rfind('?')?;
    let start = text.get(..end)?.rfind(['.', '!', '?', '\n']).map_or(0, |at| at + 1);
    let tokens = tokens(text.get(start..end)?);
    let is_noun = |token: &&Token<'_>| token.is_word() && !WORDS.stopwords.contains(token.lower.as_str());
    let possessive = tokens
        .iter()
        .position(|token| ["your", "ihre", "ihr", "su", "votre", "sua", "suo", "seu"].contains(&token.lower.as_str()));
    let from = possessive.map_or(0, |at| at + 1);
    let nouns: Vec<&str> = match possessive {
        Some(_) => tokens.get(from..)?.iter().take_while(is_noun).take(3).map(|token| token.lower.as_str()).collect(),
        None => {
            let mut last: Vec<&str> =
                tokens.iter().rev().take_while(is_noun).take(2).map(|token| token.lower.as_str()).collect();
            last.reverse();
            last
        }
    };
    (!nouns.is_empty()).then(|| one_line(&nouns.join(" "), 30))
}
