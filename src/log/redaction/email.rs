//! E-mail addresses, written and spoken.

use std::ops::Range;

/// The maximum length of a local part and of a domain, in bytes, by [RFC
/// 5321](https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1).
const LONGEST_LOCAL: usize = 64;
const LONGEST_DOMAIN: usize = 255;

const AT: &[&str] = &["at", "arobase", "arroba", "chiocciola", "klammeraffe"];
const DOT: &[&str] = &["dot", "punkt", "point", "punto", "ponto"];
const JOINS: &[&str] = &[
    "dot",
    "punkt",
    "point",
    "punto",
    "ponto",
    "underscore",
    "dash",
    "hyphen",
    "minus",
    "unterstrich",
    "bindestrich",
    "tiret",
    "guion",
    "guión",
    "trattino",
    "hífen",
];
/// The top-level domains that a spoken address may have.
const ENDINGS: &[&str] = &[
    "com", "org", "net", "edu", "gov", "info", "biz", "io", "co", "eu", "de", "at", "ch", "fr", "be", "es", "it", "pt",
    "br", "mx", "uk", "us", "ca", "ie", "nl",
];

/// Adds the ranges of all addresses in a text.
pub(super) fn find(text: &str, mut add: impl FnMut(Range<usize>)) {
    for (at, _) in text.match_indices(['@', '＠']) {
        let width = if text.as_bytes().get(at) == Some(&b'@') { 1 } else { '＠'.len_utf8() };
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + width..).unwrap_or_default());
        if let (Some(start), Some(length)) = (local(before), domain(after)) {
            add(start..at + width + length);
        }
    }
    spoken(text, add);
}

/// Returns the start of the local part at the end of `before`.
fn local(before: &str) -> Option<usize> {
    let is_local = |c: &char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(*c);
    let length: usize = before.chars().rev().take(LONGEST_LOCAL).take_while(is_local).map(char::len_utf8).sum();
    let start = before.len() - length;
    let skipped = before.get(start..)?.find(char::is_alphanumeric)?;
    Some(start + skipped)
}

/// Returns the length of the domain at the start of `after`. It has a dot, and its last label is not a number.
fn domain(after: &str) -> Option<usize> {
    let is_domain = |c: &char| c.is_alphanumeric() || matches!(c, '.' | '-');
    let length: usize = after.chars().take(LONGEST_DOMAIN).take_while(is_domain).map(char::len_utf8).sum();
    let name = after.get(..length)?.trim_end_matches(['.', '-']);
    let (front, last) = name.rsplit_once('.')?;
    let is_name =
        last.chars().count() >= 2 && last.chars().all(char::is_alphabetic) && front.contains(char::is_alphanumeric);
    is_name.then_some(name.len())
}

/// Finds addresses of words: `ann dot lee at example dot com`.
fn spoken(text: &str, mut add: impl FnMut(Range<usize>)) {
    let mut words: Vec<(Range<usize>, String)> = Vec::new();
    for word in text.split_whitespace() {
        let at = word.as_ptr().addr() - text.as_ptr().addr();
        let word = word.trim_end_matches([',', '.', '?', '!', ';']);
        words.push((at..at + word.len(), word.to_lowercase()));
    }
    for (place, (_, word)) in words.iter().enumerate() {
        let is = |at: usize, known: &[&str]| words.get(at).is_some_and(|(_, word)| known.contains(&word.as_str()));
        if !(AT.contains(&word.as_str()) || word == "@") || place == 0 {
            continue;
        }
        // The domain: labels with a word for a dot between them, or one written word.
        let mut last = place + 1;
        while is(last + 1, DOT) && last < place + LONGEST_LOCAL {
            last += 2;
        }
        let written = words.get(place + 1).filter(|_| last == place + 1);
        let is_domain = match written {
            Some((_, name)) => domain(name).is_some_and(|length| length == name.len()) && ends_well(name),
            None => is(last, ENDINGS),
        };
        let Some((end, _)) = words.get(last).filter(|_| is_domain) else { continue };
        // The local part: words with a word for a dot or dash between them, or single letters and digits.
        let mut first = place - 1;
        let is_short = |at: usize| words.get(at).is_some_and(|(_, word)| word.chars().count() == 1);
        while first > 0 && place - first < LONGEST_LOCAL {
            if first > 1 && is(first - 1, JOINS) {
                first -= 2;
            } else if is_short(first) && is_short(first - 1) {
                first -= 1;
            } else {
                break;
            }
        }
        let is_local = words.get(first).is_some_and(|(_, word)| word.contains(char::is_alphanumeric));
        if let Some((start, _)) = words.get(first).filter(|_| is_local) {
            add(start.start..end.end);
        }
    }
}

fn ends_well(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|last| ENDINGS.contains(&last))
}
