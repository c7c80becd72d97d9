//! Splits a text into the words that a prefix may end after. Knows nothing of sound.

use std::ops::Range;

use super::fold::is_mark;
use super::language::{is_han, is_kana, is_south_east_asian};

/// Returns the words of a text, in order. A word includes opening punctuation before it and the punctuation after it.
///
/// White space and long dashes separate words, and so do hyphens between groups of digits, as in a telephone number. In
/// scripts without spaces, words come from a dictionary with the feature `dictionaries`, and are single characters
/// without it.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    // The start of punctuation that belongs to the next word.
    let mut opened = None;
    for (kind, run) in runs(text) {
        let marks = text.get(run.clone()).unwrap_or_default();
        match kind {
            Kind::Space => {}
            Kind::Word => words.push(opened.take().unwrap_or(run.start)..run.end),
            Kind::Unspaced => {
                for word in split_unspaced(marks) {
                    words.push(opened.take().unwrap_or(run.start + word.start)..run.start + word.end);
                }
            }
            Kind::Mark => {
                let closing = marks.find(is_opening).unwrap_or(marks.len());
                if let Some(last) = words.last_mut().filter(|_| closing > 0) {
                    last.end = run.start + closing;
                }
                opened = (closing < marks.len()).then_some(run.start + closing);
            }
        }
    }
    words.dedup_by(|not, can| {
        let word = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
        let first = word(can).rsplit(is_silent).next().unwrap_or_default();
        let second = word(not).trim_start_matches(is_silent).split(is_silent).next().unwrap_or_default();
        // "can not" is one word: a prefix that ends after "can" means the opposite.
        let is_one = first.eq_ignore_ascii_case("can") && second.eq_ignore_ascii_case("not");
        can.end = if is_one { not.end } else { can.end };
        is_one
    });
    words
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Space,
    /// A word of a script with spaces, with the marks inside it, such as the point in `12.50`.
    Word,
    /// Words of a script without spaces.
    Unspaced,
    /// Punctuation.
    Mark,
}

fn runs(text: &str) -> Vec<(Kind, Range<usize>)> {
    let mut runs: Vec<(Kind, Range<usize>)> = Vec::new();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let kind = match c {
            // French writes 12 500.
            '\u{a0}' | '\u{202f}' | '\u{2009}' if is_between_digits(text, at..end) => Kind::Mark,
            _ if c.is_whitespace() => Kind::Space,
            _ if is_unspaced(c) => Kind::Unspaced,
            _ if is_spoken(c) || c == '_' => Kind::Word,
            _ => Kind::Mark,
        };
        match runs.as_mut_slice() {
            [.., (last, run)] if *last == kind || is_mark(c) => run.end = end,
            [.., (Kind::Word, word), (Kind::Mark, mark)] if kind == Kind::Word && is_inside(text, word, mark, at) => {
                word.end = end;
                runs.pop();
            }
            _ => runs.push((kind, at..end)),
        }
    }
    runs
}

fn is_between_digits(text: &str, range: Range<usize>) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let (before, after) = (text.get(..range.start), text.get(range.end..));
    before.is_some_and(|before| before.ends_with(is_digit)) && after.is_some_and(|after| after.starts_with(is_digit))
}

/// Returns whether the mark after a word continues it, before a letter or digit at `at`.
fn is_inside(text: &str, word: &Range<usize>, mark: &Range<usize>, at: usize) -> bool {
    let mark = text.get(mark.clone()).unwrap_or_default();
    let digits = |c: &char| c.is_ascii_digit();
    let before = text.get(word.clone()).unwrap_or_default().chars().rev().take_while(digits).count();
    let after = text.get(at..).unwrap_or_default().chars().take_while(digits).count();
    let is_group = matches!(mark, "-" | "‐" | "‑" | "–") && before.min(after) > 1 && before.max(after) > 2;
    mark.chars().filter(|c| !is_mark(*c)).count() == 1
        && !is_group
        && !mark.contains(['—', '…', '–', '!', '?'])
        && !mark.contains(is_apart)
}

/// Returns whether a character is read aloud, so that it makes a word.
fn is_spoken(c: char) -> bool {
    c.is_alphanumeric() || "$€£¥%&@°§＄￥％".contains(c)
}

fn is_silent(c: char) -> bool {
    !c.is_alphanumeric()
}

fn is_opening(c: char) -> bool {
    "([{<¿¡«„‘「『（【《〈#+".contains(c)
}

/// Punctuation of Chinese and Japanese, arrows, symbols and emoji, which never continue a word.
fn is_apart(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
}

fn is_unspaced(c: char) -> bool {
    is_han(c) || is_kana(c) || is_south_east_asian(c)
}

#[cfg(feature = "dictionaries")]
fn split_unspaced(run: &str) -> Vec<Range<usize>> {
    use icu_segmenter::WordSegmenter;
    use icu_segmenter::options::WordBreakInvariantOptions;
    let ends: Vec<usize> =
        WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()).segment_str(run).collect();
    ends.windows(2).filter_map(|pair| Some(*pair.first()?..*pair.last()?)).collect()
}

#[cfg(not(feature = "dictionaries"))]
fn split_unspaced(run: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, c) in run.char_indices() {
        let end = at + c.len_utf8();
        match words.last_mut().filter(|_| continues(c)) {
            Some(word) => word.end = end,
            None => words.push(at..end),
        }
    }
    words
}

/// Returns whether a character belongs to the one before it: vowel signs, small kana and the long vowel.
#[cfg(not(feature = "dictionaries"))]
fn continues(c: char) -> bool {
    "ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮー々".contains(c)
        || is_south_east_asian(c)
            && !matches!(c, '\u{e01}'..='\u{e2e}' | '\u{e40}'..='\u{e44}' | '\u{e81}'..='\u{eae}'
            | '\u{ec0}'..='\u{ec4}' | '\u{1000}'..='\u{1021}' | '\u{1780}'..='\u{17a2}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        words(text).into_iter().map(|word| &text[word]).collect()
    }

    #[test]
    fn words_have_their_punctuation() {
        for (text, expected) in [
            ("It's $12.50, due on 3/14 (or so).", vec!["It's", "$12.50,", "due", "on", "3/14", "(or", "so)."]),
            ("Call 555-123-4567 now.", vec!["Call", "555-", "123-", "4567", "now."]),
            ("Ça fait 12\u{202f}500\u{a0}€.", vec!["Ça", "fait", "12\u{202f}500", "€."]),
            ("a well-known e-mail — yes…no", vec!["a", "well-known", "e-mail —", "yes…", "no"]),
            ("Ça va ? « Oui ! »", vec!["Ça", "va ?", "« Oui ! »"]),
            ("¿Qué tal?", vec!["¿Qué", "tal?"]),
            ("12,50 € am 3. Mai", vec!["12,50", "€", "am", "3.", "Mai"]),
            ("I can not, I can, not", vec!["I", "can not,", "I", "can,", "not"]),
            ("... hm", vec!["hm"]),
            ("12🙂can not, 12'can not", vec!["12🙂", "can not,", "12'can not"]),
            ("नमस्ते दुनिया", vec!["नमस्ते", "दुनिया"]),
            ("", vec![]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[cfg(feature = "dictionaries")]
    #[test]
    fn dictionaries_split_scripts_without_spaces() {
        assert_eq!(split("您的余额是12.50元，谢谢。"), ["您", "的", "余", "额", "是", "12.50", "元，", "谢谢。"]);
        assert_eq!(split("カードを「確認」します。"), ["カード", "を", "「確認」", "しま", "す。"]);
        assert_eq!(split("สวัสดีครับ"), ["สวัสดี", "ครับ"]);
    }

    #[cfg(not(feature = "dictionaries"))]
    #[test]
    fn without_dictionaries_characters_are_words() {
        assert_eq!(split("余额是12元，谢谢。"), ["余", "额", "是", "12", "元，", "谢", "谢。"]);
        assert_eq!(split("キャッシュ"), ["キャッ", "シュ"]);
    }
}
