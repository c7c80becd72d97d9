//! [`Metadata`]: the data of a message besides its contents.

mod earlier;
mod redacted;

use std::fmt;
use std::sync::Arc;

use crate::message::decision::{Decision, ForkedFrom};
use crate::message::marks::{Attribute, Timing};
use crate::message::part::{self, PartData};
use crate::message::turn::{RequestRecord, TurnRecord};
use crate::message::unknown::Unknown;
use crate::message::value::{Map, entries_bytes};
use crate::message::{MessageId, Text};

/// The data of a message besides its contents: marks, times, decision, fork, turn record and custom data.
#[derive(Clone, PartialEq, Eq)]
pub struct Metadata {
    creation_ms: i64,
    pub(super) flags: u8,
    merges: u32,
    // `None` for most messages. Copies of a message share it.
    more: Option<Arc<More>>,
}

#[derive(Clone, Default, PartialEq, Eq)]
struct More {
    /// In the order of `Timing`, without `Creation`.
    timings: Vec<(Timing, i64)>,
    covers_from: Option<u32>,
    previous_summary: Option<MessageId>,
    decision: Option<Box<Decision>>,
    forked_from: Option<Box<ForkedFrom>>,
    turn: Option<Box<TurnRecord>>,
    request: Option<Box<RequestRecord>>,
    /// Empty unless the message was merged or has a confidence. The first part has the creation time of the message.
    parts: Vec<PartData>,
    /// Sorted, each once.
    redacted: Vec<Text>,
    aux: Map,
    unknown: Option<Box<Unknown>>,
}

impl Metadata {
    #[inline]
    pub(crate) fn new(creation_ms: i64) -> Self {
        Self { creation_ms, flags: 0, merges: 0, more: None }
    }

    /// Returns the marks on the message. [`Attribute::Merged`] occurs once for each merge.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute> + '_ {
        Attribute::ALL.iter().flat_map(|&attribute| {
            let times = match attribute {
                Attribute::Merged => self.merges,
                _ => u32::from(self.has(attribute)),
            };
            std::iter::repeat_n(attribute, times as usize)
        })
    }

    /// Returns whether the message has a mark.
    #[inline]
    pub fn has(&self, attribute: Attribute) -> bool {
        match attribute {
            Attribute::Merged => self.merges > 0,
            _ => self.flags & attribute.bit() != 0,
        }
    }

    /// Returns a time of the message in milliseconds since the Unix epoch, if known.
    pub fn timing(&self, timing: Timing) -> Option<i64> {
        self.timings().find(|(known, _)| *known == timing).map(|(_, at)| at)
    }

    /// Returns all known times in milliseconds since the Unix epoch, [`Timing::Creation`] first.
    pub fn timings(&self) -> impl Iterator<Item = (Timing, i64)> + '_ {
        std::iter::once((Timing::Creation, self.creation_ms)).chain(self.other_timings().iter().copied())
    }

    /// All known times but [`Timing::Creation`], in their order.
    pub(crate) fn other_timings(&self) -> &[(Timing, i64)] {
        self.more.as_ref().map_or(&[], |more| &more.timings)
    }

    #[inline]
    pub(crate) fn created_ms(&self) -> i64 {
        self.creation_ms
    }

    /// Empty unless the message was merged or has a confidence.
    pub(crate) fn part_data(&self) -> &[PartData] {
        self.more.as_ref().map_or(&[], |more| &more.parts)
    }

    /// The `seq` of the first message that a summary covers. Its [`Position`](crate::message::Position) has the last.
    pub(crate) fn covers_from(&self) -> Option<u32> {
        self.more.as_ref()?.covers_from
    }

    /// Returns the id of the summary that this summary replaces, if any.
    pub fn previous_summary(&self) -> Option<MessageId> {
        self.more.as_ref()?.previous_summary
    }

    /// Returns the decision that made the message, if known.
    pub fn decision(&self) -> Option<&Decision> {
        self.more.as_ref()?.decision.as_deref()
    }

    /// Returns the source of the fork if this message marks the point at which the conversation was forked.
    pub fn forked_from(&self) -> Option<&ForkedFrom> {
        self.more.as_ref()?.forked_from.as_deref()
    }

    /// Returns the record of the turn that is logged with this message, if any.
    pub fn turn(&self) -> Option<&TurnRecord> {
        self.more.as_ref()?.turn.as_deref()
    }

    /// In a summary: the request to the model that wrote it, with its tokens.
    pub(crate) fn request(&self) -> Option<&RequestRecord> {
        self.more.as_ref()?.request.as_deref()
    }

    /// Returns the custom data, which [`Entry::set_data`](crate::Entry::set_data) sets.
    pub fn aux(&self) -> &Map {
        self.more.as_ref().map_or(Map::EMPTY, |more| &more.aux)
    }

    /// The approximate size in a record in bytes.
    pub(crate) fn record_bytes(&self) -> usize {
        const ALWAYS: usize = 256;
        const COVERS: usize = 80;
        const MADE: usize = 100;
        const PART: usize = 128;
        const KIND: usize = 16;
        ALWAYS
            + self.more.as_deref().map_or(0, |more| {
                let unknown = more.unknown.as_deref().map_or(0, |unknown| unknown.levels().map(entries_bytes).sum());
                let policy = more.decision.as_deref().and_then(|decision| decision.decided_by.as_ref());
                let conversation = more.forked_from.as_deref().map(|forked| &forked.conversation);
                let named: usize = policy.into_iter().chain(conversation).map(|name| MADE + name.len()).sum();
                more.covers_from.map_or(0, |_| COVERS)
                    + more.parts.len() * PART
                    + named
                    + more.turn.as_deref().map_or(0, TurnRecord::record_bytes)
                    + more.request.as_deref().map_or(0, RequestRecord::record_bytes)
                    + more.redacted.iter().map(|kind| KIND + kind.len()).sum::<usize>()
                    + entries_bytes(&more.aux)
                    + unknown
            })
    }

    pub(crate) fn unknown(&self) -> Option<&Unknown> {
        self.more.as_ref().and_then(|more| more.unknown.as_deref())
    }

    /// Adds a mark and returns whether it changed the metadata.
    pub(crate) fn add_attribute(&mut self, attribute: Attribute) -> bool {
        let new = attribute == Attribute::Merged || !self.has(attribute);
        match attribute {
            Attribute::Merged => self.merges += 1,
            _ => self.flags |= attribute.bit(),
        }
        new
    }

    /// Sets a time and returns the previous one.
    pub(crate) fn set_timing(&mut self, timing: Timing, at_ms: i64) -> Option<i64> {
        if timing == Timing::Creation {
            if let Some(first) = self.more.as_mut().and_then(|more| Arc::make_mut(more).parts.first_mut()) {
                first.created_ms = at_ms;
            }
            return Some(std::mem::replace(&mut self.creation_ms, at_ms));
        }
        part::set(&mut self.more().timings, timing, at_ms)
    }

    /// Appends a part to those of message `id`.
    pub(crate) fn add_part(&mut self, id: MessageId, part: PartData) {
        let created_ms = self.creation_ms;
        let More { timings, parts, .. } = self.more();
        match parts.as_mut_slice() {
            [] => parts.push(PartData { timings: timings.clone(), ..PartData::new(id, created_ms, 0) }),
            [whole] => whole.timings.clone_from(timings),
            _ => {}
        }
        parts.push(part);
    }

    /// Returns the last part of message `id`, mutable.
    pub(crate) fn last_part(&mut self, id: MessageId) -> Option<&mut PartData> {
        let created_ms = self.creation_ms;
        let parts = &mut self.more().parts;
        if parts.is_empty() {
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

    pub(crate) fn set_covers_from(&mut self, seq: u32) {
        self.more().covers_from = Some(seq);
    }

    pub(crate) fn set_previous_summary(&mut self, id: MessageId) {
        self.more().previous_summary = Some(id);
    }

    /// Sets a decision that is not empty.
    pub(crate) fn set_decision(&mut self, decision: Box<Decision>) {
        self.more().decision = Some(decision);
    }

    /// Sets the fork and removes unknown data about an earlier fork.
    pub(crate) fn set_forked_from(&mut self, forked_from: ForkedFrom) {
        self.more().forked_from = Some(Box::new(forked_from));
        if self.unknown().is_some_and(|unknown| !unknown.forked_from.is_empty()) {
            self.unknown_mut().forked_from.clear();
            self.tidy();
        }
    }

    pub(crate) fn set_turn(&mut self, turn: TurnRecord) {
        self.more().turn = Some(Box::new(turn));
    }

    pub(crate) fn set_request(&mut self, request: RequestRecord) {
        self.more().request = Some(Box::new(request));
    }

    pub(crate) fn aux_mut(&mut self) -> &mut Map {
        &mut self.more().aux
    }

    pub(crate) fn unknown_mut(&mut self) -> &mut Unknown {
        self.more().unknown.get_or_insert_default()
    }

    /// Removes unknown data about an earlier report of the heard text.
    pub(crate) fn remove_unknown_of_heard(&mut self) {
        if self.unknown().is_some_and(|unknown| !unknown.heard.is_empty()) {
            self.unknown_mut().heard.clear();
            self.tidy();
        }
    }

    /// Removes empty parts, so that equal metadata has one representation however it was made.
    fn tidy(&mut self) {
        let Some(more) = self.more.as_mut().map(Arc::make_mut) else { return };
        more.unknown.take_if(|unknown| **unknown == Unknown::default());
        if *more == More::default() {
            self.more = None;
        }
    }

    fn more(&mut self) -> &mut More {
        Arc::make_mut(self.more.get_or_insert_default())
    }
}

/// Shows the number of custom entries, not their data.
impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata")
            .field("attributes", &self.attributes().collect::<Vec<_>>())
            .field("timings", &self.timings().collect::<Vec<_>>())
            .field("covers_from", &self.covers_from())
            .field("previous_summary", &self.previous_summary())
            .field("decision", &self.decision())
            .field("forked_from", &self.forked_from())
            .field("turn", &self.turn())
            .field("request", &self.request())
            .field("parts", &self.part_data().len().max(1))
            .field("redacted", &self.redacted().len())
            .field("aux", &self.aux().len())
            .finish()
    }
}
