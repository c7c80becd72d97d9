//! Deserialization of the metadata of a [`Record`](super::Record).

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess};

use super::read::{Draft, Fill, Unknown};
use crate::message::{
    Attribute, Confidence, Decision, ForkedFrom, Map, Measured, MessageError, MessageId, Metadata, PartData, Position,
    Rarely, RequestRecord, Role, RoleHint, Text, Timing, TurnRecord, Value,
};

/// The metadata of a record, without checks against its contents.
#[derive(Default)]
pub(super) struct MetadataDraft {
    attributes: Vec<Text>,
    covers_from: Option<u32>,
    previous_summary: Option<MessageId>,
    decision: Decision,
    forked_from: Option<ForkEntries>,
    turn: Option<Box<TurnRecord>>,
    request: Option<Box<RequestRecord>>,
    parts: Option<Vec<PartEntries>>,
    timings: TimingEntries,
    redacted: Vec<Text>,
    aux: Option<BTreeMap<String, Value>>,
    unknown: Unknown,
}

impl Draft for MetadataDraft {
    const EXPECTED: &'static str = "the metadata of a record";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "attribute" => self.attributes = map.next_value()?,
            "coversFrom" => self.covers_from = Some(map.next_value()?),
            "previousSummary" => self.previous_summary = Some(map.next_value()?),
            "step" => self.decision.step = Some(map.next_value()?),
            "policy" => self.decision.decided_by = Some(map.next_value()?),
            // A hint of a newer version is kept, but has no meaning here.
            "roleHint" => {
                let name: Text = map.next_value()?;
                self.decision.role_hint = RoleHint::named(&name);
                if self.decision.role_hint.is_none() {
                    self.unknown.push((key.to_owned(), Value::from(name.as_str())));
                }
            }
            "forkedFrom" => self.forked_from = Some(map.next_value()?),
            "turn" => self.turn = Some(map.next_value()?),
            "request" => self.request = Some(map.next_value()?),
            "parts" => self.parts = Some(map.next_value()?),
            "timing" => {
                self.timings = TimingEntries::default();
                map.next_value_seed(Fill(&mut self.timings))?;
            }
            "redacted" => self.redacted = map.next_value()?,
            "aux" => self.aux = Some(map.next_value()?),
            _ => self.unknown.push((key.to_owned(), map.next_value()?)),
        }
        Ok(())
    }
}

impl MetadataDraft {
    /// Returns the metadata of a message, and its parts.
    pub fn into_known(
        self,
        position: Position,
        role: Role,
    ) -> Result<(Metadata, Option<Vec<PartEntries>>), MessageError> {
        let creation_ms = self.timings.creation.ok_or(MessageError::record("`metadata.timing.creation` is missing"))?;
        let mut metadata = Metadata::new(position, role, creation_ms);
        for (timing, after_ms) in self.timings.others {
            metadata.set_timing(timing, creation_ms.wrapping_add(after_ms));
        }
        for name in self.attributes {
            match Attribute::named(&name) {
                Some(attribute) => drop(metadata.add_attribute(attribute)),
                None => metadata.unknown_mut().attributes.push(name),
            }
        }
        self.covers_from.into_iter().for_each(|seq| metadata.set_covers_from(seq));
        self.previous_summary.into_iter().for_each(|id| metadata.set_previous_summary(id));
        if self.decision != Decision::default() {
            metadata.set_decision(Box::new(self.decision));
        }
        self.turn.into_iter().for_each(|turn| metadata.set_turn(turn));
        self.request.into_iter().for_each(|request| metadata.set_request(request));
        if let Some(ForkEntries { conversation, after, unknown }) = self.forked_from {
            metadata.set_forked_from(ForkedFrom { conversation, after });
            if !unknown.is_empty() {
                metadata.unknown_mut().forked_from = unknown;
            }
        }
        metadata.add_redacted(self.redacted);
        if let Some(aux) = self.aux.filter(|aux| !aux.is_empty()) {
            *metadata.aux_mut() = Map::data(aux);
        }
        if !self.unknown.is_empty() {
            metadata.unknown_mut().metadata.extend(self.unknown);
        }
        if !self.timings.unknown.is_empty() {
            metadata.unknown_mut().timing.extend(self.timings.unknown);
        }
        Ok((metadata, self.parts))
    }
}

/// Sets the parts of message `id` and returns the number of their contents.
pub(super) fn set_parts(
    metadata: &mut Metadata,
    id: MessageId,
    parts: Vec<PartEntries>,
) -> Result<usize, MessageError> {
    let mut first = Rarely::default();
    let mut later = Vec::with_capacity(parts.len().saturating_sub(1));
    let mut start = 0_u32;
    for (index, part) in parts.into_iter().enumerate() {
        let of_message = (index == 0).then_some((id, metadata.created_ms()));
        let of_part = part.id.zip(part.times.creation).or(of_message);
        let (Some((id, created_ms)), Some(contents)) = (of_part, part.contents) else {
            return Err(MessageError::record("a part has `contents`, and all but the first `id` and `creation`"));
        };
        if of_message.is_some_and(|of_message| of_message != (id, created_ms)) {
            return Err(MessageError::record("the first part has the id and `creation` of the message"));
        }
        let measured = Measured { times: part.times.others.into_iter().collect(), confidence: part.confidence };
        if index == 0 {
            first = measured.into();
        } else {
            later.push(PartData { measured: measured.into(), ..PartData::new(id, created_ms, start) });
        }
        start = start
            .checked_add(contents.get())
            .ok_or(MessageError::record("the parts have more contents than a message can"))?;
        if !part.times.unknown.is_empty() {
            let unknown = &mut metadata.unknown_mut().parts;
            unknown.resize_with(index, BTreeMap::new);
            unknown.push(part.times.unknown.into_iter().collect());
        }
    }
    metadata.set_parts(first, later);
    Ok(start as usize)
}

#[derive(Default)]
pub(super) struct PartEntries {
    id: Option<MessageId>,
    contents: Option<NonZeroU32>,
    confidence: Option<Confidence>,
    times: TimingEntries,
}

impl Draft for PartEntries {
    const EXPECTED: &'static str = "a part of a message";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "id" => self.id = Some(map.next_value()?),
            "contents" => self.contents = Some(map.next_value()?),
            "confidence" => self.confidence = Some(map.next_value()?),
            _ => self.times.entry(key, map)?,
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for PartEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut entries = Self::default();
        Fill(&mut entries).deserialize(deserializer).map(|()| entries)
    }
}

#[derive(serde::Deserialize)]
struct ForkEntries {
    conversation: Text,
    after: Option<MessageId>,
    // The map is small and rare, so the copy of `flatten` is cheap.
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Default)]
struct TimingEntries {
    creation: Option<i64>,
    /// In milliseconds after the creation.
    others: Vec<(Timing, i64)>,
    unknown: Unknown,
}

impl Draft for TimingEntries {
    const EXPECTED: &'static str = "timings in milliseconds";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match Timing::named(key) {
            Some(Timing::Creation) => self.creation = Some(map.next_value()?),
            Some(timing) => self.others.push((timing, map.next_value()?)),
            None => self.unknown.push((key.to_owned(), map.next_value()?)),
        }
        Ok(())
    }
}
