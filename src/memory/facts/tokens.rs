//! [`Token`]: a word of a text, with the marks around it.

use super::dictation;
use super::language::WORDS;

/// A word without the marks around it.
#[derive(Debug, Clone)]
pub(super) struct Token<'a> {
    pub text: &'a str,
    pub lower: String,
    /// Whether a sentence, a line or a list entry begins here.
    pub is_first: bool,
    /// Whether a clause ends after it.
    pub ends_clause: bool,
    /// Whether a colon follows, as after a heading or a label.
    pub is_label: bool,
    /// Whether it follows a currency sign or has one.
    pub has_currency: bool,
    /// Whether it stands for a letter or digit that was dictated in words: "P as in Peter", "double five".
    pub is_dictated: bool,
}

pub(super) const CURRENCIES: [char; 5] = ['$', '€', '£', '¥', '₹'];
const MARKS: &str = "*`\"“”„«»'‘’()[]{}<>#~|";

/// Splits a text into words.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found: Vec<Token<'_>> = Vec::new();
    for line in text.lines() {
        let (mut is_first, mut follows_dot) = (true, false);
        for raw in line.split_whitespace().flat_map(split_brackets) {
            let is_mark = |c: char| MARKS.contains(c);
            let end = raw.trim_end_matches(is_mark);
            let core = end.trim_end_matches(|c: char| ".,;:!?…".contains(c) || is_mark(c));
            let core = core.trim_start_matches(|c: char| is_mark(c) || "¡¿,;:".contains(c));
            let has_currency = core.starts_with(CURRENCIES) || core.ends_with(CURRENCIES);
            let is_list_mark = core.is_empty() || core == "-" || core == "•";
            let ends = end.ends_with([',', ';', ':', '.', '!', '?', '…']) || raw.ends_with([')', ']']);
            // "Road # 62".
            if raw == "#" {
                continue;
            }
            if is_list_mark {
                is_first |= core == "-" || core == "•" || raw.starts_with('*');
                if let Some(last) = found.last_mut() {
                    last.ends_clause = true;
                }
                continue;
            }
            found.push(Token {
                text: core,
                lower: core.to_lowercase(),
                is_first,
                ends_clause: ends,
                is_label: end.trim_end_matches(is_mark).ends_with(':'),
                has_currency,
                is_dictated: false,
            });
            if is_first && follows_dot {
                continue_name(&mut found);
            }
            follows_dot = end.ends_with('.') && !end.ends_with("..");
            is_first = end.trim_end_matches(is_mark).ends_with(['.', '!', '?', '…', ':']);
        }
        if let Some(last) = found.last_mut() {
            last.ends_clause = true;
        }
    }
    dictation::join(&mut found);
    join_days(&mut found);
    found
}

/// Notes that no sentence begins with the last word, if it continues a name: "Dr. Wu", "Mr. K. P. Jones".
fn continue_name(found: &mut [Token<'_>]) {
    let [before @ .., last] = found else { return };
    let is_short = ends_with_title(before);
    let Some(short) = before.last_mut() else { return };
    if is_short && (last.is_capitalised() || last.is_initial()) {
        (short.ends_clause, last.is_first) = (false, false);
    }
}

/// Returns whether the last word is a title, or an initial after one: a dot after it ends no sentence.
pub(super) fn ends_with_title(words: &[Token<'_>]) -> bool {
    let [before @ .., short] = words else { return false };
    let follows_title =
        before.last().is_some_and(|token| !token.ends_clause && (token.is_title() || token.is_initial()));
    short.is_title() || (short.is_initial() && follows_title)
}

/// Notes that no sentence ends after the day in `24. Mai` and `24. bis 26. Mai`.
fn join_days(tokens: &mut [Token<'_>]) {
    for at in 1..tokens.len() {
        let Some([day, month]) = tokens.get_mut(at - 1..=at) else { continue };
        let is_day = day.text.len() <= 2 && day.is_digits();
        // "I have 2. May I" is no date.
        let is_month = month.lower != "may" && WORDS.months.contains(month.lower.as_str());
        let is_range = month.text == month.lower && WORDS.is_between(&month.lower);
        if is_day && month.is_first && (is_month || is_range) {
            (day.ends_clause, month.is_first) = (false, false);
        }
    }
}

/// Returns whether a word can be between the day and the month.
pub(super) fn is_of(token: &Token<'_>) -> bool {
    ["of", "de", "di"].contains(&token.lower.as_str())
}

/// Returns whether a word can be between the hour and the minutes, or the tens and the ones.
pub(super) fn is_and(token: &Token<'_>) -> bool {
    ["and", "y", "e", "et"].contains(&token.lower.as_str())
}

/// Returns whether a text consists of digits.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Returns the number of an ordinal, such as `24th`.
pub(super) fn ordinal(word: &str) -> Option<&str> {
    let number = ["st", "nd", "rd", "th", "er", "º", "ª"].iter().find_map(|end| word.strip_suffix(end))?;
    number.ends_with(|c: char| c.is_numeric()).then_some(number)
}

/// Splits `order(X17)` before the bracket.
fn split_brackets(word: &str) -> impl Iterator<Item = &str> {
    let at = word.find('(').filter(|at| *at > 0).unwrap_or(0);
    let (before, after) = word.split_at(at);
    [before, after].into_iter().filter(|part| !part.is_empty())
}

impl<'a> Token<'a> {
    /// Returns the word as the letters or digits that it stands for.
    pub fn dictated(&self, text: &'a str) -> Self {
        Self { text, lower: text.to_lowercase(), is_dictated: true, ..self.clone() }
    }

    pub fn has_digit(&self) -> bool {
        self.text.contains(|c: char| c.is_numeric())
    }

    pub fn is_digits(&self) -> bool {
        is_digits(self.text)
    }

    pub fn is_word(&self) -> bool {
        self.text.chars().all(|c| c.is_alphabetic() || c == '\'' || c == '-' || c == '’')
    }

    pub fn is_capitalised(&self) -> bool {
        let mut chars = self.text.chars();
        chars.next().is_some_and(char::is_uppercase) && chars.next().is_some_and(char::is_lowercase)
    }

    /// Returns whether the word is a code: letters with digits or underscores, or capitals only.
    pub fn is_code(&self) -> bool {
        let letters = self.text.chars().filter(|c| c.is_alphabetic()).count();
        let is_joined = letters > 0 && (self.has_digit() || self.text.contains('_'));
        let is_ordinal = self.text.starts_with(|c: char| c.is_ascii_digit())
            && ["st", "nd", "rd", "th", "er", "am", "pm", "h"].iter().any(|end| self.lower.ends_with(end))
            && letters <= 2;
        let capitals = self.text.chars().all(|c| c.is_uppercase() || c.is_numeric() || c == '-') && letters >= 2;
        (is_joined && !is_ordinal) || capitals
    }

    /// Returns whether the word has a form of names: letters that begin with one capital.
    pub fn is_proper(&self) -> bool {
        self.is_capitalised() && self.is_word()
    }

    /// Returns whether the word is an abbreviation before a name, such as `Dr` or `St`.
    pub fn is_title(&self) -> bool {
        self.text.starts_with(char::is_uppercase) && WORDS.titles.contains(self.lower.as_str())
    }

    /// Returns whether the word is one capital letter.
    pub fn is_initial(&self) -> bool {
        let mut chars = self.text.chars();
        chars.next().is_some_and(char::is_uppercase) && chars.next().is_none()
    }

    /// Returns the number that the word means, in digits or in letters.
    pub fn number(&self) -> Option<u32> {
        self.text.parse().ok().or_else(|| WORDS.number_parts(&self.lower).map(|parts| parts.iter().sum()))
    }

    /// Returns the day of a month that the word means: `24`, `24th` or `twenty-fourth`.
    pub fn day_of_month(&self) -> Option<u32> {
        let digits = ordinal(&self.lower).and_then(|day| day.parse().ok());
        digits.or_else(|| self.number()).filter(|day| (1..=31).contains(day))
    }

    /// Returns whether the word is a time of day in digits, such as `4:45`.
    pub fn is_clock(&self) -> bool {
        let is_part = |part: &str, most: u32| part.len() <= 2 && part.parse().is_ok_and(|part: u32| part <= most);
        self.text.split_once(':').is_some_and(|(hour, minute)| is_part(hour, 24) && is_part(minute, 59))
    }

    /// Returns whether the word is a piece of a code: a letter, or a few digits.
    pub fn is_piece(&self) -> bool {
        self.is_spelled() || (self.text.len() <= 4 && self.is_digits())
    }

    /// Returns whether the word is one letter or digit, or a dictated one, as when somebody spells a code.
    pub fn is_spelled(&self) -> bool {
        let mut chars = self.text.chars();
        let first = chars.next();
        self.is_dictated || (chars.next().is_none() && first.is_some_and(|c| c.is_uppercase() || c.is_numeric()))
    }
}
