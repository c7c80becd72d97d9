//! Serialization of a [`Record`].

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Record;
use crate::message::times::Times;
use crate::message::unknown::Unknown;
use crate::message::{Attribute, Decision, ForkedFrom, Heard, Message, Metadata, Part, Text, Timing};

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AsRecord(self).serialize(serializer)
    }
}

/// A message in the form of its record.
pub(crate) struct AsRecord<'a>(pub &'a Message);

impl Serialize for AsRecord<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "id", &message.id())?;
        let seq = message.position().seq();
        match message.position().summary_number() {
            None => entry(&mut map, "seq", &seq)?,
            Some(number) => {
                entry(&mut map, "after", &seq)?;
                entry(&mut map, "summary", &number)?;
            }
        }
        entry(&mut map, "revision", &message.revision())?;
        entry(&mut map, "message", &Said(message))?;
        entry(&mut map, "metadata", &Known(message))?;
        unknown_entries(&mut map, message.metadata(), |unknown| &unknown.record)?;
        map.end()
    }
}

/// Writes an entry. `serialize_entry` is not inlined, which shows in benchmarks.
#[inline(always)]
fn entry<M: SerializeMap>(map: &mut M, key: &str, value: &(impl Serialize + ?Sized)) -> Result<(), M::Error> {
    map.serialize_key(key)?;
    map.serialize_value(value)
}

fn unknown_entries<M: SerializeMap>(
    map: &mut M,
    metadata: &Metadata,
    level: impl FnOnce(&Unknown) -> &std::collections::BTreeMap<String, crate::message::Value>,
) -> Result<(), M::Error> {
    let Some(unknown) = metadata.unknown() else { return Ok(()) };
    level(unknown).iter().try_for_each(|(key, value)| entry(map, key, value))
}

/// The `message` of a record.
struct Said<'a>(&'a Message);

impl Serialize for Said<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "role", self.0.role().as_str())?;
        entry(&mut map, "contents", self.0.contents())?;
        if let Some(heard) = self.0.heard() {
            entry(&mut map, "heard", &HeardOf(heard, self.0))?;
        }
        unknown_entries(&mut map, self.0.metadata(), |unknown| &unknown.message)?;
        map.end()
    }
}

struct HeardOf<'a>(Heard, &'a Message);

impl Serialize for HeardOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "contents", &self.0.prefixes(self.1.contents()).collect::<Vec<_>>())?;
        entry(&mut map, "by", &self.0.source())?;
        unknown_entries(&mut map, self.1.metadata(), |unknown| &unknown.heard)?;
        map.end()
    }
}

/// The `metadata` of a record.
struct Known<'a>(&'a Message);

impl Serialize for Known<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metadata = self.0.metadata();
        let mut map = serializer.serialize_map(None)?;
        // Fast path for the usual message.
        if metadata.has_only_creation() {
            entry(&mut map, "timing", &Timings(metadata))?;
            return map.end();
        }
        let unknown = metadata.unknown().map(|unknown| &unknown.attributes).filter(|names| !names.is_empty());
        if !metadata.is_unmarked() || unknown.is_some() {
            let mut names: Vec<&str> = metadata.attributes().map(Attribute::as_str).collect();
            names.extend(unknown.into_iter().flatten().map(Text::as_str));
            entry(&mut map, "attribute", &names)?;
        }
        metadata.covers_from().iter().try_for_each(|seq| entry(&mut map, "coversFrom", seq))?;
        metadata.previous_summary().iter().try_for_each(|id| entry(&mut map, "previousSummary", id))?;
        if let Some(decision) = metadata.decision() {
            let Decision { step, decided_by, role_hint } = decision;
            step.iter().try_for_each(|step| entry(&mut map, "step", step))?;
            decided_by.iter().try_for_each(|name| entry(&mut map, "policy", name))?;
            role_hint.iter().try_for_each(|hint| entry(&mut map, "roleHint", hint.as_str()))?;
        }
        if let Some(forked_from) = metadata.forked_from() {
            entry(&mut map, "forkedFrom", &Fork(forked_from, metadata))?;
        }
        if metadata.has_parts() {
            entry(&mut map, "parts", &self.0.parts().enumerate().map(OfPart).collect::<Vec<_>>())?;
        }
        metadata.turn().iter().try_for_each(|turn| entry(&mut map, "turn", turn))?;
        metadata.request().iter().try_for_each(|request| entry(&mut map, "request", request))?;
        entry(&mut map, "timing", &Timings(metadata))?;
        if !metadata.redacted().is_empty() {
            entry(&mut map, "redacted", metadata.redacted())?;
        }
        if !metadata.aux().is_empty() {
            entry(&mut map, "aux", metadata.aux())?;
        }
        unknown_entries(&mut map, metadata, |unknown| &unknown.metadata)?;
        map.end()
    }
}

/// A part and its index. The first has the id and the creation of the message.
struct OfPart<'a>((usize, Part<'a>));

impl Serialize for OfPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self((index, part)) = self;
        let mut map = serializer.serialize_map(None)?;
        if *index > 0 {
            entry(&mut map, "id", &part.id())?;
        }
        entry(&mut map, "contents", &part.range().len())?;
        if *index > 0 {
            entry(&mut map, Timing::Creation.as_str(), &part.created_ms())?;
        }
        timings(&mut map, part.own_times())?;
        part.confidence().iter().try_for_each(|confidence| entry(&mut map, "confidence", confidence))?;
        for (key, value) in part.unknown().into_iter().flatten() {
            entry(&mut map, key, value)?;
        }
        map.end()
    }
}

struct Fork<'a>(&'a ForkedFrom, &'a Metadata);

impl Serialize for Fork<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "conversation", &self.0.conversation)?;
        self.0.after.iter().try_for_each(|after| entry(&mut map, "after", after))?;
        unknown_entries(&mut map, self.1, |unknown| &unknown.forked_from)?;
        map.end()
    }
}

struct Timings<'a>(&'a Metadata);

impl Serialize for Timings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, Timing::Creation.as_str(), &self.0.created_ms())?;
        timings(&mut map, self.0.times())?;
        unknown_entries(&mut map, self.0, |unknown| &unknown.timing)?;
        map.end()
    }
}

/// Writes times in milliseconds after the creation.
fn timings<M: SerializeMap>(map: &mut M, times: Option<&Times>) -> Result<(), M::Error> {
    let Some(times) = times else { return Ok(()) };
    times.iter().try_for_each(|(timing, after_ms)| entry(map, timing.as_str(), &after_ms))
}
