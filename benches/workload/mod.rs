//! The texts and turns that all benchmarks share. They are deterministic, so that other languages can repeat them.
//!
//! A turn has 12 words of the caller and 25 words of the assistant, about 249 bytes. Every eighth turn has 12 more words of
//! the caller, which must merge.

#![allow(dead_code, reason = "each benchmark uses a part")]
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "not part of the library")]

pub mod ratio;

use verbale::clock::{Clock, SystemClock};
use verbale::{Format, MessageWrapper, MessagesManager};

const WORDS: &str = "the call is about my last order number and it did not come today can you please check when they \
    will send another one thank i would like to speak with someone from support because delivery address changed \
    yesterday morning customer account balance payment appointment confirm available schedule problem internet \
    connection okay wait sorry hello yes no maybe understand information technician invoice tomorrow question";
const COUNT: usize = 65_536;

/// The words of all texts and their offsets.
pub struct Words {
    text: String,
    starts: Vec<usize>,
}

impl Words {
    pub fn new() -> Self {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        assert_eq!(words.len(), 64);
        let mut state = 42_u64;
        let mut text = String::new();
        let mut starts = Vec::with_capacity(COUNT);
        for _ in 0..COUNT {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if !text.is_empty() {
                text.push(' ');
            }
            starts.push(text.len());
            text.push_str(words[(state >> 33) as usize % 64]);
        }
        assert_eq!(text.len(), 428_859);
        Self { text, starts }
    }

    /// Returns `n` words that depend on `call` and `i`.
    pub fn text(&self, call: u64, i: u64, n: usize) -> &str {
        let hash = (call.wrapping_mul(1_000_003).wrapping_add(i)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let first = (hash >> 40) as usize % (COUNT - n);
        let end = self.starts.get(first + n).map_or(self.text.len(), |next| next - 1);
        &self.text[self.starts[first]..end]
    }

    pub fn summary(&self) -> &str {
        self.text(999_983, 0, 60)
    }
}

/// The number of live messages that triggers a summary, and the number of turns to keep.
pub const SUMMARISE_ABOVE: usize = 20;
pub const KEEP_TURNS: usize = 2;

/// The operations that a benchmark needs.
pub trait Conversation {
    fn user(&mut self, text: &str);
    fn assistant(&mut self, text: &str);
    /// Creates the window without reading it.
    fn window(&self);
    fn summarize(&mut self, summary: &str);
    fn live(&self) -> usize;
}

pub fn turn(conversation: &mut impl Conversation, words: &Words, call: u64, turn: u64) {
    conversation.user(words.text(call, 4 * turn, 12));
    if turn % 8 == 7 {
        conversation.user(words.text(call, 4 * turn + 1, 12));
    }
    conversation.window();
    conversation.assistant(words.text(call, 4 * turn + 2, 25));
}

pub fn play(conversation: &mut impl Conversation, words: &Words, call: u64, turns: u64, summaries: bool) {
    for number in 0..turns {
        turn(conversation, words, call, number);
        if summaries && conversation.live() > SUMMARISE_ABOVE {
            conversation.summarize(words.summary());
        }
    }
}

impl<W: MessageWrapper> Conversation for MessagesManager<W> {
    fn user(&mut self, text: &str) {
        self.add_user(text).unwrap();
    }

    fn assistant(&mut self, text: &str) {
        self.add_assistant(text).unwrap();
    }

    fn window(&self) {
        let _ = std::hint::black_box(self.messages());
    }

    fn summarize(&mut self, summary: &str) {
        let summarizing = self.summarizing_keeping(KEEP_TURNS).unwrap();
        std::hint::black_box(summarizing.format(&Format::default()));
        self.add_summary(summary, &summarizing).unwrap();
    }

    fn live(&self) -> usize {
        let covered = self.last_summary().map_or(0, |summary| summary.position().seq() + 1);
        (self.message_count() - covered) as usize
    }
}

/// The baseline: the same strings with the same times, with ids that count up and summary ids, without rules.
#[derive(Default)]
pub struct Floor {
    pub list: Vec<FloorMessage>,
    start: usize,
    last_id: u128,
}

#[derive(Clone)]
pub struct FloorMessage {
    pub id: u128,
    pub created: i64,
    pub role: &'static str,
    pub text: String,
    pub summary_ids: Option<Box<[u128]>>,
}

impl Floor {
    fn push(&mut self, role: &'static str, text: &str) {
        let created = SystemClock.now_ms();
        self.last_id += 1;
        self.list.push(FloorMessage { id: self.last_id, created, role, text: text.to_owned(), summary_ids: None });
    }
}

impl Conversation for Floor {
    fn user(&mut self, text: &str) {
        match self.list.last_mut() {
            Some(last) if last.role == "user" => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => self.push("user", text),
        }
    }

    fn assistant(&mut self, text: &str) {
        self.push("assistant", text);
    }

    fn window(&self) {
        std::hint::black_box(&self.list[self.start..]);
    }

    fn summarize(&mut self, summary: &str) {
        let end = self.list.len() - 2 * KEEP_TURNS;
        let mut transcript = String::new();
        for message in &self.list[self.start.saturating_sub(1)..end] {
            transcript.push('[');
            transcript.push_str(message.role);
            transcript.push_str("]: ");
            transcript.push_str(&message.text);
            transcript.push('\n');
        }
        std::hint::black_box(transcript);
        self.push("summary", summary);
        let last = self.list.len() - 1;
        let covered = self.list[self.start.saturating_sub(1)..end].iter().map(|message| message.id);
        self.list[last].summary_ids = Some(covered.collect());
        self.list[end..=last].rotate_right(1);
        self.start = end + 1;
    }

    fn live(&self) -> usize {
        self.list.len() - self.start
    }
}
