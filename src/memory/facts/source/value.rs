//! [`Value`]: a value of a text, in a form that is equal for all spellings of it.

use std::str::FromStr;

use super::super::language::WORDS;
use super::super::tokens::{Token, is_digits, is_of, ordinal, tokens};
use super::names::joined_name;
use super::worded::{as_number, worded};

/// The days that a date can be: the month, then the day.
type Days = Vec<(u32, u32)>;

/// A value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Date {
        days: Days,
        year: Option<u32>,
    },
    Month(u32),
    Weekday(usize),
    /// Minutes after midnight: two numbers if the half of the day is not given.
    Time(Vec<u32>),
    /// `is_plain` is false if a currency, a unit or a fraction makes the number more than a count.
    Number {
        key: String,
        is_amount: bool,
        is_plain: bool,
    },
    /// Said in words.
    Words(Vec<u32>),
    Mail(String),
    Code(String),
    Name,
}

/// Returns the value that begins at a word, and the number of its words.
pub(super) fn value(tokens: &[Token<'_>], at: usize) -> Option<(Value, usize)> {
    let token = tokens.get(at)?;
    let next = tokens.get(at + 1).filter(|_| !token.is_label);
    let number = tokens.get(at).and_then(day_number);
    if token.text.contains('@') && token.text.contains('.') {
        return Some((Value::Mail(token.lower.clone()), 1));
    }
    if let Some(found) = worded_date(tokens, at) {
        return Some(found);
    }
    if let Some((days, year)) = date(token.text) {
        return Some((Value::Date { days, year }, 1));
    }
    if let Some(month) = month(token) {
        return Some((Value::Month(month), 1));
    }
    if let Some(day) =
        WORDS.weekday(token.lower.trim_end_matches("'s")).filter(|_| token.is_capitalised() || token.lower.len() > 3)
    {
        return Some((Value::Weekday(day), 1));
    }
    if let Some(found) = time(token, next, tokens.get(at + 2)) {
        return Some(found);
    }
    if token.has_digit() && (number.is_some() || !token.is_code()) {
        let is_percent = token.text.ends_with('%');
        let unit = next.is_some_and(|next| WORDS.units.contains(next.lower.as_str()));
        let is_amount = token.has_currency || (unit && !token.ends_clause);
        let key = key(ordinal(&token.lower).unwrap_or(token.text));
        let is_plain = !is_amount && !is_percent && !key.contains('.');
        return Some((Value::Number { key, is_amount, is_plain }, 1));
    }
    if token.is_code() {
        return Some((Value::Code(key(token.text)), 1));
    }
    if (token.is_capitalised() && !token.is_first) || joined_name(token).is_some() {
        return Some((Value::Name, 1));
    }
    worded(tokens, at).or_else(|| token.is_capitalised().then_some((Value::Name, 1)))
}

/// A day of the year or a minute of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Moment {
    Day(u32, u32),
    Minute(u32),
}

/// Returns the day or time that a text consists of, if it is not ambiguous.
pub(crate) fn moment(text: &str) -> Option<Moment> {
    let tokens = tokens(text);
    let (found, length) = value(&tokens, 0)?;
    match found {
        _ if length < tokens.len() => None,
        Value::Date { days, .. } => match *days.as_slice() {
            [(month, day)] => Some(Moment::Day(month, day)),
            _ => None,
        },
        Value::Time(times) => match *times.as_slice() {
            [time] => Some(Moment::Minute(time)),
            _ => None,
        },
        _ => None,
    }
}

fn month(token: &Token<'_>) -> Option<u32> {
    // Some months are also other words.
    let is_said = token.is_capitalised() || token.lower.trim_end_matches('.').chars().count() > 5;
    if is_said { named_month(token) } else { None }
}

/// Returns the month that a word can mean.
pub(super) fn named_month(token: &Token<'_>) -> Option<u32> {
    WORDS.month(token.lower.trim_end_matches('.')).and_then(|month| u32::try_from(month).ok())
}

/// Returns the number of a short day, such as `24`, `24th` or `twenty-fourth`.
pub(super) fn day_number(token: &Token<'_>) -> Option<u32> {
    let number = ordinal(&token.lower).unwrap_or(&token.lower);
    number.parse().ok().filter(|day| (1..=31).contains(day))
}

/// Returns a date with the name of its month.
fn worded_date(tokens: &[Token<'_>], at: usize) -> Option<(Value, usize)> {
    let day = |at: usize| {
        // "Im Mai um acht Uhr": a small word that is a number in another language.
        let is_said = |token: &Token<'_>| token.has_digit() || !WORDS.stopwords.contains(token.lower.as_str());
        let said = || worded(tokens, at).and_then(|(words, length)| Some((as_number(&words)?, length)));
        let said = || said().filter(|_| tokens.get(at).is_some_and(is_said));
        let found = tokens.get(at).and_then(day_number).map(|day| (day, 1)).or_else(said);
        found.filter(|(day, _)| (1..=31).contains(day))
    };
    let first = tokens.get(at)?;
    let (month, day, length) = if let Some(month) = named_month(first).filter(|_| !first.is_label) {
        let (day, length) = day(at + 1)?;
        // "May two" may be part of a wish.
        let is_said = month != 5 || first.is_capitalised() || length == 2 || tokens.get(at + 1)?.has_digit();
        is_said.then_some((month, day, 1 + length))?
    } else {
        let (day, length) = day(at)?;
        let of = is_of(tokens.get(at + length)?);
        let token = tokens.get(at + length + usize::from(of))?;
        let is_said = first.has_digit() || token.is_capitalised();
        is_said.then_some((named_month(token)?, day, length + usize::from(of) + 1))?
    };
    let year = tokens.get(at + length).and_then(|token| year(token.text));
    Some((Value::Date { days: vec![(month, day)], year }, length + usize::from(year.is_some())))
}

fn year(text: &str) -> Option<u32> {
    text.parse().ok().filter(|year| (1_900..2_100).contains(year))
}

/// Returns the days that a date in digits can mean, with the month first, and its year.
fn date(text: &str) -> Option<(Days, Option<u32>)> {
    let text = text.split_once('T').map_or(text, |(date, _)| date);
    let separator = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| "-/.".contains(*c))?;
    let parts: Vec<u32> = text.split(separator).map(u32::from_str).collect::<Result<_, _>>().ok()?;
    let days = |a: u32, b: u32| {
        let mut days = vec![(a, b), (b, a)];
        days.retain(|(month, day)| (1..=12).contains(month) && (1..=31).contains(day));
        days.dedup();
        Some(days).filter(|days| !days.is_empty())
    };
    match *parts.as_slice() {
        [year, month, day] if year >= 1_000 => Some((days(month, day)?.into_iter().take(1).collect(), Some(year))),
        [a, b, year] if separator != '-' || year >= 1_000 => {
            Some((days(a, b)?, Some(if year < 100 { year + 2_000 } else { year })))
        }
        [a, b] if separator == '/' => Some((days(a, b)?, None)),
        _ => None,
    }
}

/// Returns the month and the day of a date in digits without a year, such as `24.05`.
pub(super) fn short_date(text: &str) -> Option<(u32, u32)> {
    let (day, month) = text.split_once('.').filter(|(day, month)| day.len() <= 2 && month.len() <= 2)?;
    let (day, month) = (day.parse().ok()?, month.parse().ok()?);
    ((1..=31).contains(&day) && (1..=12).contains(&month)).then_some((month, day))
}

/// Returns a time of day, such as `17:00`, `5 pm`, `17 Uhr 45` or `17h45`.
fn time(token: &Token<'_>, next: Option<&Token<'_>>, third: Option<&Token<'_>>) -> Option<(Value, usize)> {
    let half_of = |text: &str| match text.trim_end_matches('.').replace('.', "").as_str() {
        "am" => Some(Half::Am),
        "pm" => Some(Half::Pm),
        "uhr" | "h" | "o'clock" | "o’clock" | "heures" | "horas" => Some(Half::Neither),
        _ => None,
    };
    let end = token.lower.find(|c: char| c.is_alphabetic()).unwrap_or(token.lower.len());
    let (clock, after) = token.lower.split_at(end);
    let joined = after.strip_prefix('h').filter(|minute| minute.len() == 2);
    let (length, half) = match half_of(after) {
        Some(half) => (1, Some(half)),
        None if joined.is_some_and(is_digits) => (1, Some(Half::Neither)),
        None if !after.is_empty() => return None,
        None => match next.filter(|_| token.has_digit()).and_then(|next| half_of(&next.lower)) {
            Some(half) => (2, Some(half)),
            None => (1, None),
        },
    };
    let (hour, minute) = match clock.split_once([':', '.']) {
        Some((hour, rest)) => (hour, rest.split(':').next()?),
        None => (clock, joined.unwrap_or_default()),
    };
    // "17 Uhr 45".
    let is_named = length == 2 && matches!(half, Some(Half::Neither)) && minute.is_empty();
    let third = third.filter(|third| third.text.len() == 2 && third.is_digits());
    let after = next.filter(|next| is_named && !next.ends_clause).and(third);
    let (minute, length) = after.map_or((minute, length), |third| (third.text, 3));
    let is_clock = clock.contains(':') || half.is_some();
    let hour: u32 = hour.parse().ok().filter(|hour| is_clock && *hour <= 24)?;
    let minute: u32 = if minute.is_empty() { 0 } else { minute.parse().ok()? };
    let at = |hour: u32| hour % 24 * 60 + minute;
    let times = match half {
        Some(Half::Am) => vec![at(hour % 12)],
        Some(Half::Pm) => vec![at(hour % 12 + 12)],
        _ if hour <= 12 && !clock.starts_with('0') => vec![at(hour % 12), at(hour % 12 + 12)],
        _ => vec![at(hour)],
    };
    Some((Value::Time(times), length))
}

enum Half {
    Am,
    Pm,
    Neither,
}

/// Returns a form that is equal for all spellings of a value: its letters and digits in lower case. A number has no
/// thousands separators, no leading zeros and no trailing zeros in its fraction.
pub(super) fn key(text: &str) -> String {
    let is_number = text.chars().all(|c| !c.is_alphabetic());
    // A decimal point separates; a comma or point before three digits groups.
    let mut form = String::new();
    for (at, c) in text.char_indices() {
        let digits = || text.get(at + 1..).unwrap_or_default().chars().take_while(char::is_ascii_digit).count();
        if c.is_alphanumeric() {
            form.extend(c.to_lowercase());
        } else if is_number && matches!(c, '.' | ',') && digits() != 3 && digits() > 0 {
            form.push('.');
        }
    }
    if !is_number {
        return form;
    }
    let form = if form.contains('.') { form.trim_end_matches('0').trim_end_matches('.') } else { &form };
    let short = form.trim_start_matches('0');
    if short.is_empty() { "0".to_owned() } else { short.to_owned() }
}
