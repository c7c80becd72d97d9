//! Reads the values of a [`Source`].

use serde_json::Value as Json;

use super::super::language::WORDS;
use super::super::tokens::{Token, tokens};
use super::value::{Value, key, short_date, value};
use super::worded::numbers;
use super::{Source, parts};

impl Source {
    /// Reads the values of the lines of [`Summarizing::for_model`](crate::manager::Summarizing::for_model).
    pub fn new(lines: &str) -> Self {
        let mut source = Self::default();
        for line in lines.lines() {
            match serde_json::from_str(line) {
                Ok(json) => source.read_json(&json),
                Err(_) => source.read(line),
            }
        }
        source
    }

    fn read_json(&mut self, json: &Json) {
        match json {
            Json::String(text) => match serde_json::from_str(text) {
                Ok(inner @ (Json::Object(_) | Json::Array(_))) => self.read_json(&inner),
                _ => self.read(text),
            },
            Json::Array(items) => items.iter().for_each(|item| self.read_json(item)),
            Json::Object(fields) => {
                for (name, field) in fields {
                    self.read(name);
                    self.read_json(field);
                }
            }
            Json::Number(number) => self.read(&number.to_string()),
            Json::Null | Json::Bool(_) => {}
        }
    }

    fn read(&mut self, text: &str) {
        let tokens = tokens(text);
        self.read_spelled(&tokens);
        self.read_spoken(&tokens);
        let mut next = 0;
        for (at, token) in tokens.iter().enumerate() {
            self.words.insert(token.lower.clone());
            self.words.extend(parts(&token.lower).map(str::to_owned));
            self.codes.insert(key(token.text));
            self.codes.extend(parts(token.text).filter(|part| part.len() > 2).map(key));
            // "2024-05-26T18:30:00Z", "18:00-19:30".
            let clocks = token.text.split(['T', 'Z', '+', '-', '–']).filter(|part| part.contains(':'));
            for clock in clocks.filter(|clock| clock.len() < token.text.len()) {
                if let Some((found @ Value::Time(_), _)) = value(&super::super::tokens::tokens(clock), 0) {
                    self.add(found);
                }
            }
            if at >= next
                && let Some((found, length)) = value(&tokens, at)
            {
                next = at + length;
                self.add(found);
            }
            if token.has_digit() && !token.is_code() {
                self.numbers.insert(key(token.text));
                self.pieces.extend(parts(token.text).map(key));
                self.days.extend(short_date(token.text));
            }
        }
    }

    fn add(&mut self, found: Value) {
        match found {
            Value::Date { days, year } => {
                self.pieces.extend(days.iter().flat_map(|(a, b)| [a.to_string(), b.to_string()]));
                self.months.extend(days.iter().map(|(month, _)| month));
                self.days.extend(days);
                self.years.extend(year);
                self.pieces.extend(year.map(|year| year.to_string()));
            }
            Value::Month(month) => drop(self.months.insert(month)),
            Value::Weekday(day) => drop(self.weekdays.insert(day)),
            Value::Time(times) => self.times.extend(times),
            Value::Number { key, .. } => drop(self.numbers.insert(key)),
            Value::Words(parts) => {
                // "One forty six" can be 146.
                let found = numbers(&parts);
                self.numbers.insert(found.iter().map(u32::to_string).collect());
                self.numbers.extend(parts.iter().chain(&found).map(u32::to_string));
            }
            Value::Mail(text) => drop(self.codes.insert(text)),
            Value::Code(_) | Value::Name => {}
        }
    }

    /// Joins letters and digits that were said in pieces.
    fn read_spelled(&mut self, tokens: &[Token<'_>]) {
        let mut run = (String::new(), 0);
        let mut times = 1;
        for token in tokens {
            if let Some(repeats) = WORDS.repeats(&token.lower) {
                times = repeats;
                continue;
            }
            let times = std::mem::replace(&mut times, 1);
            let is_short = token.text.chars().count() == 1 || (token.text.len() <= 4 && token.is_digits());
            let number = WORDS.number_parts(&token.lower);
            match number {
                Some(parts) => {
                    let said: String = numbers(&parts).iter().map(|number| number.to_string().repeat(times)).collect();
                    self.digits.push_str(&said);
                    run.0.push_str(&said);
                }
                None if is_short => {
                    self.digits.extend(token.text.chars().filter(char::is_ascii_digit));
                    run.0.push_str(&token.lower);
                }
                None => {
                    if !token.is_code() {
                        self.digits.extend(token.text.chars().filter(char::is_ascii_digit));
                    }
                    let (said, count) = std::mem::take(&mut run);
                    self.spelled.extend((count > 1).then_some(said));
                    continue;
                }
            }
            run.1 += 1;
        }
        self.spelled.extend((run.1 > 1).then_some(run.0));
    }
}
