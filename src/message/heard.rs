//! [`Heard`]: how much of what the model generated reached the caller's ear.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::message::content::{Content, Contents};

/// How it is known what was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum HeardSource {
    /// The speech synthesis told when each word was played.
    WordTiming,
    /// The player told how long it played; the words are in proportion.
    PlaybackTime,
    /// Estimated, as from a usual speaking rate.
    Estimate,
}

/// What the caller heard of an assistant message: a prefix of its texts, and how that is known.
///
/// The message keeps what the model generated; the model and the summary see what was heard; the log keeps both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Heard {
    bytes: u32,
    provenance: HeardSource,
}

impl Heard {
    /// Nothing was heard.
    pub const fn nothing(provenance: HeardSource) -> Self {
        Self { bytes: 0, provenance }
    }

    /// The first `bytes` bytes of the message's texts, one text behind the other, were heard. A character that is
    /// cut in two was not heard; more than there is means all of it.
    pub fn bytes(bytes: usize, provenance: HeardSource) -> Self {
        Self { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), provenance }
    }

    /// `played_ms` of the `total_ms` that `contents` take were played: that share of the letters, back to the last
    /// whole word.
    pub fn played(contents: &Contents, played_ms: u64, total_ms: u64) -> Self {
        let length: usize = contents.texts().map(|text| text.len()).sum();
        if played_ms >= total_ms {
            return Self::bytes(length, HeardSource::PlaybackTime);
        }
        let share = (length as u128 * u128::from(played_ms) / u128::from(total_ms)) as usize;
        let mut start = 0;
        let mut end_of_word = 0;
        for text in contents.texts() {
            let ends = text.char_indices().filter(|(_, c)| c.is_whitespace()).map(|(at, _)| at).chain([text.len()]);
            end_of_word = ends.map(|at| start + at).take_while(|end| *end <= share).last().unwrap_or(end_of_word);
            start += text.len();
        }
        Self::bytes(end_of_word, HeardSource::PlaybackTime)
    }

    /// The words that were heard, as the speech synthesis marks them: `None` unless they are a prefix of the texts
    /// in `contents`, white space aside.
    pub fn words(contents: &Contents, heard: &str) -> Option<Self> {
        let mut left = heard.chars().filter(|c| !c.is_whitespace()).peekable();
        let (mut start, mut end) = (0, 0);
        for text in contents.texts() {
            for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
                match left.next() {
                    None => return Some(Self::bytes(end, HeardSource::WordTiming)),
                    Some(heard) if heard != c => return None,
                    Some(_) => end = start + at + c.len_utf8(),
                }
            }
            start += text.len();
        }
        left.peek().is_none().then(|| Self::bytes(end, HeardSource::WordTiming))
    }

    /// The same, said to be known otherwise.
    #[must_use]
    pub const fn with_provenance(self, provenance: HeardSource) -> Self {
        Self { provenance, ..self }
    }

    /// How many bytes of the message's texts were heard.
    pub const fn len(self) -> usize {
        self.bytes as usize
    }

    /// Whether nothing was heard.
    pub const fn is_empty(self) -> bool {
        self.bytes == 0
    }

    /// How it is known.
    pub const fn provenance(self) -> HeardSource {
        self.provenance
    }

    /// The same, not more than there is, and not in the middle of a character.
    pub(crate) fn clamped_to(self, contents: &Contents) -> Self {
        let bytes = self.prefixes(contents).map(str::len).sum();
        Self::bytes(bytes, self.provenance)
    }

    /// The heard part of each text, up to the first that was not heard at all.
    pub(crate) fn prefixes(self, contents: &Contents) -> impl Iterator<Item = &str> {
        let mut left = self.len();
        contents.texts().map_while(move |text| {
            let prefix = text.get(..floor_char_boundary(text, left))?;
            // Nothing behind a text that was cut.
            left = if prefix.len() == text.len() { left - text.len() } else { 0 };
            (!prefix.is_empty()).then_some(prefix)
        })
    }

    /// The contents with the texts cut to what was heard; a text of which nothing was heard is left out.
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

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

impl fmt::Display for HeardSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::WordTiming => "wordTiming",
            Self::PlaybackTime => "playbackTime",
            Self::Estimate => "estimate",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(contents: &Contents, heard: Heard) -> Vec<String> {
        heard.cut(contents).texts().map(|text| text.as_str().to_owned()).collect()
    }

    #[test]
    fn the_prefix_runs_over_the_texts() {
        let contents = Contents::from(["I am fine,", "and you?"]);
        for (bytes, left) in [
            (0, vec![]),
            (4, vec!["I am"]),
            (10, vec!["I am fine,"]),
            (13, vec!["I am fine,", "and"]),
            (99, vec!["I am fine,", "and you?"]),
        ] {
            assert_eq!(cut(&contents, Heard::bytes(bytes, HeardSource::Estimate)), left, "{bytes}");
        }
    }

    #[test]
    fn a_character_cut_in_two_was_not_heard() {
        let contents = Contents::from(["perché no"]);
        let heard = Heard::bytes(6, HeardSource::Estimate).clamped_to(&contents);
        assert_eq!((heard.len(), cut(&contents, heard)), (5, vec!["perch".to_owned()]));
    }

    #[test]
    fn playback_is_cut_back_to_a_whole_word() {
        let contents = Contents::from(["I am fine,", "and you?"]);
        for (played, left) in [
            (0, vec![]),
            (300, vec!["I am"]),
            (600, vec!["I am fine,"]),
            (999, vec!["I am fine,", "and"]),
            (1_000, vec!["I am fine,", "and you?"]),
        ] {
            assert_eq!(cut(&contents, Heard::played(&contents, played, 1_000)), left, "{played}");
        }
    }

    #[test]
    fn words_must_be_those_of_the_message() {
        let contents = Contents::from(["I am fine,", "and you?"]);
        let heard = Heard::words(&contents, "I am  fine, and").unwrap();
        assert_eq!(cut(&contents, heard), ["I am fine,", "and"]);
        assert_eq!(Heard::words(&contents, "You are"), None);
        assert_eq!(Heard::words(&contents, "I am fine, and you? Well"), None);
    }
}
