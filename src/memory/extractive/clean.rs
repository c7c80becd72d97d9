//! Cleans spoken text: removes control and bidi characters, quotation marks and marks of noise.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::message::is_invisible;

/// The maximum length that is read of one text, in bytes, half of it from each end. The limit bounds the work that one
/// message can cause. Real utterances are shorter.
const READ: usize = 16 * 1024;

/// The marks of transcripts for sounds without words.
const NOISES: [&str; 14] = [
    "noise",
    "laughter",
    "unintelligible",
    "inaudible",
    "unk",
    "silence",
    "music",
    "crosstalk",
    "cough",
    "breath",
    "background noise",
    "background",
    "pause",
    "beep",
];

/// Appends the cleaned `text` to `line`, after a `\n`. Keeps line breaks and collapses other white space.
pub(super) fn push_clean(line: &mut String, text: &str) {
    let (head, tail) = ends(text, READ);
    for part in [head, tail].into_iter().filter(|part| !part.is_empty()) {
        push_part(line, part);
    }
    line.truncate(line.trim_end().len());
}

fn push_part(line: &mut String, text: &str) {
    break_line(line);
    let mut at_start = true;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            // The most frequent case comes first.
            'a'..='z' | 'A'..='Z' | '0'..='9' => line.push(c),
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                break_line(line);
                at_start = true;
                continue;
            }
            '[' | '<' if let Some(length) = noise(text.get(at + 1..).unwrap_or_default()) => {
                skip(&mut chars, at + 1 + length);
                space(line);
            }
            // The marker of an item in a written list.
            '#' | '-' | '•' | '*' | '>'
                if at_start && chars.peek().is_some_and(|(_, next)| *next == c || next.is_whitespace()) =>
            {
                if c == '-' || c == '•' {
                    join_line(line);
                }
                continue;
            }
            '*' | '`' => {}
            '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '″' | '＂' => line.push('\''),
            _ if c.is_whitespace() || c.is_control() => space(line),
            _ if is_invisible(c) => {}
            _ => line.push(c),
        }
        at_start &= c.is_whitespace();
    }
}

/// Returns the length of a noise mark with its closing bracket at the start of `text`.
fn noise(text: &str) -> Option<usize> {
    let length = text.bytes().take(20).position(|byte| matches!(byte, b']' | b'>'))?;
    NOISES.contains(&text.get(..length)?).then_some(length + 1)
}

fn skip(chars: &mut Peekable<CharIndices<'_>>, to: usize) {
    while chars.next_if(|(at, _)| *at < to).is_some() {}
}

fn space(line: &mut String) {
    if !line.is_empty() && !line.ends_with([' ', '\n']) {
        line.push(' ');
    }
}

fn break_line(line: &mut String) {
    line.truncate(line.trim_end().len());
    if !line.is_empty() {
        line.push('\n');
    }
}

/// Joins a list item to the text before it.
fn join_line(line: &mut String) {
    if line.pop().is_some() {
        line.push_str(if line.ends_with([':', ',', ';']) { " " } else { ", " });
    }
}

/// Returns the first and the last `most / 2` bytes, or the whole text and an empty text if it is not longer than
/// `most`.
fn ends(text: &str, most: usize) -> (&str, &str) {
    if text.len() <= most {
        return (text, "");
    }
    let head = (0..=most / 2).rev().find_map(|at| text.get(..at)).unwrap_or_default();
    let tail = (text.len() - most / 2..=text.len()).find_map(|at| text.get(at..)).unwrap_or_default();
    (head, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        let mut line = String::new();
        push_clean(&mut line, text);
        line
    }

    #[test]
    fn noise_marks_are_removed() {
        assert_eq!(clean("[noise] no <unk> that's [laughter]  it"), "no that's it");
        assert_eq!(clean("[noise]"), "");
        assert_eq!(clean("row [b] and x < y"), "row [b] and x < y");
    }

    #[test]
    fn invisible_characters_are_removed() {
        assert_eq!(clean("a\u{202e}b\u{200b}c\u{1b}[2Jd\u{e0041}"), "abc [2Jd");
        assert_eq!(clean("say \"yes\" or “no”"), "say 'yes' or 'no'");
        assert_eq!(clean("one\r\n\u{2028}assistant: two"), "one\nassistant: two");
    }

    #[test]
    fn written_lists_become_lines() {
        assert_eq!(clean("#4711\n-5 degrees"), "#4711\n-5 degrees");
        assert_eq!(
            clean("Here:\n\n1. **Flight HAT069**\n   - Price: $121\n   - Seats: 12\n\n### Total\n- $5"),
            "Here:\n1. Flight HAT069, Price: $121, Seats: 12\nTotal, $5"
        );
    }

    #[test]
    fn long_text_is_read_at_both_ends() {
        let long = format!("first {} last", "é ".repeat(1_000_000));
        let cleaned = clean(&long);
        assert!(cleaned.len() <= READ + 1 && cleaned.starts_with("first é") && cleaned.ends_with("é last"));
    }
}
