//! [`Heard`]: the part of an assistant message that the caller heard.

mod align;
mod fold;
mod language;
mod numbers;
mod reading;
mod said;
mod spoken;
mod words;

use serde::{Deserialize, Serialize};

use super::content::{Content, Contents};
use super::names::names;
use said::Said;

/// The way in which a heard prefix was determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum HeardSource {
    /// The speech synthesis reported when each word was played.
    WordTiming,
    /// The player reported how long it played. The words are computed from the time that each takes to speak.
    PlaybackTime,
    /// The length is an estimate, such as from a usual speaking rate.
    Estimate,
}

/// The prefix of an assistant message that the caller heard, and how it was determined.
///
/// The message keeps the whole text that the model generated. The window and summaries contain the heard prefix only.
/// The log contains both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Heard {
    bytes: u32,
    source: HeardSource,
}

impl Heard {
    /// Creates a prefix of `bytes` bytes, counted over all texts of the message in order.
    ///
    /// When it is set on a message, a partial character at its end is left out, and the length is limited to that of the
    /// texts.
    pub fn new(bytes: usize, source: HeardSource) -> Self {
        Self { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), source }
    }

    /// Returns the whole words that were heard when `played_ms` of `total_ms` were played.
    ///
    /// The time of each word depends on its spoken form: `$12` takes as long as "twelve dollars".
    pub fn played(contents: &Contents, played_ms: u64, total_ms: u64) -> Self {
        Self::new(said(contents).heard_in(played_ms, total_ms), HeardSource::PlaybackTime)
    }

    /// Returns the prefix of `contents` that matches the reported words in `heard`, such as those of a speech
    /// synthesis.
    ///
    /// The report may also be a list of characters. Case, accents, punctuation and white space are ignored, and `$12`
    /// equals "twelve dollars". Each word that differs moves the end of the prefix by about one word. Returns `None` if
    /// less than half of the words match, such as words from the middle of the message.
    pub fn words(contents: &Contents, heard: &str) -> Option<Self> {
        said(contents).heard_as(heard).map(|bytes| Self::new(bytes, HeardSource::WordTiming))
    }

    /// Returns the time that the texts in `contents` take at a usual rate of speech, in milliseconds.
    #[cfg(feature = "call")]
    pub(crate) fn speaking_ms(contents: &Contents) -> u64 {
        said(contents).ms()
    }

    /// Replaces the source.
    #[must_use]
    pub(crate) const fn with_source(self, source: HeardSource) -> Self {
        Self { source, ..self }
    }

    /// Returns the length of the prefix in bytes of the message's texts.
    pub const fn bytes(self) -> usize {
        self.bytes as usize
    }

    /// Returns the source of the information.
    pub const fn source(self) -> HeardSource {
        self.source
    }

    /// Limits the prefix to the texts in `contents` and to whole characters.
    pub(crate) fn clamped_to(self, contents: &Contents) -> Self {
        let bytes = self.prefixes(contents).map(str::len).sum();
        Self::new(bytes, self.source)
    }

    /// Returns the heard prefix of each text, up to the last text that was heard in part.
    pub(crate) fn prefixes(self, contents: &Contents) -> impl Iterator<Item = &str> {
        let mut left = self.bytes();
        contents.texts().map_while(move |text| {
            let prefix = text.get(..floor_char_boundary(text, left))?;
            // Texts after a cut text were not heard.
            left = if prefix.len() == text.len() { left - text.len() } else { 0 };
            (!prefix.is_empty()).then_some(prefix)
        })
    }

    /// Returns the contents with each text cut to its heard prefix. Texts without one are left out.
    pub(crate) fn cut(self, contents: &Contents) -> Contents {
        let mut prefixes = self.prefixes(contents);
        contents
            .iter()
            .filter_map(|content| match content {
                Content::Text(text) => match prefixes.next()? {
                    whole if whole.len() == text.len() => Some(content.clone()),
                    prefix => Some(prefix.into()),
                },
                other => Some(other.clone()),
            })
            .collect()
    }
}

fn said(contents: &Contents) -> Said {
    Said::new(&contents.texts().map(|text| text.as_str()).collect::<Vec<_>>())
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

names!(HeardSource { WordTiming: "wordTiming", PlaybackTime: "playbackTime", Estimate: "estimate" });

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(contents: &Contents, heard: Heard) -> Vec<String> {
        heard.cut(contents).texts().map(|text| text.as_str().to_owned()).collect()
    }

    #[test]
    fn prefix_spans_several_texts() {
        let contents = Contents::from(["I am fine,", "and you?"]);
        for (bytes, left) in [
            (0, vec![]),
            (4, vec!["I am"]),
            (10, vec!["I am fine,"]),
            (13, vec!["I am fine,", "and"]),
            (99, vec!["I am fine,", "and you?"]),
        ] {
            assert_eq!(cut(&contents, Heard::new(bytes, HeardSource::Estimate)), left, "{bytes}");
        }
    }

    #[test]
    fn partial_character_is_not_heard() {
        let contents = Contents::from(["perché no"]);
        let heard = Heard::new(6, HeardSource::Estimate).clamped_to(&contents);
        assert_eq!((heard.bytes(), cut(&contents, heard)), (5, vec!["perch".to_owned()]));
    }

    #[test]
    fn playback_time_ends_at_a_whole_word() {
        let contents = Contents::from(["I am fine,", "and you?"]);
        for (played, left) in [
            (0, vec![]),
            (300, vec!["I am"]),
            (600, vec!["I am fine,"]),
            (900, vec!["I am fine,", "and"]),
            (1_000, vec!["I am fine,", "and you?"]),
        ] {
            assert_eq!(cut(&contents, Heard::played(&contents, played, 1_000)), left, "{played}");
        }
    }

    #[test]
    fn words_that_are_no_prefix_of_the_message_are_refused() {
        let contents = Contents::from(["I am fine,", "and you?"]);
        let heard = Heard::words(&contents, "I am  fine, and").unwrap();
        assert_eq!(cut(&contents, heard), ["I am fine,", "and"]);
        assert_eq!(Heard::words(&contents, "You are"), None);
        // A word more is only a mismatch.
        assert_eq!(Heard::words(&contents, "I am fine, and you? Well").map(Heard::bytes), Some(18));
    }

    #[test]
    fn words_from_the_middle_of_a_speech_are_unknown() {
        let contents = Contents::from([
            "One moment, I look it up.",
            "You have twelve euros left. The last payment was on Monday in Milan. Shall I send you the list?",
        ]);
        for later in ["The last payment was", "on Monday in", "Shall I send", "You have twelve", "twelve", "the list"] {
            assert_eq!(Heard::words(&contents, later), None, "{later}");
        }
        // Words before a tool call that were not reported are few in comparison.
        let heard = Heard::words(&contents, "You have twelve euros left. The last payment was").unwrap();
        assert!(cut(&contents, heard)[1].ends_with("The last payment was"));
    }
}
