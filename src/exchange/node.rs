//! [`Node`]: one JSON value in an imported text, with its path. It deserializes itself as a type of `serde`.
//!
//! If the shape of a value depends on a `type` or `role` within, a format reads it in two steps. A `RawValue` keeps the
//! inner values unread, so that numbers stay exact and each inner value becomes a node of its own.

use std::fmt;

use serde::de::{self, Deserialize, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_path_to_error::{Deserializer, Path, Segment, Track};

use super::error::{ExchangeError, Problem};
use super::reason::{JsonKind, problem};
use crate::message::Text;

/// One JSON value in an imported text.
#[derive(Clone, Copy)]
pub(super) struct Node<'a, 'p> {
    text: &'a str,
    /// The part of the text that is the value.
    json: &'a str,
    parent: Option<(&'p Node<'a, 'p>, Step)>,
}

#[derive(Clone, Copy)]
enum Step {
    Key(&'static str),
    Index(usize),
}

impl<'a> Node<'a, '_> {
    /// Returns a node for `part`, a JSON value within `text`.
    ///
    /// Returns an error if the part is not JSON.
    pub fn parse(text: &'a str, part: &'a str) -> Result<Self, ExchangeError> {
        let part = Node { text, json: part.trim_ascii_end(), parent: None };
        let value = part.read::<&RawValue>()?;
        Ok(Self { json: value.get(), ..part })
    }

    /// Returns the value under `key` of this object.
    pub fn under<'q>(&'q self, key: &'static str, value: &'a RawValue) -> Node<'a, 'q> {
        Node { text: self.text, json: value.get(), parent: Some((self, Step::Key(key))) }
    }

    /// Returns the items of this list.
    pub fn items<'q>(&'q self) -> Result<impl ExactSizeIterator<Item = Node<'a, 'q>>, ExchangeError> {
        let items: Vec<&'a RawValue> = self.of_kind(JsonKind::List)?.read()?;
        let item = |(index, item): (usize, &'a RawValue)| Node {
            text: self.text,
            json: item.get(),
            parent: Some((self, Step::Index(index))),
        };
        Ok(items.into_iter().enumerate().map(item))
    }

    /// Reads the items of this list.
    pub fn each<T>(&self, read: impl FnMut(Node<'a, '_>) -> Result<T, ExchangeError>) -> Result<Vec<T>, ExchangeError> {
        self.items()?.map(read).collect()
    }

    /// Reads this object. The type decides whether unknown keys are refused or skipped.
    pub fn object<T: Deserialize<'a>>(&self) -> Result<T, ExchangeError> {
        // `serde` would read a list as the fields of a struct.
        self.of_kind(JsonKind::Object)?.read()
    }

    /// Reads this object, whose keys are `known`, separated by spaces. Other keys may only hold `null` or an empty
    /// list, which clients of a provider write for absent values.
    pub fn object_of<T: Deserialize<'a>>(&self, known: &'static str) -> Result<T, ExchangeError> {
        self.entries(known)?;
        self.read()
    }

    /// Returns the only entry of this object. Its key is one of `known`.
    pub fn one_of<'q>(&'q self, known: &'static str) -> Result<(&'static str, Node<'a, 'q>), ExchangeError> {
        let mut entries = self.entries(known)?.into_iter();
        let (key, value) = self.need(known.split(' ').next().unwrap_or_default(), entries.next())?;
        match entries.next() {
            Some(_) => Err(self.invalid("expected one entry, found several")),
            None => Ok((key, self.under(key, value))),
        }
    }

    /// Returns the value under the last of the `known` keys of this object.
    pub fn last_of<'q>(&'q self, known: &'static str) -> Result<Node<'a, 'q>, ExchangeError> {
        let key = known.split(' ').next_back().unwrap_or_default();
        let value = self.entries(known)?.into_iter().find(|(found, _)| *found == key);
        Ok(self.under(key, self.need(key, value)?.1))
    }

    /// Returns the entries of this object under `known` keys.
    fn entries(&self, known: &'static str) -> Result<Vec<(&'static str, &'a RawValue)>, ExchangeError> {
        // Read without a path, because an unknown key may be private.
        let Pairs(pairs) = serde_json::from_str(self.of_kind(JsonKind::Object)?.json)
            .map_err(|error| self.error_at(0, &self.path(), problem(&error, "")))?;
        let is_empty = |json: &str| json == "null" || json.strip_prefix('[').is_some_and(|rest| rest.trim() == "]");
        let mut entries: Vec<(&'static str, &'a RawValue)> = Vec::new();
        for (key, value) in pairs {
            match known.split(' ').find(|name| *name == key) {
                Some(name) if entries.iter().any(|(before, _)| *before == name) => {
                    return Err(self.error(Problem::repeated_key()));
                }
                Some(name) => entries.push((name, value)),
                None if is_empty(value.get()) => {}
                None => return Err(self.error(Problem::unknown_key(&known.replace(' ', ", ")))),
            }
        }
        Ok(entries)
    }

    /// Returns `value`, or an error that `key` is missing.
    pub fn need<T>(&self, key: &str, value: Option<T>) -> Result<T, ExchangeError> {
        value.ok_or_else(|| self.error(Problem::missing_key(key)))
    }

    /// Reads this string.
    pub fn text(&self) -> Result<Text, ExchangeError> {
        self.read()
    }

    /// Reads this value.
    pub fn read<T: Deserialize<'a>>(&self) -> Result<T, ExchangeError> {
        let mut json = serde_json::Deserializer::from_str(self.json);
        let mut track = Track::new();
        let read =
            T::deserialize(Deserializer::new(&mut json, &mut track)).and_then(|value| json.end().map(|()| value));
        read.map_err(|error| self.serde_error(&error, &track.path()))
    }

    pub fn kind(&self) -> JsonKind {
        JsonKind::of(self.json)
    }

    /// Returns the value as it is written.
    pub fn json(&self) -> &'a str {
        self.json
    }

    fn of_kind(&self, kind: JsonKind) -> Result<&Self, ExchangeError> {
        if self.kind() == kind { Ok(self) } else { Err(self.wrong_kind(kind.name())) }
    }

    /// Returns an error that names the expected kind of value.
    pub fn wrong_kind(&self, expected: &str) -> ExchangeError {
        self.error(Problem::wrong_kind(expected, self.kind().name()))
    }

    /// Returns an error about this value.
    pub fn error(&self, problem: impl Into<Problem>) -> ExchangeError {
        self.error_at(0, &self.path(), problem.into())
    }

    /// Returns an error that this value breaks a rule of its format.
    pub fn invalid(&self, reason: &str) -> ExchangeError {
        self.error(Problem::malformed(reason))
    }

    fn serde_error(&self, error: &serde_json::Error, inner: &Path) -> ExchangeError {
        let lines = self.json.split_inclusive('\n').take(error.line().saturating_sub(1));
        let offset = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        // Only the first reading, without a type, can find that the text is not JSON.
        let is_json = self.parent.is_some() || inner.iter().len() > 0;
        let problem = problem(error, self.json.get(offset..).filter(|_| is_json).unwrap_or_default());
        // An unknown key is the last step of the path.
        let hidden = usize::from(problem.is_unknown_key);
        let shown = inner.iter().len().saturating_sub(hidden);
        let path = inner.iter().take(shown).fold(self.path(), |path, step| match step {
            Segment::Seq { index } => format!("{path}[{index}]"),
            Segment::Map { key } => format!("{path}.{key}"),
            // The unknown name of a variant.
            Segment::Enum { .. } | Segment::Unknown => path,
        });
        self.error_at(offset, &path, problem)
    }

    fn path(&self) -> String {
        match self.parent {
            None => "$".to_owned(),
            Some((parent, Step::Key(key))) => format!("{}.{key}", parent.path()),
            Some((parent, Step::Index(index))) => format!("{}[{index}]", parent.path()),
        }
    }

    fn error_at(&self, offset: usize, path: &str, problem: Problem) -> ExchangeError {
        let start = self.json.as_ptr().addr() - self.text.as_ptr().addr();
        ExchangeError::new(path, position(self.text, start + offset), problem)
    }
}

/// The entries of an object as they are written. A map would drop one of two equal keys.
pub(super) struct Pairs<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Pairs<'de>, A::Error> {
                std::iter::from_fn(|| entries.next_entry().transpose()).collect::<Result<_, _>>().map(Pairs)
            }
        }
        deserializer.deserialize_map(PairsVisitor)
    }
}

/// Returns the line, and the character within the line, at an offset in bytes. Both start at 1.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(offset)).unwrap_or_default();
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1)
}
