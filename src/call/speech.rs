//! [`Speech`]: one stretch of audio, its playback, and the text that the caller heard.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::rate::Rate;
use crate::manager::MessagesManager;
use crate::message::{Contents, Heard, HeardSource, MessageId, PlainMessage, Text, Timing, ToolCallId};
use crate::turn::SpeechId;

/// The part of an interrupted speech that was played.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Played {
    /// The words that were played since the beginning of the speech, from the word times of the speech synthesis. A
    /// speech is a whole reply, so these include the words of its earlier sentences and those before a tool call.
    ///
    /// They may also be a list of characters. White space, punctuation, case and accents may differ from the text, and
    /// `$12` equals "twelve dollars". Each other difference moves the end of the heard text by about one word. If
    /// less than half of the words match the beginning of the speech, they count as [`Unknown`](Self::Unknown).
    Words(String),
    /// The time that was played.
    For {
        /// The time that was played, in milliseconds.
        played_ms: u64,
        /// The length of the whole speech, in milliseconds. If it is `None`, the session estimates it from the rate of
        /// speech.
        total_ms: Option<u64>,
    },
    /// The service does not know what was played. The session estimates it from the rate of speech.
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
    /// When the speech before it ended or is going to end, by the player's clock.
    pub not_before_ms: Option<i64>,
    /// The tool calls whose outcome it reports to the caller, unless it is incomplete.
    pub reports: Vec<ToolCallId>,
    pub is_incomplete: bool,
    /// The heard prefix of its texts, once it was interrupted. `None` means that all of it counts as heard.
    pub heard: Option<Heard>,
    pub reading: Arc<Reading>,
}

/// The state that a speech shares with the reader of its reply.
#[derive(Debug, Default)]
pub(super) struct Reading {
    is_cut: AtomicBool,
    handed_out_ms: OnceLock<i64>,
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

impl Reading {
    /// Ends the reply for its reader.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
    }

    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }

    /// Notes that the first words were handed out. Later calls change nothing.
    pub fn hand_out(&self, now_ms: impl FnOnce() -> Option<i64>) {
        if self.handed_out_ms.get().is_none()
            && let Some(now_ms) = now_ms()
        {
            let _ = self.handed_out_ms.set(now_ms);
        }
    }

    /// Returns when the first words were handed out, by the call's clock.
    pub fn handed_out_ms(&self) -> Option<i64> {
        self.handed_out_ms.get().copied()
    }
}

impl Speech {
    /// Takes the tool calls whose outcome a caller who heard the speech knows.
    pub fn reported(&mut self) -> Vec<ToolCallId> {
        let reports = std::mem::take(&mut self.reports);
        if self.is_incomplete { Vec::new() } else { reports }
    }

    /// Returns whether the speech was interrupted. An estimated interruption does not count if, by the same estimate,
    /// all of the speech was heard.
    pub fn was_cut_off(&self) -> bool {
        match self.phase {
            Phase::Interrupted { reported: None, .. } => {
                self.started_ms.is_some() || self.heard.is_none_or(|heard| heard.bytes() < self.bytes())
            }
            Phase::Interrupted { .. } => true,
            Phase::Open | Phase::Finished => false,
        }
    }

    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns the heard prefix of a message, if the interruption is in this message.
    pub fn cut_in(&self, message: MessageId) -> Option<Heard> {
        let heard = self.heard?;
        let mut left = heard.bytes();
        for part in &self.parts {
            if left < part.bytes && part.message == message {
                return Some(Heard::new(part.start + left, heard.source()));
            }
            left = left.saturating_sub(part.bytes);
        }
        None
    }

    /// Returns the heard prefix of its texts. `at_ms` is a time of the player's clock, which is `ahead_ms` ahead of the
    /// call's.
    pub fn heard_by(&self, played: &Played, at_ms: i64, ahead_ms: i64, rate: &Rate, manager: &mut Manager) -> Heard {
        let contents = self.contents(manager);
        let at_rate = || rate.playback_ms(Heard::speaking_ms(&contents));
        let estimate = || {
            let played_ms =
                self.start_ms(ahead_ms).and_then(|started_ms| u64::try_from(at_ms.saturating_sub(started_ms)).ok());
            match played_ms.unwrap_or(0) {
                0 => Heard::new(0, HeardSource::Estimate),
                played_ms => Heard::played(&contents, played_ms, at_rate()).with_source(HeardSource::Estimate),
            }
        };
        match played {
            Played::Words(words) => Heard::words(&contents, words).unwrap_or_else(estimate),
            Played::For { played_ms: 0, .. } => Heard::new(0, HeardSource::PlaybackTime),
            Played::For { played_ms, total_ms } => {
                Heard::played(&contents, *played_ms, total_ms.unwrap_or_else(at_rate))
            }
            Played::Unknown => estimate(),
        }
    }

    /// Returns when its playback started, by the player's clock: the reported time, or else the time when its words
    /// were handed out, but not before the end of the speech before it.
    fn start_ms(&self, ahead_ms: i64) -> Option<i64> {
        self.started_ms.or_else(|| {
            let handed_out_ms = self.reading.handed_out_ms()?.saturating_add(ahead_ms);
            Some(handed_out_ms.max(self.not_before_ms.unwrap_or(handed_out_ms)))
        })
    }

    /// Returns when its playback ended or will end, by the player's clock and by estimate, unless its end was reported.
    pub fn end_ms(&self, ahead_ms: i64, rate: &Rate, manager: &mut Manager) -> Option<i64> {
        let until_ms = match self.phase {
            Phase::Open => i64::MAX,
            Phase::Interrupted { at_ms, .. } => at_ms,
            Phase::Finished => return None,
        };
        let takes_ms = i64::try_from(rate.playback_ms(self.speaking_ms(manager))).unwrap_or(i64::MAX);
        Some(self.start_ms(ahead_ms)?.saturating_add(takes_ms).min(until_ms))
    }

    /// Returns the time that its texts take at a usual rate of speech, in milliseconds.
    pub fn speaking_ms(&self, manager: &mut Manager) -> u64 {
        Heard::speaking_ms(&self.contents(manager))
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

    /// Sets the times of playback of its messages, once it has ended. Several messages share the time in proportion to
    /// their texts. Messages that were not played get no times.
    pub fn set_end(&self, at_ms: i64, manager: &mut Manager) {
        let all = self.bytes();
        let played = self.heard.map_or(all, |heard| heard.bytes().min(all));
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

/// Returns a higher number for a more exact source.
pub(super) fn accuracy(source: HeardSource) -> u8 {
    match source {
        HeardSource::Estimate => 0,
        HeardSource::PlaybackTime => 1,
        HeardSource::WordTiming => 2,
    }
}
