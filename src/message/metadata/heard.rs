//! The heard prefix of a message.

use super::Metadata;
use crate::message::Heard;

impl Metadata {
    #[inline]
    pub(in crate::message) fn heard(&self) -> Option<Heard> {
        self.more.as_ref()?.heard
    }

    pub(in crate::message) fn set_heard(&mut self, heard: Option<Heard>) {
        if self.heard() != heard {
            self.more().heard = heard;
            self.tidy();
        }
    }

    /// Removes unknown data about an earlier report of the heard text.
    pub(in crate::message) fn remove_unknown_of_heard(&mut self) {
        if self.unknown().is_some_and(|unknown| !unknown.heard.is_empty()) {
            self.unknown_mut().heard.clear();
            self.tidy();
        }
    }
}
