//! [`Player`]: adds the events of a script to the manager as a live call would, each at its time.

use std::sync::Arc;

use verbale::bedrock::BedrockMessage;
use verbale::clock::{Clock, ManualClock, SystemIds};
use verbale::message::{Text, ToolCall};
use verbale::{Attribute, Content, Contents, Entry, Heard, ManagerError, MessageId, MessagesManager, Timing};

use crate::demo::script::{Event, EventKind};

/// The conversation of a call with the words that are being played.
pub struct Player {
    manager: MessagesManager<BedrockMessage>,
    clock: ManualClock,
    playing: Option<Playing>,
}

/// The agent's words that are being played.
struct Playing {
    message: MessageId,
    text: Text,
    start_ms: i64,
    end_ms: i64,
    /// Playing time in milliseconds until the caller interrupts.
    played_ms: Option<u64>,
}

/// An interruption by the caller.
pub struct BargeIn {
    /// Milliseconds since the Unix epoch.
    pub at_ms: i64,
    text: Text,
    heard_bytes: usize,
}

impl BargeIn {
    /// The heard and the unheard part of the played words.
    pub fn heard_and_unheard(&self) -> (&str, &str) {
        self.text.split_at_checked(self.heard_bytes).unwrap_or((&self.text, ""))
    }
}

impl Player {
    pub fn new() -> Self {
        let clock = ManualClock::default();
        let manager = MessagesManager::new().with_clock(Arc::new(clock.clone()), Arc::new(SystemIds));
        Self { manager, clock, playing: None }
    }

    pub fn manager(&self) -> &MessagesManager<BedrockMessage> {
        &self.manager
    }

    /// Returns the manager, for summaries and the log.
    pub fn manager_mut(&mut self) -> &mut MessagesManager<BedrockMessage> {
        &mut self.manager
    }

    pub fn into_manager(self) -> MessagesManager<BedrockMessage> {
        self.manager
    }

    /// Adds an event with its known times.
    pub fn add(&mut self, event: &Event) -> Result<(), ManagerError> {
        // Overlapping speech is added in the order of its start, so the clock never steps back.
        self.clock.set(self.clock.now_ms().max(known_from(event)));
        match &event.kind {
            EventKind::System(text) => {
                self.manager.add_system(text.clone())?;
            }
            EventKind::Caller(text) => {
                let mut entry = self.manager.add_user(text.clone())?;
                set_first(&mut entry, Timing::ListenStart, event.start_ms)?;
                entry.set_timing(Timing::ListenEnd, event.end_ms)?;
            }
            EventKind::Agent { text, calls, played_ms } => {
                let mut entry = self.manager.add_assistant(contents(text.as_ref(), calls))?;
                if let Some(text) = text {
                    set_first(&mut entry, Timing::PlayStart, event.start_ms)?;
                    self.playing = Some(Playing {
                        message: entry.id(),
                        text: text.clone(),
                        start_ms: event.start_ms,
                        end_ms: event.end_ms,
                        played_ms: *played_ms,
                    });
                }
            }
            EventKind::ToolResult(result) => {
                self.manager.add_user(result.clone())?;
            }
        }
        Ok(())
    }

    /// Ends the current playback, at its end or at the interruption.
    pub fn end_playback(&mut self) -> Result<Option<BargeIn>, ManagerError> {
        let Some(playing) = self.playing.take() else { return Ok(None) };
        let Some(mut entry) = self.manager.entry(&playing.message) else { return Ok(None) };
        let Some(played_ms) = playing.played_ms else {
            entry.set_timing(Timing::PlayEnd, playing.end_ms)?;
            return Ok(None);
        };
        // The playing time covers only these words; all earlier words of the message were heard.
        let total_ms = playing.end_ms.abs_diff(playing.start_ms);
        let heard = Heard::played(&playing.text.clone().into(), played_ms, total_ms);
        let bytes: usize = entry.contents().texts().map(|text| text.len()).sum();
        let before = bytes.saturating_sub(playing.text.len());
        entry.set_heard(Heard::new(before + heard.bytes(), heard.source()))?;
        entry.add_attribute(Attribute::SpeechInterrupted);
        let at_ms = playing.start_ms.saturating_add_unsigned(played_ms);
        entry.set_timing(Timing::PlayEnd, at_ms)?;
        Ok(Some(BargeIn { at_ms, text: playing.text, heard_bytes: heard.bytes() }))
    }
}

/// Returns when the words are known: the caller's after they are spoken, the assistant's before.
fn known_from(event: &Event) -> i64 {
    match event.kind {
        EventKind::Caller(_) | EventKind::ToolResult(_) => event.end_ms,
        EventKind::System(_) | EventKind::Agent { .. } => event.start_ms,
    }
}

fn contents(text: Option<&Text>, calls: &[ToolCall]) -> Contents {
    let calls = calls.iter().cloned().map(Content::from);
    text.cloned().map(Content::from).into_iter().chain(calls).collect()
}

/// A merged message keeps the start of its first part.
fn set_first(entry: &mut Entry<'_, BedrockMessage>, timing: Timing, at_ms: i64) -> Result<(), ManagerError> {
    if entry.metadata().timing(timing).is_none() {
        entry.set_timing(timing, at_ms)?;
    }
    Ok(())
}
