//! Deserialization of a [`Record`].
// Not derived, because `#[serde(flatten)]` would copy every record before it is read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::Record;
use super::read_metadata::{MetadataDraft, set_parts};
use crate::message::{Contents, Heard, HeardSource, Message, MessageError, MessageId, Position, Role, Value};

/// Entries that a newer version wrote. Hardly any record has some, and an empty list costs nothing to drop.
pub(super) type Unknown = Vec<(String, Value)>;

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut draft = RecordDraft::default();
        Fill(&mut draft).deserialize(deserializer)?;
        draft.into_record().map_err(de::Error::custom)
    }
}

/// A value that is filled entry by entry while its map is read.
pub(super) trait Draft {
    const EXPECTED: &'static str;

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a map into a draft in its place, because drafts are large.
pub(super) struct Fill<'a, T>(pub &'a mut T);

impl<'de, T: Draft> DeserializeSeed<'de> for Fill<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Draft> Visitor<'de> for Fill<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            self.0.entry(&key, &mut map)?;
        }
        Ok(())
    }
}

/// A key, borrowed if possible.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default)]
struct RecordDraft {
    id: Option<MessageId>,
    seq: Option<u32>,
    after: Option<u32>,
    summary: Option<NonZeroU32>,
    revision: Option<NonZeroU32>,
    message: Option<MessageDraft>,
    metadata: Option<MetadataDraft>,
    unknown: Unknown,
}

impl Draft for RecordDraft {
    const EXPECTED: &'static str = "a record";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "id" => self.id = Some(map.next_value()?),
            "seq" => self.seq = Some(map.next_value()?),
            "after" => self.after = Some(map.next_value()?),
            "summary" => self.summary = Some(map.next_value()?),
            "revision" => self.revision = Some(map.next_value()?),
            "message" => map.next_value_seed(Fill(self.message.insert(MessageDraft::default())))?,
            "metadata" => map.next_value_seed(Fill(self.metadata.insert(MetadataDraft::default())))?,
            _ => self.unknown.push((key.to_owned(), map.next_value()?)),
        }
        Ok(())
    }
}

impl RecordDraft {
    fn into_record(self) -> Result<Record, MessageError> {
        let id = self.id.ok_or(MessageError::record("`id` is missing"))?;
        let revision = self.revision.ok_or(MessageError::record("`revision` is missing"))?;
        let said = self.message.ok_or(MessageError::record("`message` is missing"))?;
        let metadata = self.metadata.ok_or(MessageError::record("`metadata` is missing"))?;
        let role = said.role.ok_or(MessageError::record("`message.role` is missing"))?;
        let contents = said.contents.ok_or(MessageError::record("`message.contents` is missing"))?;
        let position = match (role, self.seq, self.after, self.summary) {
            (Role::Summary, None, Some(after), Some(number)) if number.get() <= Position::MAX_SUMMARIES => {
                Position::summary(after, number)
            }
            (Role::Summary, ..) => {
                return Err(MessageError::record("a summary has `after`, and `summary` from 1 to 9,999"));
            }
            (_, Some(seq), None, None) => Position::message(seq),
            _ => return Err(MessageError::record("a message has `seq`, and neither `after` nor `summary`")),
        };
        if position.seq() > Position::MAX_SEQ {
            return Err(MessageError::record("`seq` and `after` have at most 8 digits"));
        }
        let heard = said.heard.as_ref().map(|heard| heard.of(&contents)).transpose()?;
        let (mut known, parts) = metadata.into_known(position, role)?;
        known.set_revision(revision);
        known.set_heard(heard);
        let of_parts = parts.map(|parts| set_parts(&mut known, id, parts)).transpose()?;
        let mut message = Message { id, contents, metadata: known };
        if of_parts.is_some_and(|contents| contents != message.contents.len()) {
            return Err(MessageError::record("the parts have all contents of the message"));
        }
        let of_heard = said.heard.map(|heard| heard.unknown).unwrap_or_default();
        if !(self.unknown.is_empty() && said.unknown.is_empty() && of_heard.is_empty()) {
            let unknown = message.metadata.unknown_mut();
            unknown.record.extend(self.unknown);
            unknown.message.extend(said.unknown);
            unknown.heard = of_heard;
        }
        Ok(Record(message))
    }
}

#[derive(Default)]
struct MessageDraft {
    role: Option<Role>,
    contents: Option<Contents>,
    heard: Option<HeardDraft>,
    unknown: Unknown,
}

impl Draft for MessageDraft {
    const EXPECTED: &'static str = "the message of a record";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "role" => self.role = Some(map.next_value()?),
            "contents" => self.contents = Some(map.next_value()?),
            "heard" => self.heard = Some(map.next_value()?),
            _ => self.unknown.push((key.to_owned(), map.next_value()?)),
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
struct HeardDraft {
    contents: Vec<String>,
    by: HeardSource,
    // The map is small and rare, so the copy of `flatten` is cheap.
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

impl HeardDraft {
    fn of(&self, contents: &Contents) -> Result<Heard, MessageError> {
        let heard = Heard::new(self.contents.iter().map(String::len).sum(), self.by);
        if heard.prefixes(contents).eq(self.contents.iter().map(String::as_str)) {
            Ok(heard)
        } else {
            Err(MessageError::record("`message.heard.contents` is a prefix of the texts in `message.contents`"))
        }
    }
}
