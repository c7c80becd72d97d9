//! Splits text into clauses, the units that are kept or dropped.

use std::ops::Range;

use super::lexicon::{self, Word};

/// The maximum length of a clause, in bytes. A longer one is split.
pub(super) const LONGEST: usize = 160;
/// A line with at most this many words continues the line before.
const FRAGMENT: usize = 3;

/// Transcripts of speech have no punctuation. Each of these phrases begins a new clause.
const OPENERS: [&str; 15] = [
    " my name is ",
    " i would like ",
    " i'd like ",
    " i need to ",
    " i need a ",
    " i want ",
    " is there anything else",
    " how can i help",
    " how may i help",
    " thank you",
    " thanks for",
    " have a great",
    " have a nice",
    " can you ",
    " could you ",
];

/// Returns the clauses of a cleaned text in order. `lower` is the text in lower case.
pub(super) fn clauses(text: &str, lower: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut ends_sentence = true;
    for line in text.split('\n') {
        let end = start + line.len();
        let continues = !ends_sentence && is_fragment(lower.get(start..end).unwrap_or_default());
        let mut first = true;
        for sentence in sentences(text, start..end) {
            for piece in pieces(lower, sentence) {
                match found.last_mut() {
                    Some(last) if first && continues && piece.end - last.start <= LONGEST => last.end = piece.end,
                    _ => found.push(piece),
                }
                first = false;
            }
        }
        ends_sentence = line.ends_with(['.', '!', '?', ';', '…', '。', '！', '？']);
        start = end + 1;
    }
    found
}

/// Returns `true` if a line continues the one before: a few words, or only numbers, as in a dictated address.
fn is_fragment(line: &str) -> bool {
    let mut words = line.split(' ');
    words.by_ref().take(FRAGMENT).all(|word| !matches!(word, "yes" | "no" | "okay" | "yeah" | "hi" | "hello" | "bye"))
        && words.all(|word| word == "and" || matches!(lexicon::word(word), Some(Word::Number | Word::Unit)))
}

/// Splits after `.`, `!` and `?`, and at `;` and `…`, which are left out.
fn sentences(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = line.start;
    let piece = text.get(line.clone()).unwrap_or_default();
    let mut chars = piece.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let (at, next) = (line.start + at, line.start + at + c.len_utf8());
        let breaks = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let end = match c {
            '.' if breaks && !is_abbreviation(text.get(start..at).unwrap_or_default()) => next,
            '!' | '?' if breaks => next,
            ';' if breaks => at,
            '。' | '！' | '？' => next,
            '…' => at,
            _ => continue,
        };
        found.push(trimmed(text, start..end));
        start = next;
    }
    found.push(trimmed(text, start..line.end));
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Returns `true` if a full stop after `before` ends no sentence: after a list number, an initial or a title.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(' ').next().unwrap_or_default();
    (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
        || word.chars().count() == 1 && word.chars().all(char::is_alphabetic)
        || ["Mr", "Mrs", "Ms", "Dr", "St", "No", "a.m", "p.m", "e.g", "i.e"].contains(&word)
}

/// Splits a sentence before each opener, and where it is too long.
fn pieces(lower: &str, sentence: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut left = sentence;
    loop {
        let text = lower.get(left.clone()).unwrap_or_default();
        let is_speech = !text.ends_with(['.', '!', '?']);
        let (end, next) = match opener(text).filter(|_| is_speech) {
            Some(at) => (at, at + 1),
            None if text.len() > LONGEST => {
                let end = last_break(text);
                (end, end + usize::from(text.as_bytes().get(end) == Some(&b' ')))
            }
            None => break,
        };
        found.push(left.start..left.start + end);
        left.start += next;
    }
    found.push(left);
    found.into_iter().map(|piece| trimmed(lower, piece)).filter(|piece| !piece.is_empty()).collect()
}

/// Returns the first place up to [`LONGEST`] where an opener begins.
fn opener(text: &str) -> Option<usize> {
    let spaces = text.bytes().take(LONGEST).enumerate().skip(1).filter(|(_, byte)| *byte == b' ');
    let mut rests = spaces.filter_map(|(at, _)| Some((at, text.get(at..)?)));
    rests.find(|(_, rest)| OPENERS.iter().any(|opener| rest.starts_with(opener))).map(|(at, _)| at)
}

/// Returns the last place up to [`LONGEST`] to cut a longer text: after a comma, else before a word, else anywhere.
fn last_break(text: &str) -> usize {
    let most = (0..=LONGEST).rev().find_map(|at| text.get(..at)).unwrap_or_default();
    let comma = most.rfind(", ").map(|at| at + 1).filter(|at| *at > LONGEST / 2);
    let end = comma.or_else(|| most.rfind(' ').filter(|at| *at > 0)).unwrap_or(most.len());
    // A character has at most 4 bytes, so `most` is never empty.
    end.max(1)
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let piece = text.get(range.clone()).unwrap_or_default();
    let start = range.start + piece.len() - piece.trim_start().len();
    start..start + piece.trim().len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let lower = text.to_ascii_lowercase();
        clauses(text, &lower).into_iter().map(|clause| &text[clause]).collect()
    }

    #[test]
    fn text_splits_at_sentence_ends() {
        assert_eq!(split("Sure! It's $5.50, Mr. Li. 1. Yes? ok"), ["Sure!", "It's $5.50, Mr. Li.", "1. Yes?", "ok"]);
        assert_eq!(split("one; two … three"), ["one", "two", "three"]);
        assert_eq!(split("予約です。明日！"), ["予約です。", "明日！"]);
    }

    #[test]
    fn speech_splits_at_openers() {
        assert_eq!(
            split("hi my name is patricia um i would like to reset my password"),
            ["hi", "my name is patricia um", "i would like to reset my password"]
        );
        assert_eq!(
            split("the link has been sent is there anything else i can help you with"),
            ["the link has been sent", "is there anything else i can help you with"]
        );
    }

    #[test]
    fn fragments_join_the_line_before() {
        assert_eq!(
            split("my address\nis five\nfour six\nmain street\nharper valley\nthat is all of it"),
            ["my address\nis five\nfour six\nmain street\nharper valley", "that is all of it"]
        );
        assert_eq!(split("my number is five\ntwo two nine eight"), ["my number is five\ntwo two nine eight"]);
        assert_eq!(split("Thanks.\nOne more"), ["Thanks.", "One more"]);
    }

    #[test]
    fn long_runs_are_split() {
        let words = "word ".repeat(100);
        assert!(split(words.trim()).iter().all(|clause| clause.len() <= LONGEST && clause.starts_with("word")));
        assert_eq!(split(&"水".repeat(200)).concat(), "水".repeat(200));
    }

    proptest! {
        #[test]
        fn clauses_are_ordered_trimmed_and_bounded(text in "[a-zé水.?!;…\n ,0-9]{0,600}") {
            let lower = text.to_ascii_lowercase();
            let found = clauses(&text, &lower);
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
            for clause in found {
                prop_assert!(clause.len() <= LONGEST && !clause.is_empty());
                prop_assert_eq!(text[clause.clone()].trim(), &text[clause]);
            }
        }
    }
}
