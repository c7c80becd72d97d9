//! An earlier state of a message.

use std::sync::Arc;

use super::Metadata;
use crate::message::{Attribute, Message, Part, Timing};

impl Message {
    /// Returns the message as a request had it that was sent at `asked_ms`, in milliseconds since the Unix epoch, or `None`
    /// if all of it came later.
    ///
    /// Parts of later requests and of later words, and a later report of playback, are left out. The time of a change of
    /// contents or marks is not known.
    pub(crate) fn as_asked(&self, asked_ms: i64) -> Option<Self> {
        let is_earlier = |part: &Part<'_>| {
            part.created_ms() <= asked_ms && part.timing(Timing::LlmStart).is_none_or(|own_ms| own_ms < asked_ms)
        };
        let parts = self.parts().take_while(is_earlier).count();
        let end = self.parts().take(parts).next_back()?.range().end;
        let is_played = self.metadata.timing(Timing::PlayEnd).is_none_or(|end_ms| end_ms <= asked_ms);
        let mut metadata = self.metadata.clone();
        if !is_played {
            metadata.flags &= !Attribute::SpeechInterrupted.bit();
        }
        metadata.forget_after(parts, asked_ms);
        let contents = self.contents.iter().take(end).cloned().collect();
        Some(self.rewritten(contents, self.heard().filter(|_| is_played), metadata))
    }
}

impl Metadata {
    /// Removes all parts but the first `parts`, and the times after `at_ms`.
    fn forget_after(&mut self, parts: usize, at_ms: i64) {
        if let Some(more) = &mut self.more {
            let more = Arc::make_mut(more);
            more.times = more.times.until(at_ms.wrapping_sub(self.creation_ms)).into();
            if let Some(later) = more.parts.later.take() {
                let left: Box<[_]> = later.into_iter().take(parts - 1).collect();
                more.parts.later = Some(left).filter(|left| !left.is_empty());
            }
        }
    }
}
