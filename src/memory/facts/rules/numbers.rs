//! Numbers, in digits and in words, and what they count.

use super::{Finding, LONGEST};
use crate::memory::facts::FactSource;
use crate::memory::facts::language::WORDS;
use crate::memory::facts::tokens::{Token, is_and, is_of};

impl Finding<'_> {
    /// Adds a number in digits.
    pub(super) fn number(&mut self, at: usize) -> usize {
        let is_group = |token: &Token<'_>| {
            token.text.chars().all(|c| c.is_ascii_digit() || "+-/.".contains(c)) && token.text.len() >= 2
        };
        let groups = self.run(at, is_group).max(self.phone(at));
        if groups >= 2 {
            return self.add(at, groups);
        }
        let time = self.clock_digits(at);
        if time > 1 {
            return self.add(at, time);
        }
        self.counted(at, 1)
    }

    /// Returns the length of a number in at least four groups of digits, one of them a single digit:
    /// `1 40 62 05 00`, `+33 1 84 82 49 09`.
    fn phone(&self, at: usize) -> usize {
        const LEAST_GROUPS: usize = 4;
        let is_group = |token: &Token<'_>| token.text.trim_start_matches('+').chars().all(|c| c.is_ascii_digit());
        let run = self.run(at, is_group);
        let single = self.tokens.iter().skip(at).take(run).filter(|token| token.text.len() == 1).count();
        if run >= LEAST_GROUPS && single == 1 { run } else { 0 }
    }

    /// Returns the length of a code in groups of digits with one letter before or after them: `E 133`, `44 812 903 K`.
    pub(super) fn lettered(&self, at: usize) -> Option<usize> {
        // "I", and the "A" at the beginning of a sentence, are words.
        let is_letter = |at: usize| {
            let is_word = |token: &Token<'_>| {
                token.lower == "i" || (token.is_first && WORDS.is_stopword(&token.lower) && self.tokens.len() > 2)
            };
            self.get(at).is_some_and(|token| token.is_initial() && token.text.is_ascii() && !is_word(token))
        };
        let first = usize::from(is_letter(at) && self.is_open_before(at + 1));
        let is_group = |token: &Token<'_>| token.is_digits() && !token.has_currency;
        let digits = self.run(at + first, is_group);
        let end = at + first + digits;
        let last = usize::from(digits > 0 && self.is_open_before(end) && is_letter(end));
        // "Size M 4 shirts", "Gate B 5 pm".
        let ends = |end: usize| {
            let is_end = |next: &Token<'_>| WORDS.is_stopword(&next.lower) && !WORDS.is_number(&next.lower);
            !self.is_open_before(end) || self.get(end).is_some_and(is_end)
        };
        let is_code = digits > 0 && first + last > 0 && ends(end + last);
        (is_code && self.date(at + first).is_none()).then_some(first + digits + last)
    }

    /// Adds a number of `length` words with up to two words for the counted thing.
    pub(super) fn counted(&mut self, at: usize, length: usize) -> usize {
        let last = at + length - 1;
        let is_open = self.get(last).is_some_and(|token| !token.ends_clause && !token.is_label);
        let is_amount = self.get(at).is_some_and(|token| token.has_currency);
        let nouns = if is_open && !is_amount { self.run(at + length, is_noun).min(2) } else { 0 };
        let unit =
            self.get(at + length).filter(|_| is_open).is_some_and(|token| WORDS.units.contains(token.lower.as_str()));
        // "Drei Tickets": a noun, where all nouns have capitals.
        let street = if is_open { self.run(at + length, |token| token.is_proper()) } else { 0 };
        let is_digit = self.get(at).is_some_and(|token| token.has_digit());
        let counts = street == 1 && !is_amount && (!is_digit || self.capitalises_nouns());
        let nouns = if nouns == 0 && counts { 1 } else { nouns };
        let nouns =
            if unit { 1 + self.cents(at + length + 1) } else { nouns + self.belonging_noun(at + length, nouns) };
        // A house number with its street, or a postal code with its town.
        let follows_street = self.get(at).is_some_and(|token| token.text.len() == 5 && !token.is_first)
            && at.checked_sub(1).and_then(|before| self.get(before)).is_some_and(|before| before.ends_clause);
        let is_postal = follows_street
            && self.get(at + length).is_some_and(|token| !WORDS.days.contains(token.lower.as_str()))
            && self.date(at + length).is_none();
        let is_house = is_digit && is_open && !is_amount && (street >= 2 || (street == 1 && is_postal));
        let street = street.min(4);
        let nouns = if is_house { street + usize::from(self.is_unit(at + length + street)) } else { nouns };
        // "One" alone is a pronoun, and a digit of the assistant may be the number of a list entry.
        let is_small = self.source == FactSource::Assistant && self.get(at).is_some_and(|token| token.text.len() == 1);
        // "Fifty-eight" alone answers or corrects.
        let is_large =
            |token: &Token<'_>| token.number().is_some_and(|number| number > 10) && !WORDS.is_stopword(&token.lower);
        let is_large = self.source == FactSource::Caller && self.get(at).is_some_and(is_large);
        if (!(is_digit || is_large) || (is_small && !is_amount)) && length == 1 && nouns == 0 {
            return 0;
        }
        // The article of "una mesa" counts only beside other counts.
        let is_article = length == 1 && self.get(at).is_some_and(|token| WORDS.is_stopword(&token.lower));
        if is_article && (self.latest.0 != self.sentence(at) || self.latest.1 == self.facts.len()) {
            return 0;
        }
        // The number of a list entry.
        let is_list = self
            .get(at)
            .is_some_and(|token| token.is_first && token.text.len() <= 2 && token.ends_clause && token.is_digits());
        if is_list && nouns == 0 && self.tokens.len() > at + length {
            return 0;
        }
        let whole = length + nouns;
        self.add(at, whole + if nouns > 0 { self.fraction(at + whole) } else { 0 })
    }

    /// Returns the number of words that say what the nouns from `at` on hold: "two liters of sprite", "dos cajas de
    /// vacunas".
    fn belonging_noun(&self, at: usize, nouns: usize) -> usize {
        let next = at + nouns;
        let holds = nouns == 1
            && self.is_open_before(next)
            && self.get(next).is_some_and(|token| is_of(token) && !token.ends_clause)
            && self.get(next + 1).is_some_and(is_noun);
        if holds { 2 } else { 0 }
    }

    /// Returns whether a word after a street is the number of a flat: "270 Heron Road #62".
    fn is_unit(&self, at: usize) -> bool {
        let is_last = |token: &Token<'_>| token.ends_clause && token.is_digits() && !token.has_currency;
        self.is_open_before(at) && self.get(at).is_some_and(is_last)
    }

    /// Returns the length of a fraction after the noun before `at`, unless it has a noun of its own: "2 kilos and a half".
    fn fraction(&self, at: usize) -> usize {
        let length = self.phrase_after(&WORDS.fractions, at);
        let has_noun = self.is_open_before(at + length) && self.get(at + length).is_some_and(is_noun);
        if has_noun { 0 } else { length }
    }

    /// Returns the length of a choice of the caller by its number, at the end of a clause: "the second one", "der achte".
    pub(super) fn ordinal(&self, at: usize) -> Option<usize> {
        let token = self.get(at).filter(|token| token.number().is_some() && !is_number(token))?;
        let article = at.checked_sub(1).and_then(|before| self.get(before))?;
        let is_choice = self.source == FactSource::Caller
            && !article.ends_clause
            && WORDS.articles.contains(article.lower.as_str());
        let is_one = |next: &Token<'_>| !token.ends_clause && next.ends_clause && next.number() == Some(1);
        let length = 1 + usize::from(self.get(at + 1).is_some_and(is_one));
        (is_choice && (token.ends_clause || length > 1)).then_some(length)
    }

    /// Returns the length of a number in digits, with the half of the day: `5 pm`.
    pub(super) fn clock_digits(&self, at: usize) -> usize {
        let Some(token) = self.get(at).filter(|token| token.has_digit() && !token.is_code()) else { return 0 };
        let is_half = |token: &Token<'_>| ["am", "pm", "a.m", "p.m", "uhr"].contains(&token.lower.as_str());
        1 + usize::from(!token.ends_clause && self.get(at + 1).is_some_and(is_half))
    }

    /// Returns the length of a number in words that begins here. A comma ends it, unless digits are on both sides, or it
    /// has three groups: "seven four, double two, oh", "zéro six, douze, trente-quatre".
    pub(super) fn number_words(&self, at: usize) -> usize {
        let first = self.number_group(at);
        if first == 0 {
            return 0;
        }
        let are_digits = |from: usize, length: usize| {
            self.tokens.iter().skip(from).take(length).all(|token| is_digit(token) || is_repeat(token))
        };
        let (mut length, mut groups) = (first, 1);
        // The length of the groups of digits alone.
        let mut digits = if are_digits(at, first) { first } else { 0 };
        while length < LONGEST {
            let next = at + length;
            let more = self.number_group(next);
            let last = more.checked_sub(1).and_then(|last| self.get(next + last));
            // "Four, two adults": the second number has its own noun.
            let counts = |last: &Token<'_>| !last.ends_clause && self.get(next + more).is_some_and(is_noun);
            if last.is_none_or(counts) || self.get(next).is_some_and(|token| token.is_first) {
                break;
            }
            if digits == length && are_digits(next, more) {
                digits += more;
            }
            (length, groups) = (length + more, groups + 1);
        }
        if groups > 2 { length } else { first.max(digits) }
    }

    /// Returns the length of a number in words without a comma that begins here.
    pub(super) fn number_group(&self, at: usize) -> usize {
        let repeats = self.get(at).is_some_and(is_repeat);
        if !self.get(at + usize::from(repeats)).is_some_and(is_number) {
            return 0;
        }
        let mut length = self.run(at, |token| is_number(token) || is_repeat(token));
        // "Vinte e três".
        let are_tens = |last: &Token<'_>| !last.ends_clause && WORDS.number(&last.lower).is_some_and(|last| last >= 20);
        while length < LONGEST
            && self.get(at + length - 1).is_some_and(are_tens)
            && self.get(at + length).is_some_and(|token| is_and(token) && !token.ends_clause)
            && self.get(at + length + 1).is_some_and(is_number)
        {
            length += 1 + self.run(at + length + 1, is_number);
        }
        length + self.decimals(at + length)
    }

    /// Returns the length of the number that follows the unit before `at`: "twelve pounds forty", "249 euros 90". One with
    /// a noun of its own is another number.
    pub(super) fn cents(&self, at: usize) -> usize {
        let is_open = self.is_open_before(at);
        // "312 euros e 40".
        let and = usize::from(is_open && self.get(at).is_some_and(|token| is_and(token) && !token.ends_clause));
        let are_digits = |token: &Token<'_>| token.text.len() == 2 && token.is_digits() && !token.has_currency;
        let digits = if self.get(at + and).is_some_and(are_digits) { and + 1 } else { 0 };
        let length = if is_open { self.number_group(at).max(digits) } else { 0 };
        let has_noun = self.is_open_before(at + length) && self.get(at + length).is_some_and(is_noun);
        if has_noun { 0 } else { length }
    }

    /// Returns the length of what follows a number up to `at`: "point five", "and a half".
    fn decimals(&self, at: usize) -> usize {
        if !self.is_open_before(at) {
            return 0;
        }
        let fraction = self.phrase(&WORDS.fractions, at);
        let is_sign = self.get(at).is_some_and(|sign| WORDS.decimals.contains(sign.lower.as_str()));
        let decimals = if is_sign && self.is_open_before(at + 1) { self.run(at + 1, is_number) } else { 0 };
        if decimals > 0 { 1 + decimals } else { fraction }
    }
}

/// Returns whether a word can be what a number before it counts.
pub(super) fn is_noun(token: &Token<'_>) -> bool {
    // "4 chairs instead of 3".
    let rejects = |word: &str| WORDS.rejections.iter().any(|phrase| phrase.first() == Some(&word));
    let is_empty = |word: &str| WORDS.is_stopword(word) || WORDS.unnamed.contains(word) || rejects(word);
    token.is_word() && token.text.len() > 2 && !is_empty(&token.lower) && !token.is_capitalised()
}

fn is_number(token: &Token<'_>) -> bool {
    WORDS.is_number(&token.lower)
}

fn is_digit(token: &Token<'_>) -> bool {
    is_number(token) && WORDS.number(&token.lower).is_some_and(|digit| digit < 10)
}

fn is_repeat(token: &Token<'_>) -> bool {
    WORDS.repeats(&token.lower).is_some()
}
