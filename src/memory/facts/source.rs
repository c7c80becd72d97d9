//! [`Source`]: the values of a text, which checks that another text has no others.

use std::collections::HashSet;

use super::language::WORDS;
use super::tokens::{Token, tokens};

/// The values that a summary may hold: those of the words that it summarises.
#[derive(Default)]
pub(crate) struct Source {
    keys: HashSet<String>,
    /// Spelled codes, joined.
    spelled: Vec<String>,
}

impl Source {
    /// Reads the values of a text.
    pub fn new(text: &str) -> Self {
        let mut source = Self::default();
        let mut run = String::new();
        for token in tokens(text) {
            let is_short = token.text.chars().count() <= 4;
            if token.is_spelled() || (token.has_digit() && is_short) {
                run.push_str(&key(token.text));
            } else if !run.is_empty() {
                source.spelled.push(std::mem::take(&mut run));
            }
            for part in parts(token.text).chain([token.text]) {
                source.keys.insert(key(part));
            }
            source.keys.extend(WORDS.number(&token.lower).map(|number| number.to_string()));
            source.keys.extend(WORDS.month(&token.lower).map(|month| month.to_string()));
        }
        source.spelled.push(run);
        source
    }

    /// Returns the text without the sentences that hold a value that the source lacks, and the number of these sentences.
    pub fn checked(&self, text: &str) -> (String, usize) {
        let has_nouns = WORDS.capitalises_nouns(tokens(text).iter().map(|token| token.lower.as_str()));
        let mut kept = String::new();
        let mut removed = 0;
        for sentence in sentences(text) {
            if self.holds(sentence, has_nouns) {
                kept.push_str(sentence);
            } else {
                removed += 1;
            }
        }
        (kept, removed)
    }

    fn holds(&self, sentence: &str, has_nouns: bool) -> bool {
        let tokens = tokens(sentence);
        let is_capitalised = |at: Option<usize>| {
            at.and_then(|at| tokens.get(at)).is_some_and(|token: &Token<'_>| token.is_capitalised())
        };
        let is_name = |at: usize, token: &Token<'_>| {
            let is_beside = is_capitalised(at.checked_add(1)) || (at > 1 && is_capitalised(at.checked_sub(1)));
            token.is_capitalised()
                && !WORDS.stopwords.contains(token.lower.as_str())
                && (is_beside || !(has_nouns || token.is_first))
        };
        tokens.iter().enumerate().all(|(at, token)| {
            let is_value = token.has_digit() || token.is_code() || token.text.contains('@') || is_name(at, token);
            !is_value || self.has(token)
        })
    }

    fn has(&self, token: &Token<'_>) -> bool {
        let whole = key(token.text);
        let is_spelled = || whole.len() > 2 && self.spelled.iter().any(|run| run.contains(&whole));
        let month = || WORDS.month(&token.lower).is_some_and(|month| self.keys.contains(&month.to_string()));
        // An id is never accepted by its parts, as these occur in other ids.
        let by_parts = || {
            let is_number = |part: &str| part.chars().all(char::is_numeric) || !token.has_digit();
            parts(token.text).count() > 1 && parts(token.text).all(|part| is_number(part) && self.has_part(part))
        };
        self.has_part(token.text) || is_spelled() || month() || by_parts()
    }

    fn has_part(&self, part: &str) -> bool {
        let lower = part.to_lowercase();
        let possessive = lower.strip_suffix("'s").or_else(|| lower.strip_suffix("’s"));
        [Some(lower.as_str()), possessive, ordinal(&lower)]
            .into_iter()
            .flatten()
            .any(|form| self.keys.contains(&key(form)))
    }
}

/// Returns the number of an ordinal or a time, such as `24th`.
fn ordinal(word: &str) -> Option<&str> {
    let number = ["st", "nd", "rd", "th", "am", "pm"].iter().find_map(|end| word.strip_suffix(end))?;
    number.ends_with(|c: char| c.is_numeric()).then_some(number)
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '@' && c != '.' && c != ',')
        .filter(|part| !part.is_empty())
}

/// Returns the form in which two spellings of a value are equal: its letters and digits in lower case. An amount has no
/// thousands separators, no leading zeros and no zero cents.
fn key(text: &str) -> String {
    let is_number = text.chars().all(|c| !c.is_alphabetic());
    let text =
        if is_number { [".00", ",00"].iter().find_map(|cents| text.strip_suffix(cents)).unwrap_or(text) } else { text };
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
    let short = form.trim_start_matches('0');
    if is_number && !short.is_empty() { short.to_owned() } else { form }
}

/// Splits a text after each sentence, semicolon and line. The pieces joined are the text.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let ends = |(at, c): (usize, char)| {
            let after = at + c.len_utf8();
            let is_end = match c {
                '\n' | '。' | '！' | '？' => true,
                '.' | '!' | '?' | ';' | '…' => {
                    rest.get(after..).is_some_and(|next| next.starts_with(char::is_whitespace))
                }
                _ => false,
            };
            is_end.then_some(after)
        };
        let end = rest.char_indices().find_map(ends).unwrap_or(rest.len());
        let (sentence, next) = rest.split_at(end);
        rest = next;
        (!sentence.is_empty()).then_some(sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "caller: I'm Mia Li, user K L 3 0 5 T, on 2024-05-24, with three bags.\n\
        tool: total $1,250.00, reservation JFK_88 for mia.li@example.com";

    #[test]
    fn faithful_summary_passes_untouched() {
        for faithful in [
            "The caller is Mia Li. Her id is KL305T; she has 3 bags. She pays 1250 dollars.",
            "Mia's flight is on May 24th. It costs $1,250, for JFK_88 and mia.li@example.com.",
            "Die Anruferin ist Mia Li und hat eine Reise und die Frage nach dem Preis.\n",
        ] {
            assert_eq!(Source::new(CALL).checked(faithful), (faithful.to_owned(), 0));
        }
    }

    #[test]
    fn sentence_with_an_invented_value_is_removed() {
        for invented in [
            "Her id is KL306T.",
            "She pays $1,260.",
            "It is on June 24.",
            "It is on 2024-05-25.",
            "She has 4 bags.",
            "She spoke with Bob.",
            "Anna Rossi called.",
            "The booking is JFK_89.",
            "Write to mia.lo@example.com.",
            "She pays 12.50 dollars.",
        ] {
            let (kept, removed) = Source::new(CALL).checked(&format!("The caller is Mia. {invented} She waits."));
            assert_eq!((kept.as_str(), removed), ("The caller is Mia. She waits.", 1), "{invented}");
        }
    }
}
