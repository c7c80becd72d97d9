//! Texts with the times of their words.

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use serde_json::Value;
use verbale::{Contents, Heard};

/// A text that was spoken.
pub struct Spoken {
    pub language: String,
    pub text: String,
    pub total_ms: u64,
    /// Its words by Unicode: start and end in bytes, and the time when each begins. Not those of the library.
    pub words: Vec<(usize, usize, u64)>,
}

impl Spoken {
    /// Reads `spoken.jsonl`, or the file that the variable `HEARD_SPOKEN` names.
    pub fn all() -> Vec<Self> {
        let other = std::env::var("HEARD_SPOKEN").ok().map(|path| std::fs::read_to_string(path).unwrap());
        let lines = other.as_deref().unwrap_or(include_str!("spoken.jsonl")).lines();
        lines.map(|line| Self::read(&serde_json::from_str(line).unwrap())).collect()
    }

    fn read(value: &Value) -> Self {
        let text = value["text"].as_str().unwrap().to_owned();
        let total_ms = value["total_ms"].as_u64().unwrap();
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let events = value["words"].as_array().unwrap().iter();
        let mut events: Vec<(usize, u64)> =
            events.map(|event| (offsets[event[1].as_u64().unwrap() as usize], event[0].as_u64().unwrap())).collect();
        // A few events of espeak-ng have an offset that was passed before.
        let mut last = 0;
        events.retain(|(at, _)| {
            let is_next = last <= *at;
            last = last.max(*at);
            is_next
        });
        events.push((text.len(), total_ms));
        let words = words_of(&text).into_iter().map(|(start, end)| (start, end, begin(start, end, &events))).collect();
        Self { language: value["language"].as_str().unwrap().to_owned(), text, total_ms, words }
    }

    /// Returns how many words were heard to their end at a time.
    pub fn heard_at(&self, ms: u64) -> usize {
        self.words.iter().skip(1).take_while(|(_, _, begin)| *begin <= ms).count()
    }

    /// Returns how many words a prefix has.
    pub fn count(&self, heard: Heard) -> usize {
        self.words.iter().take_while(|(_, end, _)| *end <= heard.bytes()).count()
    }

    pub fn contents(&self) -> Contents {
        Contents::from([self.text.as_str()])
    }
}

/// Returns when a word begins: at its first event, or between those around it, in proportion to the text.
fn begin(start: usize, end: usize, events: &[(usize, u64)]) -> u64 {
    if let Some((_, ms)) = events.iter().find(|(at, _)| (start..end).contains(at)) {
        return *ms;
    }
    let (before, before_ms) = events.iter().rev().find(|(at, _)| *at < start).copied().unwrap_or_default();
    let (after, after_ms) = *events.iter().find(|(at, _)| *at >= end).unwrap();
    before_ms + (after_ms - before_ms) * (start - before) as u64 / (after - before) as u64
}

/// Returns the words of a text by Unicode.
pub fn words_of(text: &str) -> Vec<(usize, usize)> {
    let segmenter = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
    let mut start = 0;
    let ends = segmenter.segment_str(text).iter_with_word_type();
    let words = ends.map(|(end, kind)| (std::mem::replace(&mut start, end), end, kind));
    words.filter(|(.., kind)| kind.is_word_like()).map(|(start, end, _)| (start, end)).collect()
}
