//! The parts of a message.

use super::{Metadata, More};
use crate::message::MessageId;
use crate::message::part::PartData;

impl Metadata {
    /// Empty unless the message was merged or has a confidence.
    pub(crate) fn part_data(&self) -> &[PartData] {
        self.more.as_ref().map_or(&[], |more| &more.parts)
    }

    /// Appends a part to those of message `id`.
    pub(crate) fn add_part(&mut self, id: MessageId, part: PartData) {
        let created_ms = self.creation_ms;
        let More { times, parts, .. } = self.more();
        match parts.as_mut_slice() {
            [] => {
                parts.reserve_exact(2);
                parts.push(PartData { times: times.clone().into(), ..PartData::new(id, created_ms, 0) });
            }
            [whole] => whole.times = times.clone().into(),
            _ => {}
        }
        parts.push(part);
    }

    /// Returns the last part of message `id`, mutable.
    pub(crate) fn last_part(&mut self, id: MessageId) -> Option<&mut PartData> {
        let created_ms = self.creation_ms;
        let parts = &mut self.more().parts;
        if parts.is_empty() {
            parts.reserve_exact(1);
            parts.push(PartData::new(id, created_ms, 0));
        }
        parts.last_mut()
    }

    pub(crate) fn set_parts(&mut self, parts: Vec<PartData>) {
        self.more().parts = parts;
    }

    /// Removes the parts, which do not fit other contents.
    pub(crate) fn remove_parts(&mut self) {
        if !self.part_data().is_empty() {
            self.set_parts(Vec::new());
            if self.unknown().is_some_and(|unknown| !unknown.parts.is_empty()) {
                self.unknown_mut().parts.clear();
            }
            self.tidy();
        }
    }
}
