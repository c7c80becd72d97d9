//! Decides how a written number is read: as a whole, in groups, or digit by digit.

use super::language::Language;
use super::numbers::{cardinal, digits, point};

/// A part of a number as it is read.
pub(super) struct Part {
    pub words: String,
    /// Whether the digits are read one by one.
    pub is_by_digit: bool,
}

impl Part {
    fn of(words: String) -> Self {
        Self { words, is_by_digit: false }
    }

    fn digits(group: &str, language: Language) -> Self {
        Self { words: digits(group, language), is_by_digit: true }
    }
}

/// Reads a number of ASCII digits and separators. `after` is the text after it, and `currency` the word for a symbol before
/// it.
pub(super) fn read(text: &str, after: &str, language: Language, currency: Option<&str>) -> Vec<Part> {
    let is_year = currency.is_none() && text.len() == 4;
    let (groups, decimals) = match parse(text, language) {
        Some((whole, decimals)) => (vec![whole], decimals),
        None => (text.split(|c: char| !c.is_ascii_digit()).map(str::to_owned).collect(), None),
    };
    let mut parts: Vec<Part> = Vec::new();
    for group in groups {
        let has_zeros = group.len() > 1 && group.starts_with('0');
        match (group.parse(), language) {
            // The minutes of a whole hour.
            (Ok(0), _) if group == "00" => parts.push(Part::of(cardinal(0, language))),
            (Ok(_), Language::Chinese) if is_year && after.starts_with('年') => {
                parts.push(Part::digits(&group, language));
            }
            (Ok(year @ 1100..2000), Language::English | Language::German) if is_year => {
                parts.extend([year / 100, year % 100].map(|pair| Part::of(cardinal(pair, language))));
            }
            (Ok(number), _) if !has_zeros && group.len() < 7 || group.ends_with("000") => {
                parts.push(Part::of(cardinal(number, language)));
            }
            _ => parts.push(Part::digits(&group, language)),
        }
    }
    let Some(decimals) = decimals else {
        parts.extend(currency.map(|currency| Part::of(currency.to_owned())));
        return parts;
    };
    parts.push(Part::of(currency.unwrap_or(point(language)).to_owned()));
    parts.push(match decimals.parse() {
        Ok(number) if decimals.len() == 2 && (currency.is_some() || !has_decimal_point(language)) => {
            Part::of(cardinal(number, language))
        }
        _ => Part::of(digits(&decimals, language)),
    });
    parts
}

/// Returns whether decimals follow a point instead of a comma. Their digits are then read one by one.
fn has_decimal_point(language: Language) -> bool {
    matches!(language, Language::English | Language::Chinese | Language::Japanese)
}

/// Splits a number into its whole part, without separators, and its decimals. Returns `None` for a date, a version or an
/// address.
fn parse(text: &str, language: Language) -> Option<(String, Option<String>)> {
    let point = if has_decimal_point(language) { '.' } else { ',' };
    let (whole, decimals) = match text.split_once(point) {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (text, None),
    };
    let mut groups = whole.split(|c: char| !c.is_ascii_digit());
    let first = groups.next()?;
    let has_separators = first.len() < whole.len();
    let is_grouped = first.len() <= 3 && groups.all(|group| group.len() == 3);
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (!has_separators || is_grouped) && decimals.is_none_or(are_digits) {
        let whole = whole.chars().filter(char::is_ascii_digit).collect();
        return Some((whole, decimals.map(str::to_owned)));
    }
    // A number in the style of another language: its only separator is the point, unless it is that of a time.
    let (whole, decimals) = text.split_once(|c: char| !c.is_ascii_digit())?;
    let is_decimal = are_digits(decimals) && decimals.len() != 3 && !(text.contains('.') && decimals.len() == 2);
    is_decimal.then(|| (whole.to_owned(), Some(decimals.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_of_a_number_decides_how_it_is_read() {
        use Language::*;
        for (text, after, language, expected) in [
            ("1998", "", English, "nineteen ninety eight"),
            ("1998", "", German, "neunzehn achtundneunzig"),
            ("2026", "年", Chinese, "二 零 二 六"),
            ("2026", "元", Chinese, "二千零二十六"),
            ("1.250", "", German, "eintausendzweihundertfünfzig"),
            ("1,250.5", "", English, "one thousand two hundred fifty point five"),
            ("2.5", "", Italian, "due virgola cinque"),
            ("9.30", "", Italian, "nove trenta"),
            ("1.2.3", "", English, "one two three"),
            ("5550199", "", English, "five five five zero one nine nine"),
            ("3000000", "", English, "three million"),
            ("007", "", English, "zero zero seven"),
        ] {
            let parts: Vec<String> = read(text, after, language, None).into_iter().map(|part| part.words).collect();
            assert_eq!(parts.join(" "), expected, "{text}");
        }
    }
}
