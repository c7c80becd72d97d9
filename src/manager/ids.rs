//! [`ExplicitIds`]: checks that message ids chosen by the service are unique.

use std::collections::HashSet;

use super::{MessagesManager, Refusal};
use crate::message::{Message, MessageId, MessageWrapper};

/// The ids of all messages and parts, collected when the service first chooses an id.
#[derive(Default, PartialEq)]
pub(super) struct ExplicitIds(Option<HashSet<MessageId>>);

impl ExplicitIds {
    pub const NONE: Self = Self(None);
}

/// The clone collects the ids again when it needs them.
impl Clone for ExplicitIds {
    fn clone(&self) -> Self {
        Self::NONE
    }
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Returns the message with this id, or the message that it was merged into. Searches from the end.
    pub fn get(&self, id: &MessageId) -> Option<&W> {
        self.list.get(self.find_part(id)?)
    }

    /// Returns the index of the message that has this id, or a part with this id.
    pub(super) fn find_part(&self, id: &MessageId) -> Option<usize> {
        let place = self.list.iter().rposition(|wrapper| has(wrapper.message(), id))?;
        Some(self.list.first() + place)
    }

    /// Notes the id of a new message or part.
    #[inline]
    pub(super) fn note_id(&mut self, id: MessageId) {
        if let Some(ids) = self.rare.get_mut().and_then(|rare| rare.explicit_ids.0.as_mut()) {
            ids.insert(id);
        }
    }

    /// Returns an error if a message or part has this id, or had it since the first call of this method.
    pub(super) fn check_id(&mut self, id: MessageId) -> Result<(), Refusal> {
        let list = &self.list;
        let ids = self.rare.explicit_ids.0.get_or_insert_with(|| {
            list.iter().flat_map(|wrapper| wrapper.message().parts()).map(|part| part.id()).collect()
        });
        if ids.contains(&id) { Err(Refusal::RepeatedId { id }) } else { Ok(()) }
    }
}

fn has(message: &Message, id: &MessageId) -> bool {
    message.id() == *id || message.metadata().later_parts().iter().any(|part| part.id == *id)
}
