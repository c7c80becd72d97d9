//! Dates, and times of day in words.

use super::Finding;
use super::numbers::is_noun;
use crate::memory::facts::language::{WORDS, begins_with};
use crate::memory::facts::tokens::{Token, is_and, is_of};

impl Finding<'_> {
    /// Returns the length of a date with a month: `May 24, 2024`, `24. Mai`, `trinta e um de julho`, `May the first`.
    pub(super) fn date(&self, at: usize) -> Option<usize> {
        let is_month = |token: &Token<'_>| {
            WORDS.months.contains(token.lower.trim_end_matches('.')) && (token.is_capitalised() || token.lower != "may")
        };
        // "Mai due" and "sept deux" are no dates.
        let is_meant = |month: usize, day: usize| {
            let has_digit = || self.get(day).is_some_and(Token::has_digit);
            let is_long = |month: &Token<'_>| month.text.len() > 3 && !WORDS.is_number(&month.lower);
            self.get(month)
                .is_some_and(|month| is_month(month) && (month.is_capitalised() || is_long(month) || has_digit()))
        };
        let is_article = |token: &Token<'_>| WORDS.articles.contains(token.lower.as_str());
        let day = self.day_words(at);
        let next = at + day;
        let length = if day > 0 && is_meant(next, at) {
            day + 1
        } else if day > 0 && self.get(next).is_some_and(is_of) && self.get(next + 1).is_some_and(is_month) {
            day + 2
        } else {
            let day = at + 1 + usize::from(self.get(at + 1).is_some_and(is_article));
            let length = self.day_words(day);
            if length == 0 || !is_meant(at, day) {
                return None;
            }
            day + length - at
        };
        let ends = self.get(at + length - 1).is_some_and(|token| token.ends_clause);
        // "14 May Street".
        let is_street = |token: &Token<'_>| token.is_proper() && WORDS.street_names.contains(token.lower.as_str());
        if !ends && self.get(at + length).is_some_and(is_street) {
            return None;
        }
        let is_year = |at: usize| {
            self.get(at)
                .is_some_and(|token| token.text.len() == 4 && token.text.starts_with(['1', '2']) && token.is_digits())
        };
        let of = usize::from(!ends && self.get(at + length).is_some_and(is_of));
        if is_year(at + length + of) {
            return Some(length + of + 1);
        }
        // "Nineteen eighty two".
        let century =
            self.get(at + length).and_then(Token::number).is_some_and(|first| [19, 20, 1_000].contains(&first));
        let year = if century && !ends { self.number_group(at + length) } else { 0 };
        Some(length + if year > 1 { year } else { 0 })
    }

    /// Returns the number of words that can be the day of a date, or its year in digits: `24th`, `2024`, `vinte e três`,
    /// `twenty first`.
    fn day_words(&self, at: usize) -> usize {
        let Some(token) = self.get(at) else { return 0 };
        if token.text.starts_with(|c: char| c.is_ascii_digit()) {
            return usize::from(token.text.len() <= 4);
        }
        let number = |at: usize| self.get(at).and_then(Token::number);
        let and = usize::from(!token.ends_clause && self.get(at + 1).is_some_and(is_and));
        let ones = number(at + 1 + and).filter(|ones| !token.ends_clause && (1..=9).contains(ones));
        match number(at) {
            Some(20) if ones.is_some() => 2 + and,
            Some(30) if ones == Some(1) => 2 + and,
            Some(1..=31) => 1,
            _ => 0,
        }
    }

    /// Returns the length of a day of the week, or of another day that counts from today: `Monday`, `next Monday`,
    /// `Monday morning`, `lundi de la semaine prochaine`, `7th of this month`, `the day after tomorrow`.
    pub(super) fn day(&self, at: usize) -> Option<usize> {
        let relative = self.phrase(&WORDS.relative_days, at);
        if relative > 0 {
            return Some(relative + self.phrase_after(&WORDS.after_days, at + relative));
        }
        let before = self.phrase(&WORDS.before_days, at);
        let day = at + before;
        let token = self.get(day).filter(|_| before == 0 || self.is_open_before(day))?;
        if WORDS.days.contains(token.lower.as_str()) {
            let end = day + 1 + self.day_number(day);
            return Some(end + self.phrase_after(&WORDS.after_days, end) - at);
        }
        let month = if token.day_of_month().is_some() { self.phrase_after(&WORDS.after_dates, day + 1) } else { 0 };
        (month > 0).then_some(before + 1 + month)
    }

    /// Returns 1 if the day of the month follows a day of the week, or 2 with an article: `sabato 14`, `Freitag, den 13.`.
    fn day_number(&self, at: usize) -> usize {
        let is_article = |token: &Token<'_>| WORDS.articles.contains(token.lower.as_str()) && !token.is_first;
        let number = at + 1 + usize::from(self.get(at + 1).is_some_and(is_article));
        let is_day = |token: &Token<'_>| token.has_digit() && token.day_of_month().is_some() && !token.is_first;
        // "Saturday 2 people", "mardi 17 heures".
        let counts = self.is_open_before(number + 1)
            && self.get(number + 1).is_some_and(|next| {
                is_noun(next) || next.is_proper() || next.has_digit() || WORDS.hours.contains(next.lower.as_str())
            });
        let is_open = self.is_open_before(at + 1) || number > at + 1;
        let is_it = is_open && self.get(number).is_some_and(is_day) && !counts && self.clock_digits(number) < 2;
        if is_it && self.phrase_after(&WORDS.after_hours, number + 1) == 0 { number - at } else { 0 }
    }

    /// Returns the length of a time of day in words that begins here: `quarter to four`, `halb zehn`,
    /// `huit heures et demie`, `nueve y media`, `nove e vinte`. Digits need words too: `4:45 in the evening`.
    pub(super) fn clock(&self, at: usize) -> Option<usize> {
        let before = self.phrase(&WORDS.before_hours, at);
        let hour = at + before;
        let is_noon = self.get(hour).is_some_and(|token| WORDS.noons.contains(token.lower.as_str()));
        let is_hour = |token: &Token<'_>| token.number().is_some_and(|hour| (1..=24).contains(&hour));
        let is_clock = self.get(hour).is_some_and(Token::is_clock);
        self.get(hour).filter(|token| is_noon || is_clock || is_hour(token))?;
        let mut end = hour + 1;
        let names_hours = |token: &Token<'_>| WORDS.hours.contains(token.lower.as_str());
        let has_hours = self.is_open_before(end) && self.get(end).is_some_and(names_hours);
        end += usize::from(has_hours);
        let after = self.phrase_after(&WORDS.after_hours, end);
        if after > 0 || is_clock {
            // "Onze e meia da noite".
            let half = self.phrase_after(&WORDS.after_hours, end + after);
            return (before + after > 0).then_some(end + after + half - at);
        }
        // "Nove e vinte" is a time, "cinco e dez euros" are two amounts.
        let is_worded = |at: usize| self.get(at).is_some_and(Token::is_word);
        let has_and = self.is_open_before(end) && self.get(end).is_some_and(is_and);
        let minutes = end + usize::from(has_and);
        let names_unit = |at: usize| {
            self.is_open_before(at) && self.get(at).is_some_and(|token| WORDS.units.contains(token.lower.as_str()))
        };
        let is_pair = has_and && is_worded(hour) && is_worded(minutes) && !names_unit(minutes + 1);
        let are_minutes = |minutes: u32| minutes < 60 && (has_hours || minutes.is_multiple_of(5));
        let may_follow = self.is_open_before(minutes) && (is_pair || has_hours);
        if let Some((_, length)) = self.minutes(minutes).filter(|(value, _)| may_follow && are_minutes(*value)) {
            let end = minutes + length;
            return Some(end + self.phrase_after(&WORDS.after_hours, end) - at);
        }
        // "Six fifteen a.m."
        if let Some((10..60, length)) = self.minutes(end).filter(|_| is_worded(hour) && self.is_open_before(end)) {
            let half = self.phrase_after(&WORDS.after_hours, end + length);
            if half > 0 {
                return Some(end + length + half - at);
            }
        }
        let is_bare = || is_worded(hour) && self.follows_at(at) && !names_unit(end);
        (before > 0 || has_hours || is_noon || is_bare()).then_some(end - at)
    }

    /// Returns the minutes after an hour, and the number of their words: "vinte e cinco", "forty five".
    fn minutes(&self, at: usize) -> Option<(u32, usize)> {
        let number = |at: usize| self.get(at).and_then(Token::number);
        let tens = number(at)?;
        let and = usize::from(self.is_open_before(at + 1) && self.get(at + 1).is_some_and(is_and));
        let last = at + 1 + and;
        let counts = self.is_open_before(last + 1) && self.get(last + 1).is_some_and(is_noun);
        let may_follow = self.is_open_before(at + 1) && self.is_open_before(last) && !counts;
        let ones = number(last).filter(|ones| may_follow && [20, 30, 40, 50].contains(&tens) && (1..=9).contains(ones));
        Some(ones.map_or((tens, 1), |ones| (tens + ones, 2 + and)))
    }

    /// Returns whether a phrase such as "at" before a word makes it an hour, and no noun after it a count.
    fn follows_at(&self, at: usize) -> bool {
        let before = self.words.get(at.saturating_sub(2)..at).unwrap_or_default();
        let is_at = (0..before.len()).any(|from| {
            let words = before.get(from..).unwrap_or_default();
            begins_with(&WORDS.at_hours, words) == Some(words.len())
        });
        let counts = self.is_open_before(at + 1) && self.get(at + 1).is_some_and(is_noun);
        is_at && self.is_open_before(at) && !counts
    }
}
