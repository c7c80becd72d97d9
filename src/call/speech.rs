//! [`Speech`]: one stretch of audio, its playback, and the text that the caller heard.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::manager::MessagesManager;
use crate::message::{Contents, Heard, HeardSource, MessageId, PlainMessage, Text, Timing, ToolCallId};
use crate::turn::SpeechId;

/// The part of an interrupted speech that was played.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Played {
    /// The played words, from the word times of the speech synthesis.
    ///
    /// White space, punctuation and case may differ from the text. Words that are not the beginning of the speech count as
    /// [`Unknown`](Self::Unknown).
    Words(String),
    /// The time that was played.
    For {
        /// The time that was played, in milliseconds.
        played_ms: u64,
        /// The length of the whole speech, in milliseconds. With `None`, the session estimates it from the rate of
        /// speech.
        total_ms: Option<u64>,
    },
    /// The service does not know it. The session estimates it from the rate of speech.
    Unknown,
}

/// Shows lengths instead of the words.
impl fmt::Debug for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => write!(f, "Words({} bytes)", words.len()),
            Self::For { played_ms, total_ms } => write!(f, "For({played_ms} ms of {total_ms:?})"),
            Self::Unknown => f.write_str("Unknown"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Speech {
    pub id: SpeechId,
    /// Its texts, in order.
    pub parts: Vec<Part>,
    pub phase: Phase,
    pub started_ms: Option<i64>,
    /// The tool calls whose outcome it reports to the caller.
    pub reports: Vec<ToolCallId>,
    /// The heard prefix of its texts, once it was interrupted. `None` is everything.
    pub heard: Option<Heard>,
    /// Set on an interruption, so that the reader of the reply gets nothing more.
    pub is_cut: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub message: MessageId,
    /// Its offset in the texts of the message, in bytes.
    pub start: usize,
    pub bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The end of its playback is not known yet.
    Open,
    Finished,
    Interrupted {
        at_ms: i64,
        /// The source of the player's report, if there was one.
        reported: Option<HeardSource>,
    },
}

type Manager = MessagesManager<PlainMessage>;

impl Speech {
    /// Stops the reader of the reply.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
    }

    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns the heard prefix of a message, if the interruption is in this message.
    pub fn cut_in(&self, message: MessageId) -> Option<Heard> {
        let heard = self.heard?;
        let mut left = heard.len();
        for part in &self.parts {
            if left < part.bytes && part.message == message {
                return Some(Heard::bytes(part.start + left, heard.source()));
            }
            left = left.saturating_sub(part.bytes);
        }
        None
    }

    /// Returns the heard prefix of its texts.
    pub fn heard_by(&self, played: &Played, at_ms: i64, bytes_per_s: u64, manager: &mut Manager) -> Heard {
        let contents = self.contents(manager);
        let at_rate = self.bytes() as u64 * 1_000 / bytes_per_s.max(1);
        let since_start =
            self.started_ms.and_then(|started_ms| u64::try_from(at_ms.saturating_sub(started_ms)).ok()).unwrap_or(0);
        let estimate = || match since_start {
            0 => Heard::bytes(0, HeardSource::Estimate),
            played_ms => Heard::played(&contents, played_ms, at_rate).with_source(HeardSource::Estimate),
        };
        match played {
            Played::Words(words) => {
                Heard::words(&contents, words).or_else(|| bare_words(&contents, words)).unwrap_or_else(estimate)
            }
            Played::For { played_ms: 0, .. } => Heard::bytes(0, HeardSource::PlaybackTime),
            Played::For { played_ms, total_ms } => Heard::played(&contents, *played_ms, total_ms.unwrap_or(at_rate)),
            Played::Unknown => estimate(),
        }
    }

    fn contents(&self, manager: &mut Manager) -> Contents {
        let texts: Vec<Text> = self.parts.iter().filter_map(|part| part.text(manager)).collect();
        Contents::from(texts)
    }

    /// Sets the start of playback of its first message.
    pub fn set_start(&self, manager: &mut Manager) {
        if let Some(started_ms) = self.started_ms
            && let Some(mut entry) = self.parts.first().and_then(|part| manager.entry(&part.message))
            && entry.metadata().timing(Timing::PlayStart).is_none()
        {
            entry.put_timing(Timing::PlayStart, started_ms);
        }
    }

    /// Sets the times of playback of its messages, once it has ended. Several messages share the time in proportion to their
    /// texts. Messages that were not played get no times.
    pub fn set_end(&self, at_ms: i64, manager: &mut Manager) {
        let all = self.bytes();
        let played = self.heard.map_or(all, |heard| heard.len().min(all));
        if self.started_ms.is_none() && played == 0 {
            return;
        }
        // Without a reported start, the playback counts as instantaneous.
        let started_ms = self.started_ms.unwrap_or(at_ms);
        let took_ms = at_ms.saturating_sub(started_ms).max(0);
        let time_after = |bytes: usize| match played {
            0 => at_ms,
            played => started_ms.saturating_add((i128::from(took_ms) * bytes as i128 / played as i128) as i64),
        };
        let mut before = 0;
        for message in self.messages() {
            let parts = self.parts.iter().filter(|part| part.message == message);
            let bytes: usize = parts.map(|part| part.bytes).sum();
            if before > 0 && before >= played {
                return;
            }
            if let Some(mut entry) = manager.entry(&message) {
                if self.started_ms.is_some() && entry.metadata().timing(Timing::PlayStart).is_none() {
                    entry.put_timing(Timing::PlayStart, if before == 0 { started_ms } else { time_after(before) });
                }
                let is_last = before + bytes >= played;
                entry.put_timing(Timing::PlayEnd, if is_last { at_ms } else { time_after(before + bytes) });
            }
            before += bytes;
        }
    }

    pub fn messages(&self) -> Vec<MessageId> {
        let mut messages: Vec<_> = self.parts.iter().map(|part| part.message).collect();
        messages.dedup();
        messages
    }
}

impl Part {
    fn text(&self, manager: &mut Manager) -> Option<Text> {
        let entry = manager.entry(&self.message)?;
        let mut start = 0;
        entry
            .message()
            .contents()
            .texts()
            .find(|text| {
                let is_it = start == self.start;
                start += text.len();
                is_it
            })
            .cloned()
    }
}

/// Returns the heard prefix for words without punctuation, comparing letters and digits in any case.
///
/// Returns `None` if the words are not a prefix of the texts.
fn bare_words(contents: &Contents, heard: &str) -> Option<Heard> {
    let mut left = heard.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).peekable();
    left.peek()?;
    let (mut start, mut end) = (0, 0);
    for text in contents.texts() {
        for (at, c) in text.char_indices() {
            let after = start + at + c.len_utf8();
            if c.is_alphanumeric() {
                for lower in c.to_lowercase() {
                    match left.next() {
                        None => return Some(Heard::bytes(end, HeardSource::WordTiming)),
                        Some(heard) if heard != lower => return None,
                        Some(_) => end = after,
                    }
                }
            } else if end == start + at && !c.is_whitespace() {
                // Punctuation belongs to the word before it.
                end = after;
            }
        }
        start += text.len();
    }
    left.peek().is_none().then(|| Heard::bytes(end, HeardSource::WordTiming))
}

/// Returns a higher number for a more exact source.
pub(super) fn accuracy(source: HeardSource) -> u8 {
    match source {
        HeardSource::Estimate => 0,
        HeardSource::PlaybackTime => 1,
        HeardSource::WordTiming => 2,
    }
}
