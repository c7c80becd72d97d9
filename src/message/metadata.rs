//! [`Metadata`]: the data of a message besides its contents.

mod covered;
mod earlier;
mod heard;
mod parts;
mod position;
mod redacted;
mod size;

use std::fmt;
use std::sync::Arc;

use covered::Covered;
use parts::Parts;

use crate::message::decision::{Decision, ForkedFrom};
use crate::message::marks::{Attribute, Timing};
use crate::message::times::Times;
use crate::message::turn::{RequestRecord, TurnRecord};
use crate::message::unknown::Unknown;
use crate::message::value::Map;
use crate::message::{Empty, Heard, Position, Rarely, Role, Text};

/// The data of a message besides its contents: marks, times, decision, fork, turn record and custom data.
///
/// Equal metadata is of messages with the same position, role, revision and heard prefix too.
#[derive(Clone, PartialEq, Eq)]
pub struct Metadata {
    creation_ms: i64,
    // `None` for most messages. Copies of a message share it.
    more: Option<Arc<More>>,
    // The position, role and flags fill one word here, and more in `Message`.
    seq: u32,
    // 0 if the message is no summary.
    summary: u16,
    pub(super) role: Role,
    pub(super) flags: u8,
}

#[derive(Clone, Default, PartialEq, Eq)]
struct More {
    times: Rarely<Times>,
    heard: Option<Heard>,
    merges: u32,
    /// The number of revisions after the first.
    edits: u32,
    turn: Option<Box<TurnRecord>>,
    parts: Rarely<Parts>,
    covered: Rarely<Covered>,
    rare: Rarely<Rare>,
}

/// The data that few messages have.
#[derive(Clone, Default, PartialEq, Eq)]
struct Rare {
    decision: Option<Box<Decision>>,
    forked_from: Option<Box<ForkedFrom>>,
    request: Option<Box<RequestRecord>>,
    /// Sorted, each once.
    redacted: Vec<Text>,
    aux: Map,
    unknown: Option<Box<Unknown>>,
}

impl Empty for Rare {
    const EMPTY: &'static Self = &Self {
        decision: None,
        forked_from: None,
        request: None,
        redacted: Vec::new(),
        aux: Map::empty(),
        unknown: None,
    };
}

impl Metadata {
    #[inline]
    pub(crate) fn new(position: Position, role: Role, creation_ms: i64) -> Self {
        Self { creation_ms, more: None, role, flags: 0, seq: 0, summary: 0 }.at(position)
    }

    /// Returns the marks on the message. [`Attribute::Merged`] occurs once for each merge.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute> + '_ {
        Attribute::ALL.iter().flat_map(|&attribute| {
            let times = match attribute {
                Attribute::Merged => self.merges(),
                _ => u32::from(self.has(attribute)),
            };
            std::iter::repeat_n(attribute, times as usize)
        })
    }

    /// Returns whether the message has a mark.
    #[inline]
    pub fn has(&self, attribute: Attribute) -> bool {
        match attribute {
            Attribute::Merged => self.merges() > 0,
            _ => self.flags & attribute.bit() != 0,
        }
    }

    /// Returns whether nothing is known but the creation.
    #[inline]
    pub(super) fn has_only_creation(&self) -> bool {
        self.flags == 0 && self.more.is_none()
    }

    /// Returns whether the message has no mark.
    pub(crate) fn is_unmarked(&self) -> bool {
        self.flags == 0 && self.merges() == 0
    }

    fn merges(&self) -> u32 {
        self.more.as_ref().map_or(0, |more| more.merges)
    }

    /// Returns a time of the message in milliseconds since the Unix epoch, if known.
    pub fn timing(&self, timing: Timing) -> Option<i64> {
        match timing {
            Timing::Creation => Some(self.creation_ms),
            _ => Some(self.creation_ms.wrapping_add(self.times()?.get(timing)?)),
        }
    }

    /// Returns all known times in milliseconds since the Unix epoch, [`Timing::Creation`] first.
    pub fn timings(&self) -> impl Iterator<Item = (Timing, i64)> + '_ {
        let others = self.times().into_iter().flat_map(|times| times.since(self.creation_ms));
        std::iter::once((Timing::Creation, self.creation_ms)).chain(others)
    }

    /// All known times but [`Timing::Creation`].
    #[inline]
    pub(super) fn times(&self) -> Option<&Times> {
        self.more.as_deref().map(|more| &*more.times)
    }

    #[inline]
    pub(crate) fn created_ms(&self) -> i64 {
        self.creation_ms
    }

    /// Returns the decision that made the message, if known.
    pub fn decision(&self) -> Option<&Decision> {
        self.rare().decision.as_deref()
    }

    /// Returns the source of the fork if this message marks the point at which the conversation was forked.
    pub fn forked_from(&self) -> Option<&ForkedFrom> {
        self.rare().forked_from.as_deref()
    }

    /// Returns the record of the turn that is logged with this message, if any.
    pub fn turn(&self) -> Option<&TurnRecord> {
        self.more.as_ref()?.turn.as_deref()
    }

    /// In a summary: the request to the model that wrote it, with its tokens.
    pub(crate) fn request(&self) -> Option<&RequestRecord> {
        self.rare().request.as_deref()
    }

    /// Returns the custom data, which [`Entry::set_data`](crate::Entry::set_data) sets.
    pub fn aux(&self) -> &Map {
        &self.rare().aux
    }

    #[inline]
    pub(crate) fn unknown(&self) -> Option<&Unknown> {
        self.more.as_ref()?.rare.unknown.as_deref()
    }

    /// Adds a mark and returns whether it changed the metadata.
    pub(crate) fn add_attribute(&mut self, attribute: Attribute) -> bool {
        let new = attribute == Attribute::Merged || !self.has(attribute);
        match attribute {
            Attribute::Merged => self.more().merges += 1,
            _ => self.flags |= attribute.bit(),
        }
        new
    }

    /// Sets a time and returns the previous one.
    pub(crate) fn set_timing(&mut self, timing: Timing, at_ms: i64) -> Option<i64> {
        let creation_ms = self.creation_ms;
        if timing != Timing::Creation {
            let before = self.more().times.set(timing, at_ms.wrapping_sub(creation_ms))?;
            return Some(creation_ms.wrapping_add(before));
        }
        if let Some(more) = self.more.as_mut().map(Arc::make_mut) {
            let by_ms = at_ms.wrapping_sub(creation_ms);
            more.times = more.times.moved(by_ms).into();
            if more.parts.first.times != Times::NONE {
                more.parts.first.move_times(by_ms);
            }
        }
        Some(std::mem::replace(&mut self.creation_ms, at_ms))
    }

    /// Sets a decision that is not empty.
    pub(crate) fn set_decision(&mut self, decision: Box<Decision>) {
        self.rare_mut().decision = Some(decision);
    }

    /// Sets the fork and removes unknown data about an earlier fork.
    pub(crate) fn set_forked_from(&mut self, forked_from: ForkedFrom) {
        self.rare_mut().forked_from = Some(Box::new(forked_from));
        if self.unknown().is_some_and(|unknown| !unknown.forked_from.is_empty()) {
            self.unknown_mut().forked_from.clear();
            self.tidy();
        }
    }

    pub(crate) fn set_turn(&mut self, turn: impl Into<Box<TurnRecord>>) {
        self.more().turn = Some(turn.into());
    }

    pub(crate) fn set_request(&mut self, request: impl Into<Box<RequestRecord>>) {
        self.rare_mut().request = Some(request.into());
    }

    pub(crate) fn aux_mut(&mut self) -> &mut Map {
        &mut self.rare_mut().aux
    }

    /// Replaces the custom data.
    pub(crate) fn set_aux(&mut self, aux: Map) {
        *self.aux_mut() = aux;
        self.tidy();
    }

    pub(crate) fn unknown_mut(&mut self) -> &mut Unknown {
        self.rare_mut().unknown.get_or_insert_default()
    }

    /// Removes empty parts, so that equal metadata has one representation however it was made.
    fn tidy(&mut self) {
        let Some(more) = self.more.as_mut().map(Arc::make_mut) else { return };
        let mut rare = std::mem::take(&mut *more.rare);
        rare.unknown.take_if(|unknown| **unknown == Unknown::default());
        more.rare = rare.into();
        if *more == More::default() {
            self.more = None;
        }
    }

    fn rare(&self) -> &Rare {
        self.more.as_deref().map_or(Rare::EMPTY, |more| &more.rare)
    }

    fn rare_mut(&mut self) -> &mut Rare {
        &mut self.more().rare
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
            .field("heard", &self.heard())
            .field("timings", &self.timings().collect::<Vec<_>>())
            .field("covers_from", &self.covers_from())
            .field("previous_summary", &self.previous_summary())
            .field("decision", &self.decision())
            .field("forked_from", &self.forked_from())
            .field("turn", &self.turn())
            .field("request", &self.request())
            .field("parts", &(1 + self.later_parts().len()))
            .field("redacted", &self.redacted().len())
            .field("aux", &self.aux().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_was_removed_leaves_no_trace() {
        let mut metadata = Metadata::new(Position::message(0), Role::User, 5);
        metadata.set_timing(Timing::LlmStart, 6);
        let without = metadata.clone();
        metadata.aux_mut().insert("attempts".to_owned(), 2.into());
        assert!(metadata != without);
        metadata.set_aux(Map::default());
        assert!(metadata == without);
    }
}
