//! [`Said`]: a text as it is spoken, and the prefix of it that belongs to played words or to a played time.

use super::align::{self, Unit};
use super::language::Language;
use super::spoken::{Item, pause_ms, spoken};
use super::words::words;

/// A text as it is spoken. It may have several parts, which are spoken one after the other.
pub(super) struct Said {
    words: Vec<Word>,
    bytes: usize,
    language: Option<Language>,
}

/// A word that a prefix may end after.
struct Word {
    /// The length of the prefix that ends with it, in bytes of all parts.
    end: usize,
    items: Vec<Item>,
    pause_ms: u64,
}

impl Said {
    pub fn new(parts: &[&str]) -> Self {
        Self::in_language(parts, Language::of(&parts.join(" ")))
    }

    fn in_language(parts: &[&str], language: Option<Language>) -> Self {
        let mut said = Self { words: Vec::new(), bytes: 0, language };
        for part in parts {
            for range in words(part) {
                let end = said.bytes + range.end;
                let after = part.get(range.end..).unwrap_or_default();
                let word = part.get(range).unwrap_or_default();
                said.words.push(Word { end, items: spoken(word, language), pause_ms: pause_ms(word, after) });
            }
            said.bytes += part.len();
        }
        said
    }

    /// Returns the time that the text takes at a usual rate of speech.
    /// A recording may or may not end with silence. A quarter of the final pause keeps the error small in both cases.
    pub fn ms(&self) -> u64 {
        let all: u64 = self.words.iter().map(|word| word.ms() + word.pause_ms).sum();
        all - self.words.last().map_or(0, |word| word.pause_ms * 3 / 4)
    }

    /// Returns the length of the prefix of whole words that is played in `played_ms` if all of it takes `total_ms`.
    pub fn heard_in(&self, played_ms: u64, total_ms: u64) -> usize {
        if played_ms >= total_ms {
            return self.bytes;
        }
        let due = u128::from(self.ms()) * u128::from(played_ms);
        let mut until_ms = 0;
        let is_heard = |word: &&Word| {
            until_ms += word.ms();
            let is_due = u128::from(until_ms) * u128::from(total_ms) <= due;
            until_ms += word.pause_ms;
            is_due
        };
        let count = self.words.iter().take_while(is_heard).count();
        self.length_of(count)
    }

    /// Returns the length of the prefix of whole words that was heard if these words or characters were played.
    ///
    /// Returns `None` if they are not the beginning of the text, apart from some that differ.
    pub fn heard_as(&self, played: &str) -> Option<usize> {
        if played.trim().is_empty() {
            return Some(0);
        }
        let played = if is_spelled(played) { played.split_whitespace().collect() } else { played.to_owned() };
        let played = Self::in_language(&[&played], self.language);
        let (mut said, mut reported) = (self.units(), played.units());
        let by_chars =
            chars(&said).take(chars(&reported).count()).eq(chars(&reported)) || differ_in_unit(&said, &reported);
        if by_chars {
            (said, reported) = (chars(&said).collect(), chars(&reported).collect());
        }
        let mut left = align::prefix(&said, &reported)?;
        let is_heard = |word: &&Word| {
            let size = if by_chars { chars(&word.units().collect::<Vec<_>>()).count() } else { word.items.len() };
            let is_whole = size <= left;
            left = left.saturating_sub(size);
            is_whole
        };
        let count = self.words.iter().take_while(is_heard).count();
        Some(self.length_of(count))
    }

    /// Returns the length of the prefix that has `count` words.
    fn length_of(&self, count: usize) -> usize {
        match count.checked_sub(1) {
            None => 0,
            Some(_) if count == self.words.len() => self.bytes,
            Some(last) => self.words.get(last).map_or(self.bytes, |word| word.end),
        }
    }

    fn units(&self) -> Vec<Unit<'_>> {
        self.words.iter().flat_map(Word::units).collect()
    }
}

impl Word {
    fn ms(&self) -> u64 {
        self.items.iter().map(|item| item.ms).sum()
    }

    fn units(&self) -> impl Iterator<Item = Unit<'_>> {
        self.items.iter().enumerate().map(|(index, item)| Unit { text: &item.text, continues: index > 0 })
    }
}

/// Returns whether a text consists of characters with spaces between them.
fn is_spelled(text: &str) -> bool {
    let count = text.split_whitespace().count();
    let chars: usize = text.split_whitespace().map(|token| token.chars().count()).sum();
    count > 2 && 2 * chars < 3 * count
}

/// Returns whether one of the two has no spaces between its words, so that only characters can be compared.
fn differ_in_unit(one: &[Unit<'_>], other: &[Unit<'_>]) -> bool {
    let mean = |units: &[Unit<'_>]| chars(units).count() as f64 / units.len().max(1) as f64;
    let (one, other) = (mean(one), mean(other));
    one.max(other) > 2.0 * one.min(other)
}

/// Splits units into their characters.
fn chars<'a>(units: &[Unit<'a>]) -> impl Iterator<Item = Unit<'a>> {
    let chars_of = |text: &'a str| text.char_indices().filter_map(move |(at, c)| text.get(at..at + c.len_utf8()));
    units.iter().flat_map(move |unit| chars_of(unit.text).map(|text| Unit { text, continues: false }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard_as(text: &str, played: &str) -> Option<String> {
        let said = Said::new(&[text]);
        said.heard_as(played).map(|bytes| text[..bytes].to_owned())
    }

    #[test]
    fn mismatch_costs_a_word_and_not_the_report() {
        let text = "Your balance is $12.50, due on March 3rd. I cannot change that.";
        for (played, heard) in [
            ("Your balance is twelve dollars", "Your balance is"),
            ("Your balance is twelve dollars fifty due on", "Your balance is $12.50, due on"),
            ("Your balance is twelve dollars and fifty cents due on", "Your balance is $12.50, due on"),
            ("Your balance is $12.50, due on", "Your balance is $12.50, due on"),
            ("your ballance is 12.50 dollars due on march third", "Your balance is $12.50, due on March 3rd."),
            ("your balance 12.50 due on march third i cannot", "Your balance is $12.50, due on March 3rd. I cannot"),
            ("", ""),
        ] {
            assert_eq!(heard_as(text, played).as_deref(), Some(heard), "{played}");
        }
        assert_eq!(heard_as(text, "Good morning how can I help"), None);
    }

    #[test]
    fn forms_of_a_character_are_equal() {
        assert_eq!(heard_as("Très bien, à demain", "Tre\u{300}s bien a\u{300}").as_deref(), Some("Très bien, à"));
        assert_eq!(heard_as("Tre\u{300}s bien, a\u{300} demain", "TRÈS BIEN").as_deref(), Some("Tre\u{300}s bien,"));
    }

    #[test]
    fn characters_never_end_inside_a_word() {
        let text = "I cannot help, I am sorry.";
        for played in ["I can", "Ican", "I c a n", "I canno"] {
            assert_eq!(heard_as(text, played).as_deref(), Some("I"), "{played}");
        }
        for played in ["I c a n n o t", "I cannot", "Icannoth", "I cannot he"] {
            assert_eq!(heard_as(text, played).as_deref(), Some("I cannot"), "{played}");
        }
        assert_eq!(heard_as("It is $12.50 now.", "I t i s $ 1 2 . 5 0 n").as_deref(), Some("It is $12.50"));
        assert_eq!(heard_as("I can not help", "I can").as_deref(), Some("I"));
        // A character differs, and there are no spaces.
        assert_eq!(heard_as(text, "Icannothalp,Iam").as_deref(), Some("I cannot help, I am"));
    }

    #[test]
    fn scripts_without_spaces_are_heard() {
        let text = "您的余额是12.50元，谢谢您的来电。";
        assert_eq!(heard_as(text, "您 的 余 额 是 十二点五零元").as_deref(), Some("您的余额是12.50元，"));
        let said = Said::new(&[text]);
        let total_ms = 6_000;
        let heard = said.heard_in(5_900, total_ms);
        assert!(heard > 0 && text[heard..].chars().count() <= 3, "{}", &text[..heard]);
    }

    #[test]
    fn time_counts_what_is_said_and_not_what_is_written() {
        let text = "It is 1,234,567 or so, they all say now.";
        let said = Said::new(&[text]);
        // The number takes more than half of the time, but less than a quarter of the letters.
        assert_eq!(&text[..said.heard_in(said.ms() / 2, said.ms())], "It is");
    }
}
