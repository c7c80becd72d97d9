//! The kinds of text that were removed from a message before it was stored.

use super::Metadata;
use crate::message::text::Text;

impl Metadata {
    /// Returns the kinds of text that were removed before the message was stored, such as `card`, sorted.
    ///
    /// Empty in the conversation that wrote the message, because it keeps the text.
    pub fn redacted(&self) -> &[Text] {
        &self.rare().redacted
    }

    /// Adds kinds of text that were removed.
    pub(crate) fn add_redacted(&mut self, kinds: impl IntoIterator<Item = Text>) {
        let mut kinds = kinds.into_iter().peekable();
        if kinds.peek().is_some() {
            let redacted = &mut self.rare_mut().redacted;
            redacted.extend(kinds);
            redacted.sort_unstable();
            redacted.dedup();
        }
    }
}
