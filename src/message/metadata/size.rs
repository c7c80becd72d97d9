//! The size of metadata in a record.

use super::Metadata;
use crate::message::turn::{RequestRecord, TurnRecord};
use crate::message::value::entries_bytes;

impl Metadata {
    /// The approximate size in a record in bytes.
    pub(crate) fn record_bytes(&self) -> usize {
        const ALWAYS: usize = 256;
        const COVERS: usize = 80;
        const MADE: usize = 100;
        const PART: usize = 128;
        const KIND: usize = 16;
        let rare = self.rare();
        let unknown: usize = rare.unknown.as_deref().map_or(0, |unknown| unknown.levels().map(entries_bytes).sum());
        let policy = rare.decision.as_deref().and_then(|decision| decision.decided_by.as_ref());
        let conversation = rare.forked_from.as_deref().map(|forked| &forked.conversation);
        let named: usize = policy.into_iter().chain(conversation).map(|name| MADE + name.len()).sum();
        ALWAYS
            + usize::from(self.has_parts()) * PART
            + self.later_parts().len() * PART
            + self.turn().map_or(0, TurnRecord::record_bytes)
            + self.covers_from().map_or(0, |_| COVERS)
            + named
            + rare.request.as_deref().map_or(0, RequestRecord::record_bytes)
            + rare.redacted.iter().map(|kind| KIND + kind.len()).sum::<usize>()
            + entries_bytes(&rare.aux)
            + unknown
    }
}
