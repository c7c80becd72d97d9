//! Reading the metadata of a [`Record`](super::Record).

use serde::de::{Deserialize, Deserializer, MapAccess};

use super::read::{Draft, Entries, read_map};
use crate::message::{
    Attribute, Decision, ForkedFrom, MessageId, Metadata, RoleHint, Step, Text, Timing, TurnRecord, Value,
};

/// `known` is there once the time of creation is.
#[derive(Default)]
pub(super) struct MetadataDraft {
    pub known: Option<Metadata>,
}

impl<'de> Deserialize<'de> for MetadataDraft {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries: MetadataEntries = read_map(deserializer)?;
        Ok(Self { known: entries.into_metadata() })
    }
}

#[derive(Default)]
struct MetadataEntries {
    attributes: Vec<Text>,
    summary_ids: Vec<MessageId>,
    decision: Decision,
    forked_from: Option<ForkEntries>,
    turn: Option<TurnRecord>,
    timings: TimingEntries,
    aux: Entries,
    unknown: Entries,
}

impl Draft for MetadataEntries {
    const EXPECTED: &'static str = "the metadata of a record";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "attribute" => self.attributes = map.next_value()?,
            "summaryIds" => self.summary_ids = map.next_value()?,
            "step" => self.decision.step = Some(Step::new(map.next_value()?)),
            "policy" => self.decision.policy = Some(map.next_value()?),
            // One that a newer writer knows is kept, as a hint that says nothing here.
            "roleHint" => {
                let name: Text = map.next_value()?;
                self.decision.role_hint = RoleHint::ALL.into_iter().find(|hint| hint.as_str() == name.as_str());
                if self.decision.role_hint.is_none() {
                    self.unknown.insert(key.to_owned(), Value::from(name.as_str()));
                }
            }
            "forkedFrom" => self.forked_from = Some(map.next_value()?),
            "turn" => self.turn = Some(map.next_value()?),
            "timing" => self.timings = map.next_value()?,
            "aux" => self.aux = map.next_value()?,
            _ => drop(self.unknown.insert(key.to_owned(), map.next_value()?)),
        }
        Ok(())
    }
}

impl MetadataEntries {
    fn into_metadata(self) -> Option<Metadata> {
        let mut metadata = Metadata::new(self.timings.creation?);
        for (timing, at_ms) in self.timings.others {
            metadata.set_timing(timing, at_ms);
        }
        for name in self.attributes {
            match Attribute::ALL.into_iter().find(|attribute| attribute.as_str() == name.as_str()) {
                Some(attribute) => drop(metadata.add_attribute(attribute)),
                None => metadata.unknown_mut().attributes.push(name),
            }
        }
        if !self.summary_ids.is_empty() {
            metadata.set_summary_ids(self.summary_ids);
        }
        if !self.decision.is_unknown() {
            metadata.set_decision(Box::new(self.decision));
        }
        if let Some(turn) = self.turn {
            metadata.set_turn(turn);
        }
        if let Some(ForkEntries { conversation, behind, unknown }) = self.forked_from {
            metadata.set_forked_from(ForkedFrom::new(conversation, behind));
            if !unknown.is_empty() {
                metadata.unknown_mut().forked_from = unknown;
            }
        }
        if !self.aux.is_empty() {
            *metadata.aux_mut() = self.aux.into();
        }
        if !self.unknown.is_empty() {
            metadata.unknown_mut().metadata = self.unknown;
        }
        if !self.timings.unknown.is_empty() {
            metadata.unknown_mut().timing = self.timings.unknown;
        }
        Some(metadata)
    }
}

#[derive(serde::Deserialize)]
struct ForkEntries {
    conversation: Text,
    behind: Option<MessageId>,
    // Few messages have it, and it is short: here the copy costs nothing.
    #[serde(flatten)]
    unknown: Entries,
}

#[derive(Default)]
struct TimingEntries {
    creation: Option<i64>,
    others: Vec<(Timing, i64)>,
    unknown: Entries,
}

impl Draft for TimingEntries {
    const EXPECTED: &'static str = "timings in milliseconds since the epoch";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match Timing::ALL.into_iter().find(|timing| timing.as_str() == key) {
            Some(Timing::Creation) => self.creation = Some(map.next_value()?),
            Some(timing) => self.others.push((timing, map.next_value()?)),
            None => drop(self.unknown.insert(key.to_owned(), map.next_value()?)),
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for TimingEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_map(deserializer)
    }
}
