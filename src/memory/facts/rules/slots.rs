//! The slot of a value: the words before it, or the question that it answers.

use super::Finding;
use super::answers::Question;
use crate::memory::facts::language::WORDS;
use crate::memory::facts::tokens::Token;
use crate::memory::one_line::one_line;

impl Finding<'_> {
    /// Returns the nouns directly before a word, or else what the assistant asked for.
    pub(super) fn slot(&self, at: usize) -> String {
        let mut nouns: Vec<&str> = Vec::new();
        let mut skipped = 0;
        for before in (at.saturating_sub(4)..at).rev() {
            let Some(token) = self.get(before) else { break };
            let is_stop = WORDS.is_stopword(&token.lower);
            if is_stop
                && nouns.is_empty()
                && skipped < 2
                && !token.ends_clause
                && ["is", "are", "ist", "es", "est", "è", "é", "number", "nummer"].contains(&token.lower.as_str())
            {
                skipped += 1;
                continue;
            }
            let is_cue = WORDS.corrections.iter().flatten().any(|word| *word == token.lower);
            let mut wishes = WORDS.limits.iter().chain(&WORDS.wishes);
            let is_wish = wishes.any(|wish| *wish == [token.lower.as_str()]);
            let is_stop = is_stop || is_cue || is_wish || WORDS.unnamed.contains(token.lower.as_str());
            let is_label = token.is_label && nouns.is_empty();
            if is_stop || !token.is_word() || token.is_initial() || (token.ends_clause && !is_label) || nouns.len() == 2
            {
                break;
            }
            nouns.push(WORDS.without_article(&token.lower));
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

/// Returns what a question asks for: the nouns before its question mark.
pub(super) fn asked_for(question: &Question<'_>) -> Option<String> {
    if question.offers_help {
        return None;
    }
    let tokens = &question.words;
    let is_empty =
        |word: &str| WORDS.is_stopword(word) || WORDS.questions.contains(word) || WORDS.unnamed.contains(word);
    let is_value = |token: &Token<'_>| {
        let word = token.lower.as_str();
        token.number().is_some() || WORDS.days.contains(word) || (WORDS.months.contains(word) && token.is_capitalised())
    };
    let is_noun = |token: &&Token<'_>| token.is_word() && !is_empty(&token.lower) && !is_value(token);
    let possessive = tokens
        .iter()
        .position(|token| ["your", "ihre", "ihr", "su", "votre", "sua", "suo", "seu"].contains(&token.lower.as_str()));
    let from = possessive.map_or(0, |at| at + 1);
    let nouns: Vec<&str> = match possessive {
        Some(_) => tokens
            .get(from..)?
            .iter()
            .take_while(is_noun)
            .take(3)
            .map(|token| WORDS.without_article(&token.lower))
            .collect(),
        None => {
            let mut last: Vec<&str> = tokens
                .iter()
                .rev()
                .take_while(is_noun)
                .take(2)
                .map(|token| WORDS.without_article(&token.lower))
                .collect();
            last.reverse();
            last
        }
    };
    (!nouns.is_empty()).then(|| one_line(&nouns.join(" "), 30))
}
