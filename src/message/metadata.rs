//! [`Metadata`]: what is known about a message beside its contents.

use std::fmt;
use std::sync::Arc;

use crate::message::decision::{Decision, ForkedFrom};
use crate::message::id::MessageId;
use crate::message::marks::{Attribute, Timing};
use crate::message::part::{self, PartData};
use crate::message::turn::TurnRecord;
use crate::message::unknown::Unknown;
use crate::message::value::{Entries, Value, entries_bytes};

/// What is known about a message beside its contents.
#[derive(Clone, PartialEq, Eq)]
pub struct Metadata {
    creation_ms: i64,
    flags: u8,
    merges: u32,
    // Most messages need nothing of it, and copies of a message share it.
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
    /// None of a message that was not merged and has no confidence. The first one is created with the message.
    parts: Vec<PartData>,
    aux: Entries,
    unknown: Option<Box<Unknown>>,
}

impl Metadata {
    #[inline]
    pub(crate) fn new(creation_ms: i64) -> Self {
        Self { creation_ms, flags: 0, merges: 0, more: None }
    }

    /// The marks on the message: [`Attribute::Merged`] once for each merge.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute> + '_ {
        Attribute::ALL.into_iter().flat_map(|attribute| {
            let times = match attribute {
                Attribute::Merged => self.merges,
                _ => u32::from(self.has(attribute)),
            };
            std::iter::repeat_n(attribute, times as usize)
        })
    }

    /// Whether the message has this mark.
    #[inline]
    pub fn has(&self, attribute: Attribute) -> bool {
        match attribute {
            Attribute::Merged => self.merges > 0,
            _ => self.flags & attribute.bit() != 0,
        }
    }

    /// When something happened, where that is known, in milliseconds since the Unix epoch.
    pub fn timing(&self, timing: Timing) -> Option<i64> {
        self.timings().find(|(known, _)| *known == timing).map(|(_, at)| at)
    }

    /// All that is known of when, [`Timing::Creation`] first.
    pub fn timings(&self) -> impl Iterator<Item = (Timing, i64)> + '_ {
        let others = self.more.iter().flat_map(|more| more.timings.iter().copied());
        std::iter::once((Timing::Creation, self.creation_ms)).chain(others)
    }

    #[inline]
    pub(crate) fn created_ms(&self) -> i64 {
        self.creation_ms
    }

    /// Of a message that was merged or has a confidence.
    pub(crate) fn part_data(&self) -> &[PartData] {
        self.more.as_ref().map_or(&[], |more| &more.parts)
    }

    /// Of a summary: the `seq` of the first message that it covers. Its [`Position`](crate::message::Position) has the last.
    ///
    /// [`MessagesManager::summary_ids`](crate::MessagesManager::summary_ids) returns the ids.
    pub fn covers_from(&self) -> Option<u32> {
        self.more.as_ref()?.covers_from
    }

    /// Of a summary: the summary before it, if any, which it replaces.
    pub fn previous_summary(&self) -> Option<MessageId> {
        self.more.as_ref()?.previous_summary
    }

    /// What made it, where that is known.
    pub fn decision(&self) -> Option<&Decision> {
        self.more.as_ref()?.decision.as_deref()
    }

    /// That the conversation left another one here.
    pub fn forked_from(&self) -> Option<&ForkedFrom> {
        self.more.as_ref()?.forked_from.as_deref()
    }

    /// What happened in the turn that this message answers, if it was logged here.
    pub fn turn(&self) -> Option<&TurnRecord> {
        self.more.as_ref()?.turn.as_deref()
    }

    /// Custom data.
    pub fn aux(&self) -> &Entries {
        self.more.as_ref().map_or(Entries::NONE, |more| &more.aux)
    }

    /// About how many bytes of a record it takes.
    pub(crate) fn record_bytes(&self) -> usize {
        const ALWAYS: usize = 256;
        const COVERS: usize = 80;
        const MADE: usize = 100;
        const PART: usize = 128;
        ALWAYS
            + self.more.as_deref().map_or(0, |more| {
                let unknown = more.unknown.as_deref().map_or(0, |unknown| unknown.levels().map(entries_bytes).sum());
                let policy = more.decision.as_deref().and_then(|decision| decision.policy.as_ref());
                let conversation = more.forked_from.as_deref().map(|forked| &forked.conversation);
                let named: usize = policy.into_iter().chain(conversation).map(|name| MADE + name.len()).sum();
                more.covers_from.map_or(0, |_| COVERS)
                    + more.parts.len() * PART
                    + named
                    + more.turn.as_deref().map_or(0, TurnRecord::record_bytes)
                    + entries_bytes(more.aux.iter())
                    + unknown
            })
    }

    pub(crate) fn unknown(&self) -> Option<&Unknown> {
        self.more.as_ref().and_then(|more| more.unknown.as_deref())
    }

    /// Adds a mark; says whether that changed anything.
    pub(crate) fn add_attribute(&mut self, attribute: Attribute) -> bool {
        let new = attribute == Attribute::Merged || !self.has(attribute);
        match attribute {
            Attribute::Merged => self.merges += 1,
            _ => self.flags |= attribute.bit(),
        }
        new
    }

    /// Sets a moment and gives the one that was set before.
    pub(crate) fn set_timing(&mut self, timing: Timing, at_ms: i64) -> Option<i64> {
        if timing == Timing::Creation {
            if let Some(first) = self.more.as_mut().and_then(|more| Arc::make_mut(more).parts.first_mut()) {
                first.created_ms = at_ms;
            }
            return Some(std::mem::replace(&mut self.creation_ms, at_ms));
        }
        part::set(&mut self.more().timings, timing, at_ms)
    }

    /// Adds a part to those of message `id`.
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

    /// The last part of message `id`, to be changed.
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

    /// Of a message with other contents nothing is known of its parts.
    pub(crate) fn forget_parts(&mut self) {
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

    /// It says something.
    pub(crate) fn set_decision(&mut self, decision: Box<Decision>) {
        self.more().decision = Some(decision);
    }

    /// What was said about an earlier fork says nothing of this one.
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

    pub(crate) fn aux_mut(&mut self) -> &mut Entries {
        &mut self.more().aux
    }

    pub(crate) fn remove_aux(&mut self, key: &str) -> Option<Value> {
        let removed = self.aux_mut().remove(key);
        self.tidy();
        removed
    }

    pub(crate) fn unknown_mut(&mut self) -> &mut Unknown {
        self.more().unknown.get_or_insert_default()
    }

    /// What was said about an earlier report of what was heard says nothing of a new one.
    pub(crate) fn forget_unknown_of_heard(&mut self) {
        if self.unknown().is_some_and(|unknown| !unknown.heard.is_empty()) {
            self.unknown_mut().heard.clear();
            self.tidy();
        }
    }

    /// Nothing is told in one way only: a record does not tell how it came to be.
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

/// Without custom data.
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
            .field("parts", &self.part_data().len().max(1))
            .field("aux", &self.aux().len())
            .finish()
    }
}
