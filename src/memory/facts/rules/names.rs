//! Names of people, places and things.

use super::Finding;
use crate::memory::facts::FactSource;
use crate::memory::facts::language::{CommonWords, WORDS};
use crate::memory::facts::tokens::{Token, is_of};

impl Finding<'_> {
    /// Adds a name: capitalized words within a sentence, or several at its beginning.
    pub(super) fn name(&mut self, at: usize) -> usize {
        let is_first = self.get(at).is_some_and(|token| token.is_first);
        let run = self.capitalised(at);
        let dated = (at..at + run).find(|at| self.date(*at).is_some());
        let run = dated.map_or(run, |date| date - at);
        let is_cue = |token: &Token<'_>| WORDS.corrections.iter().flatten().any(|word| *word == token.lower);
        let begins_with_cue = is_first && self.get(at).is_some_and(is_cue);
        // A name may begin with a word that is an article in some language, but a sentence often does.
        let is_stopword = self.get(at).is_some_and(|token| WORDS.is_stopword(&token.lower));
        // After a label, the first word is part of the value.
        let is_labelled = at.checked_sub(1).and_then(|at| self.get(at)).is_some_and(|token| token.is_label);
        if run == 0 || begins_with_cue || (is_stopword && ((is_first && !is_labelled) || run == 1)) {
            return 0;
        }
        let clause = self.tokens.iter().skip(at + run - 1).take(3);
        let mut ends = clause.filter(|token| token.ends_clause);
        let is_label = ends.next().is_some_and(|token| token.is_label);
        // The caller may answer with a name alone. A single word of the assistant is one such as "Noted."
        let is_answer = self.tokens.len() == 1 && self.source == FactSource::Caller;
        // A word that also occurs in lower case is not a name.
        let is_noun = run == 1
            && !is_labelled
            && (self.get(at).is_some_and(|token| self.small.contains(&token.lower))
                || self.is_german_noun(at)
                || (!is_answer && self.capitalises_nouns() && self.is_common_noun(at)));
        let capitals = self.tokens.iter().skip(at).take(run).filter(|token| token.is_capitalised()).count();
        if is_noun || is_label || capitals > 4 || (is_first && run == 1 && !is_answer) {
            return if is_label { run } else { 0 };
        }
        self.add(at, run)
    }

    /// Returns whether a word is a common one, and neither a month nor a street.
    fn is_common_noun(&self, at: usize) -> bool {
        let is_value = |token: &Token<'_>| {
            WORDS.months.contains(token.lower.as_str())
                || WORDS.days.contains(token.lower.as_str())
                || WORDS.street_ends.iter().any(|end| token.lower.ends_with(end))
        };
        !self.get(at + 1).is_some_and(Token::has_digit)
            && self.get(at).is_some_and(|token| !is_value(token) && CommonWords::is_noun(&token.lower))
    }

    /// Returns whether a common capitalized word follows an article in a language that capitalizes all nouns, unlike "der
    /// Holger".
    fn is_german_noun(&self, at: usize) -> bool {
        let article = at.checked_sub(1).filter(|article| self.get(*article).is_some_and(is_article));
        self.is_open_before(at) && article.is_some_and(|article| self.has_nouns(article)) && self.is_common_noun(at)
    }

    /// Returns whether nouns have capitals after this article. A short article can be one of another language.
    fn has_nouns(&self, article: usize) -> bool {
        self.get(article).is_some_and(|token| token.text.len() > 3) || self.capitalises_nouns()
    }

    /// Returns the length of a run of capitalized words and initials, with a surname such as `da Silva` after two of them.
    fn capitalised(&self, at: usize) -> usize {
        let run = self.run(at, |token| token.is_proper() || token.is_initial());
        // "The flat is in Block B": a letter at the end is one of a code.
        let initials = self.tokens.iter().skip(at).take(run).rev().take_while(|token| token.is_initial()).count();
        let run = run - initials;
        let run = if run == 2 { run + self.surname(at + run) } else { run };
        // "Call of Tom" begins with a word that may be none of a name.
        let is_first = self.get(at).is_some_and(|token| token.is_first);
        let joins = self.get(at + run).is_some_and(|token| token.text == "&");
        let is_name = run >= 2 || (run == 1 && (!is_first || joins));
        if is_name { run + self.belonging(at + run) } else { run }
    }

    /// Returns the length of what follows the first part of a name: "Bank of Ardenne", "Gare de Lyon", "Marks & Spencer".
    fn belonging(&self, at: usize) -> usize {
        let links = |token: &Token<'_>| !token.ends_clause && (is_of(token) || token.text == "&");
        let is_linked = self.is_open_before(at) && self.get(at).is_some_and(links);
        let is_day = || self.day(at + 1).or_else(|| self.date(at + 1)).is_some();
        let run = if is_linked { self.run(at + 1, |token| token.is_proper()) } else { 0 };
        if run > 0 && !is_day() { 1 + run } else { 0 }
    }

    /// Returns the length of a surname with particles, such as `da Silva`, that continues a name.
    fn surname(&self, at: usize) -> usize {
        let is_particle = |token: &Token<'_>| !token.ends_clause && WORDS.particles.contains(token.lower.as_str());
        let particles = if self.is_open_before(at) { self.run(at, is_particle) } else { 0 };
        let run = self.run(at + particles, |token| token.is_proper()).min(2);
        if (1..=2).contains(&particles) && run > 0 { particles + run } else { 0 }
    }

    /// Adds the name after an introduction, in the case of the transcript.
    pub(super) fn introduced(&mut self, at: usize) -> usize {
        let is_part = |token: &Token<'_>| {
            token.is_word() && token.text.chars().count() > 1 && !WORDS.stopwords.contains(token.lower.as_str())
        };
        let run = self.run(at, is_part);
        if !self.get(at).is_some_and(Token::is_capitalised) {
            return self.lower_name(at, run.min(2));
        }
        if self.get(at).is_some_and(Token::is_title) {
            return self.add_as("name", at, self.capitalised(at));
        }
        let capitals = self.run(at, |token| is_part(token) && token.is_capitalised()).min(3);
        let name = if (1..=2).contains(&capitals) { capitals + self.surname(at + capitals) } else { capitals };
        if capitals == 0 { 0 } else { self.add_as("name", at, name) }
    }

    /// Adds the first word or two after `name is`, in a transcript without capitals.
    fn lower_name(&mut self, at: usize, run: usize) -> usize {
        let before = at
            .checked_sub(2)
            .and_then(|at| self.get(at))
            .is_some_and(|token| ["name", "nome", "nombre", "nom"].contains(&token.lower.as_str()));
        if run == 0 || !before { 0 } else { self.add_as("name", at, run) }
    }
}

fn is_article(token: &Token<'_>) -> bool {
    !token.ends_clause && WORDS.articles.contains(token.lower.as_str())
}
