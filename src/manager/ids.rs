//! [`ExplicitIds`]: checks that message ids chosen by the service are unique.

use std::collections::HashSet;

use super::{MessagesManager, Refusal};
use crate::message::{Message, MessageId, MessageWrapper};

/// The ids of all messages and parts, collected when the service first chooses an id.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "few conversations have any, and each has room for the pointer")]
pub(super) struct ExplicitIds(Option<Box<HashSet<MessageId>>>);

impl ExplicitIds {
    /// Notes the id of a new message or part.
    #[inline]
    pub fn note(&mut self, id: MessageId) {
        if let Some(ids) = &mut self.0 {
            ids.insert(id);
        }
    }
}

/// The clone collects the ids again when it needs them.
impl Clone for ExplicitIds {
    fn clone(&self) -> Self {
        Self::default()
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

    /// Returns an error if a message or part has this id, or had it since the first call of this method.
    pub(super) fn check_id(&mut self, id: MessageId) -> Result<(), Refusal> {
        let list = &self.list;
        let ids = self.explicit_ids.0.get_or_insert_with(|| {
            let ids = list.iter().flat_map(|wrapper| wrapper.message().parts()).map(|part| part.id());
            Box::new(ids.collect())
        });
        if ids.contains(&id) { Err(Refusal::RepeatedId { id }) } else { Ok(()) }
    }
}

fn has(message: &Message, id: &MessageId) -> bool {
    message.id() == *id || message.metadata().later_parts().iter().any(|part| part.id == *id)
}
