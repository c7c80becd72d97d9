//! Serialization of a [`Record`].

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Record;
use crate::message::times::Times;
use crate::message::unknown::Unknown;
use crate::message::{Attribute, Decision, ForkedFrom, Heard, Message, Metadata, Part, Text, Timing};

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &message.id())?;
        let seq = message.position().seq();
        match message.position().summary_number() {
            None => map.serialize_entry("seq", &seq)?,
            Some(number) => {
                map.serialize_entry("after", &seq)?;
                map.serialize_entry("summary", &number)?;
            }
        }
        map.serialize_entry("revision", &message.revision())?;
        map.serialize_entry("message", &Said(message))?;
        map.serialize_entry("metadata", &Known(message))?;
        unknown_entries(&mut map, message.metadata(), |unknown| &unknown.record)?;
        map.end()
    }
}

fn unknown_entries<M: SerializeMap>(
    map: &mut M,
    metadata: &Metadata,
    level: impl FnOnce(&Unknown) -> &std::collections::BTreeMap<String, crate::message::Value>,
) -> Result<(), M::Error> {
    let Some(unknown) = metadata.unknown() else { return Ok(()) };
    level(unknown).iter().try_for_each(|(key, value)| map.serialize_entry(key, value))
}

/// The `message` of a record.
struct Said<'a>(&'a Message);

impl Serialize for Said<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &self.0.role())?;
        map.serialize_entry("contents", self.0.contents())?;
        if let Some(heard) = self.0.heard() {
            map.serialize_entry("heard", &HeardOf(heard, self.0))?;
        }
        unknown_entries(&mut map, self.0.metadata(), |unknown| &unknown.message)?;
        map.end()
    }
}

struct HeardOf<'a>(Heard, &'a Message);

impl Serialize for HeardOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("contents", &self.0.prefixes(self.1.contents()).collect::<Vec<_>>())?;
        map.serialize_entry("by", &self.0.source())?;
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
            map.serialize_entry("timing", &Timings(metadata))?;
            return map.end();
        }
        let unknown = metadata.unknown().map(|unknown| &unknown.attributes).filter(|names| !names.is_empty());
        if !metadata.is_unmarked() || unknown.is_some() {
            let mut names: Vec<&str> = metadata.attributes().map(Attribute::as_str).collect();
            names.extend(unknown.into_iter().flatten().map(Text::as_str));
            map.serialize_entry("attribute", &names)?;
        }
        metadata.covers_from().iter().try_for_each(|seq| map.serialize_entry("coversFrom", seq))?;
        metadata.previous_summary().iter().try_for_each(|id| map.serialize_entry("previousSummary", id))?;
        if let Some(decision) = metadata.decision() {
            let Decision { step, decided_by, role_hint } = decision;
            step.iter().try_for_each(|step| map.serialize_entry("step", step))?;
            decided_by.iter().try_for_each(|name| map.serialize_entry("policy", name))?;
            role_hint.iter().try_for_each(|hint| map.serialize_entry("roleHint", hint.as_str()))?;
        }
        if let Some(forked_from) = metadata.forked_from() {
            map.serialize_entry("forkedFrom", &Fork(forked_from, metadata))?;
        }
        if metadata.has_parts() {
            map.serialize_entry("parts", &self.0.parts().enumerate().map(OfPart).collect::<Vec<_>>())?;
        }
        metadata.turn().iter().try_for_each(|turn| map.serialize_entry("turn", turn))?;
        metadata.request().iter().try_for_each(|request| map.serialize_entry("request", request))?;
        map.serialize_entry("timing", &Timings(metadata))?;
        if !metadata.redacted().is_empty() {
            map.serialize_entry("redacted", metadata.redacted())?;
        }
        if !metadata.aux().is_empty() {
            map.serialize_entry("aux", metadata.aux())?;
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
            map.serialize_entry("id", &part.id())?;
        }
        map.serialize_entry("contents", &part.range().len())?;
        if *index > 0 {
            map.serialize_entry(Timing::Creation.as_str(), &part.created_ms())?;
        }
        timings(&mut map, part.own_times())?;
        part.confidence().iter().try_for_each(|confidence| map.serialize_entry("confidence", confidence))?;
        for (key, value) in part.unknown().into_iter().flatten() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

struct Fork<'a>(&'a ForkedFrom, &'a Metadata);

impl Serialize for Fork<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("conversation", &self.0.conversation)?;
        self.0.after.iter().try_for_each(|after| map.serialize_entry("after", after))?;
        unknown_entries(&mut map, self.1, |unknown| &unknown.forked_from)?;
        map.end()
    }
}

struct Timings<'a>(&'a Metadata);

impl Serialize for Timings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(Timing::Creation.as_str(), &self.0.created_ms())?;
        timings(&mut map, self.0.times())?;
        unknown_entries(&mut map, self.0, |unknown| &unknown.timing)?;
        map.end()
    }
}

/// Writes times in milliseconds after the creation.
fn timings<M: SerializeMap>(map: &mut M, times: Option<&Times>) -> Result<(), M::Error> {
    let mut times = times.into_iter().flat_map(Times::iter);
    times.try_for_each(|(timing, after_ms)| map.serialize_entry(timing.as_str(), &after_ms))
}
