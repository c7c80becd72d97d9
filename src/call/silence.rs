//! Fills the silence while the caller waits, so that a slow tool or model does not sound like a dead line.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::ear::CallEar;
use super::session::live;
use super::settings::CallSettings;
use crate::conversation::WeakConversation;
use crate::message::is_blank;
use crate::turn::{CallEvent, Core, SpeechId, since};

/// The silence of a running reply.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// The estimated end of the audio of all text so far, in milliseconds since the Unix epoch.
    audible_until_ms: i64,
    /// The number of silences that were reported in this reply.
    count: usize,
}

impl Silence {
    pub fn begin(now_ms: i64) -> Self {
        Self { audible_until_ms: now_ms, count: 0 }
    }

    /// Notes text that is spoken after all text before it.
    pub fn note_text(&mut self, bytes: usize, bytes_per_s: u64, now_ms: i64) {
        let takes_ms = (bytes as u64).saturating_mul(1_000) / bytes_per_s.max(1);
        let begins_ms = self.audible_until_ms.max(now_ms);
        self.audible_until_ms = begins_ms.saturating_add_unsigned(takes_ms);
    }
}

/// Watches a reply until it ends.
pub(super) async fn watch(conversation: WeakConversation, settings: Arc<CallSettings>, speech: SpeechId) {
    let mut wait = settings.silence_after;
    loop {
        sleep(wait).await;
        let Some(conversation) = conversation.upgrade() else { return };
        let next = live(&conversation, &settings, |ear, core| ear.fill_silence(speech, core));
        let Some(next) = next.flatten() else { return };
        wait = next;
    }
}

impl CallEar {
    /// Reports a silence that has lasted long enough, and speaks the next filler. Returns the time until the next
    /// check, or `None` if the turn is over.
    fn fill_silence(&mut self, speech: SpeechId, core: &mut Core) -> Option<Duration> {
        const SHORTEST: Duration = Duration::from_millis(100);
        let is_streaming = !is_blank(core.turn_of(speech)?.unfinished_text());
        let now_ms = core.now_ms();
        let allowed = if self.silence.count == 0 { self.settings.silence_after } else { self.settings.silence_again };
        let after_ms = since(self.silence.audible_until_ms, now_ms);
        let silent = Duration::from_millis(after_ms.into());
        let is_audible = self.silence.audible_until_ms > now_ms;
        if is_streaming || is_audible || silent < allowed {
            let audible = Duration::from_millis(since(now_ms, self.silence.audible_until_ms).into());
            return Some((audible + allowed.saturating_sub(silent)).max(SHORTEST));
        }
        let fillers = &self.settings.fillers;
        let filler = fillers.get(self.silence.count % fillers.len().max(1)).cloned();
        self.silence.count += 1;
        core.events.push(CallEvent::Silence { speech, after_ms, is_filled: filler.is_some() });
        if let Some(filler) = filler
            && self.speak_filler(speech, &filler, core).is_ok()
            && let Some(turn) = core.turn_of(speech)
        {
            turn.note_filler(filler.len());
        }
        self.silence.audible_until_ms = self.silence.audible_until_ms.max(now_ms);
        Some(self.settings.silence_again.max(SHORTEST))
    }
}
