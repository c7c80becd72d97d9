//! The values of a text, and the normalized form in which they are compared.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value as Json;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

const MONTHS: &str = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
/// The words that can follow in the full names. "Calle Mayor 73" is no date.
const ENDINGS: &str = "uary|ruary|ch|il|e|y|ust|t|tember|ober|ember";
const WORDS: [&str; 20] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "fifteen", "twenty", "thirty", "forty", "fifty", "hundred", "thousand",
];

/// Writes a text such that equal values are equal: lower case, `d0524` for dates, `t1700` for times, no separators in
/// numbers, no marks.
pub fn normal(text: &str) -> String {
    static ISO: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(?:19|20)\d\d-(\d\d)-(\d\d)"));
    static MONTH_DAY: LazyLock<Regex> = LazyLock::new(|| {
        regex(&format!(r"\b({MONTHS})(?:{ENDINGS})?\.? (\d\d?)(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?\b"))
    });
    static DAY_MONTH: LazyLock<Regex> =
        LazyLock::new(|| regex(&format!(r"\b(\d\d?)(?:st|nd|rd|th)? (?:of )?({MONTHS})(?:{ENDINGS})?\b")));
    static TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(\d\d?):(\d\d)(?::\d\d)?(?: ?([ap])\.?m\b\.?)?"));
    static HOUR: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(\d\d?) ?([ap])\.?m\b\.?"));
    static THOUSANDS: LazyLock<Regex> = LazyLock::new(|| regex(r"(\d),(\d\d\d)\b"));
    static CENTS: LazyLock<Regex> = LazyLock::new(|| regex(r"(\d)\.00?\b"));
    let lower = text.to_lowercase().replace(['*', '$', '"', '\\', '`', '€', '£', '“', '”'], "").replace('’', "'");
    let text = THOUSANDS.replace_all(&lower, "$1$2");
    let text = CENTS.replace_all(&text, "$1");
    let text = ISO.replace_all(&text, " d${1}${2} ");
    let month = |name: &str| MONTHS.split('|').position(|known| known == name).unwrap() + 1;
    let day = |number: &str| number.parse::<u32>().unwrap();
    let text =
        MONTH_DAY.replace_all(&text, |found: &Captures<'_>| format!(" d{:02}{:02} ", month(&found[1]), day(&found[2])));
    let text =
        DAY_MONTH.replace_all(&text, |found: &Captures<'_>| format!(" d{:02}{:02} ", month(&found[2]), day(&found[1])));
    let hour = |number: &str, half: Option<&str>| match (day(number), half) {
        (12, Some("a")) => 0,
        (hour, Some("p")) if hour < 12 => hour + 12,
        (hour, _) => hour,
    };
    let text = TIME.replace_all(&text, |found: &Captures<'_>| {
        format!(" t{:02}{} ", hour(&found[1], found.get(3).map(|half| half.as_str())), &found[2])
    });
    let text = HOUR.replace_all(&text, |found: &Captures<'_>| format!(" t{:02}00 ", hour(&found[1], Some(&found[2]))));
    text.into_owned()
}

/// Returns the values in what somebody said, normalized.
pub fn said(text: &str, is_transcript: bool) -> BTreeSet<String> {
    static ID: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(?:[a-z]+[0-9_][a-z0-9_]*|\d+[a-z_][a-z0-9_]*)\b"));
    static CODE: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[A-Z]{3,6}\b"));
    static DATE: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[dt]\d\d\d\d\b"));
    static MAIL: LazyLock<Regex> = LazyLock::new(|| regex(r"[\w.+-]+@[\w-]+\.[\w.]*\w"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\b\d{2,}(?:\.\d+)?\b"));
    static COUNTED: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(\d) ((?:[a-z]+ )?[a-z]{3,}s)\b"));
    static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b"));
    static CALLED: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(?:my name is|this is|i am|i'm) ([a-z]+ [a-z]+)\b"));
    let mut values = BTreeSet::new();
    let normalized = normal(text);
    let mut plain = normalized.clone();
    for pattern in [&*MAIL, &*DATE] {
        values.extend(pattern.find_iter(&normalized).map(|found| found.as_str().to_owned()));
        plain = pattern.replace_all(&plain, " ").into_owned();
    }
    for pattern in [&*ID, &*NUMBER] {
        values.extend(pattern.find_iter(&plain).map(|found| found.as_str().trim_end_matches('_').to_owned()));
    }
    values.extend(COUNTED.captures_iter(&plain).map(|found| format!("{} {}", &found[1], &found[2])));
    if is_transcript {
        // "my name is david how can i help you"
        values.extend(CALLED.captures_iter(&plain).map(|found| found[1].trim_end_matches(" how").to_owned()));
        let words = plain.split_whitespace().filter(|word| WORDS.contains(word));
        values.extend(words.map(str::to_owned));
        return values;
    }
    values.extend(CODE.find_iter(text).map(|found| found.as_str().to_lowercase()));
    // A heading or the first word of a sentence is no name.
    for found in NAME.find_iter(text) {
        let before = text[..found.start()].trim_end_matches([' ', '*']).chars().last();
        let is_first = before.is_none_or(|c| matches!(c, '.' | '!' | '?' | '\n' | '-' | '*'));
        let is_heading = text[found.end()..].trim_start_matches('*').starts_with(':');
        if !is_first && !is_heading && !normal(found.as_str()).contains("  ") {
            values.insert(found.as_str().to_lowercase());
        }
    }
    values
}

/// Returns the ids, amounts, dates and states in a result or in arguments, normalized.
pub fn of_json(json: &Json) -> BTreeSet<String> {
    static STATE: LazyLock<Regex> = LazyLock::new(|| regex(r"^[a-z]{4,}(?:_[a-z]+)*$"));
    let mut values = BTreeSet::new();
    match json {
        Json::String(text) if STATE.is_match(text) => drop(values.insert(text.clone())),
        Json::String(text) if text.len() <= 60 => values.extend(said(text, false)),
        Json::String(text) => values.extend(said(text, false)),
        Json::Number(number) if number.as_f64().is_some_and(|number| number.abs() >= 10.0) => {
            values.insert(normal(&number.to_string()).trim_start_matches('-').to_owned());
        }
        Json::Array(items) => items.iter().for_each(|item| values.extend(of_json(item))),
        Json::Object(fields) => fields.values().for_each(|value| values.extend(of_json(value))),
        _ => {}
    }
    values
}

/// A prompt in which values are looked up.
pub struct Haystack {
    text: String,
    words: HashSet<String>,
}

impl Haystack {
    pub fn new(text: &str) -> Self {
        let text = normal(text);
        let words = text.split(|c| !is_part(c)).map(str::to_owned).collect();
        Self { text, words }
    }

    /// Returns whether the text contains the value, not inside of a longer one. A number with its noun also counts if
    /// the noun is before it.
    pub fn has(&self, value: &str) -> bool {
        if value.chars().all(is_part) {
            return self.words.contains(value);
        }
        if stands(&self.text, value) {
            return true;
        }
        let Some((number, noun)) = value.split_once(' ').filter(|(number, _)| number.parse::<u32>().is_ok()) else {
            return false;
        };
        let noun = noun.rsplit(' ').next().unwrap_or(noun).trim_end_matches('s');
        self.text.match_indices(noun).any(|(at, _)| {
            let after: String = self.text[at + noun.len()..].chars().take(12).collect();
            let before: String = self.text[..at].chars().rev().take(24).collect::<Vec<_>>().into_iter().rev().collect();
            after.split(|c: char| !c.is_alphanumeric()).any(|word| word == number)
                || before.split(|c: char| !c.is_alphanumeric()).any(|word| word == number)
        })
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn stands(text: &str, value: &str) -> bool {
    text.match_indices(value).any(|(at, _)| {
        !text[..at].chars().last().is_some_and(is_part) && !text[at + value.len()..].chars().next().is_some_and(is_part)
    })
}
