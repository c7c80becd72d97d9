//! Reads the values that were said in words, in each way that they can be meant: "half past four", "am elften März",
//! "mia punto li chiocciola example punto org".

use super::super::language::WORDS;
use super::super::tokens::{Token, is_of};
use super::Source;
use super::value::{Value, day_number, key, named_month};
use super::worded::{numbers, worded};

/// A number that was said.
struct Number {
    value: u32,
    /// The places of its first word and of the word after it.
    from: usize,
    until: usize,
}

/// The maximum number of words between an hour and its minutes.
const NEAR: usize = 2;

impl Source {
    pub(super) fn read_spoken(&mut self, tokens: &[Token<'_>]) {
        self.read_mails(tokens);
        let numbers = numbers_in(tokens);
        for (at, number) in numbers.iter().enumerate() {
            self.read_day(tokens, number);
            if let Some(noun) = counted(tokens, number.until) {
                self.counts.entry(noun).or_default().insert(number.value);
            }
            if number.value <= 24 {
                self.read_hour(tokens, number);
            }
            if let Some(next) = numbers.get(at + 1).filter(|next| next.from <= number.until + NEAR) {
                self.add_clock(number.value, next.value);
                self.add_clock(next.value, number.value);
                self.add_fraction(number.value, next.value);
            }
        }
        for token in tokens {
            if WORDS.noons.contains(token.lower.as_str()) {
                self.add_time(12, 0);
            }
        }
    }

    /// Reads the date that a number and the name of a month beside it mean.
    fn read_day(&mut self, tokens: &[Token<'_>], number: &Number) {
        let month = |at: Option<usize>| at.and_then(|at| tokens.get(at)).and_then(named_month);
        let is = |at: Option<usize>, is: &dyn Fn(&Token<'_>) -> bool| at.and_then(|at| tokens.get(at)).is_some_and(is);
        let is_article = |token: &Token<'_>| WORDS.articles.contains(token.lower.as_str());
        let after = number.until + usize::from(is(Some(number.until), &is_of));
        let before = number.from.checked_sub(1);
        let before = if is(before, &is_article) { number.from.checked_sub(2) } else { before };
        let months = [month(Some(after)), month(before)];
        if (1..=31).contains(&number.value) {
            self.days.extend(months.into_iter().flatten().map(|month| (month, number.value)));
        }
    }

    /// Reads the times that a number can mean, unless it counts something.
    fn read_hour(&mut self, tokens: &[Token<'_>], number: &Number) {
        if counted(tokens, number.until).is_none_or(|noun| noun.starts_with(char::is_uppercase)) {
            self.add_time(number.value, 0);
        }
        let near = number.from.saturating_sub(NEAR + 1)..number.until + NEAR + 1;
        let near = tokens.iter().enumerate().filter(|(at, _)| near.contains(at)).map(|(_, token)| token.lower.as_str());
        for word in near {
            let minutes = [(&WORDS.half_hours, 30), (&WORDS.quarter_hours, 15)];
            for (_, minutes) in minutes.into_iter().filter(|(words, _)| words.contains(word)) {
                self.add_clock(number.value, minutes);
            }
        }
    }

    /// Adds a number with the digits after its decimal sign, or an amount with its cents.
    fn add_fraction(&mut self, number: u32, fraction: u32) {
        if fraction < 100 {
            self.numbers.insert(key(&format!("{number}.{fraction}")));
            self.numbers.insert(key(&format!("{number}.{fraction:02}")));
        }
    }

    /// Adds an hour with the minutes after it, and with those before it: "twenty to three".
    fn add_clock(&mut self, hour: u32, minutes: u32) {
        if hour > 24 || minutes >= 60 {
            return;
        }
        // Minutes below ten are hardly ever said, and many small numbers are no minutes.
        if minutes >= 10 || minutes == 5 {
            self.add_time(hour, minutes);
        }
        if minutes > 0 && minutes <= 30 && minutes.is_multiple_of(5) {
            self.add_time(hour.checked_sub(1).unwrap_or(23), 60 - minutes);
        }
    }

    /// Adds a time, and that of the other half of the day.
    fn add_time(&mut self, hour: u32, minutes: u32) {
        let time = hour % 24 * 60 + minutes;
        self.times.insert(time);
        if hour <= 12 {
            self.times.insert((time + 12 * 60) % (24 * 60));
        }
    }

    /// Joins the words between which somebody said the signs of an e-mail address, and single letters.
    fn read_mails(&mut self, tokens: &[Token<'_>]) {
        let words: Vec<String> = tokens.iter().map(|token| token.lower.clone()).collect();
        let mut joined = String::from(" ");
        let (mut has_sign, mut follows_sign, mut follows_letter) = (false, false, false);
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let rest = words.get(at..).unwrap_or_default();
            let mut signs = WORDS.mails.iter().filter_map(|mail| mail.at(rest).or_else(|| mail.sign(rest)));
            if let Some(length) = signs.next() {
                (has_sign, follows_sign) = (true, true);
                at += length.max(1);
                continue;
            }
            let is_letter = word.chars().count() == 1;
            if !(follows_sign || is_letter && follows_letter) {
                joined.push(' ');
            }
            joined.extend(word.chars().filter(|c| c.is_alphanumeric()));
            (follows_sign, follows_letter) = (false, is_letter);
            at += 1;
        }
        self.mails.extend(has_sign.then(|| joined + " "));
    }
}

/// Returns the noun that the number before a word counts, without the end of its plural.
pub(super) fn counted(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let is_open = at.checked_sub(1).and_then(|last| tokens.get(last)).is_some_and(|last| !last.ends_clause);
    let noun = tokens.get(at).filter(|token| is_open && token.is_word() && token.lower.len() > 2)?;
    let is_empty = WORDS.stopwords.contains(noun.lower.as_str()) || WORDS.hours.contains(noun.lower.as_str());
    let stem = noun.text.trim_end_matches(['s', 'n', 'a', 'e', 'i', 'o']);
    (!is_empty && stem.len() > 2 && !WORDS.is_number(&noun.lower)).then(|| stem.to_owned())
}

fn numbers_in(tokens: &[Token<'_>]) -> Vec<Number> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let (values, length) = match (day_number(token), worded(tokens, at)) {
            (Some(value), _) => (vec![value], 1),
            (None, Some((Value::Words(parts), length))) => {
                // "Three forty five" is 3:45.
                let (hour, minutes) = parts.split_at(1);
                let apart = if minutes.is_empty() { Vec::new() } else { [hour.to_vec(), numbers(minutes)].concat() };
                ([numbers(&parts), apart].concat(), length)
            }
            _ => (token.text.parse().into_iter().collect(), 1),
        };
        found.extend(values.into_iter().map(|value| Number { value, from: at, until: at + length }));
        at += length;
    }
    found
}
