//! [`Node`]: a place in the JSON of a request, and [`Unreadable`], an error at a place.

use std::collections::HashMap;
use std::fmt;

use aws_sdk_bedrockruntime::primitives::Blob;
use aws_smithy_types::{Document, Number};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

/// An error of parsing a request: the place and the expected value, never the found value.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Unreadable {
    path: String,
    expected: &'static str,
}

impl Unreadable {
    pub(super) fn new(expected: &'static str) -> Self {
        Self { path: String::new(), expected }
    }

    pub(super) fn at(member: &str, expected: &'static str) -> Self {
        Self::new(expected).within(member)
    }

    fn within(self, segment: &str) -> Self {
        let path = if self.path.is_empty() { segment.to_owned() } else { format!("{segment}.{}", self.path) };
        Self { path, ..self }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the body" } else { &self.path };
        write!(f, "FakeBedrock cannot read the request: {place} is not {}.", self.expected)
    }
}

/// A place in the JSON of a request. A member that is `null` counts as missing.
#[derive(Clone, Copy)]
pub(super) struct Node<'a>(&'a Json);

impl<'a> Node<'a> {
    pub(super) fn root(json: &'a Json) -> Self {
        Self(json)
    }

    /// Reads a member, if it is not missing.
    pub(super) fn get<T>(
        self,
        member: &str,
        read: impl FnOnce(Node<'a>) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, Unreadable> {
        let json = self.0.get(member).filter(|json| !json.is_null());
        json.map(|json| read(Node(json)).map_err(|error| error.within(member))).transpose()
    }

    /// Reads a required member.
    pub(super) fn require<T>(
        self,
        member: &str,
        read: impl FnOnce(Node<'a>) -> Result<T, Unreadable>,
    ) -> Result<T, Unreadable> {
        self.get(member, read)?.ok_or_else(|| Unreadable::at(member, "there"))
    }

    /// Reads each item of a member, if it is not missing.
    pub(super) fn list<T>(
        self,
        member: &str,
        read: impl FnMut(Node<'a>) -> Result<T, Unreadable>,
    ) -> Result<Option<Vec<T>>, Unreadable> {
        self.get(member, |node| node.items(read))
    }

    /// Reads each item of this list.
    pub(super) fn items<T>(
        self,
        mut read: impl FnMut(Node<'a>) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, Unreadable> {
        let items = self.0.as_array().ok_or_else(|| Unreadable::new("a list"))?;
        let read = |(index, item)| read(Node(item)).map_err(|error| error.within(&usize::to_string(&index)));
        items.iter().enumerate().map(read).collect()
    }

    /// Reads the only member of a union.
    pub(super) fn one_of<T>(
        self,
        read: impl FnOnce(&'a str, Node<'a>) -> Result<T, Unreadable>,
    ) -> Result<T, Unreadable> {
        let mut members = self.0.as_object().into_iter().flatten().filter(|(_, inner)| !inner.is_null());
        match (members.next(), members.next()) {
            (Some((kind, inner)), None) => read(kind, Node(inner)).map_err(|error| error.within(kind)),
            _ => Err(Unreadable::new("a map with one member")),
        }
    }

    pub(super) fn text(self, member: &str) -> Result<&'a str, Unreadable> {
        self.require(member, Node::as_text)
    }

    pub(super) fn optional_text(self, member: &str) -> Result<Option<String>, Unreadable> {
        self.get(member, |node| Ok(node.as_text()?.to_owned()))
    }

    pub(super) fn as_text(self) -> Result<&'a str, Unreadable> {
        self.0.as_str().ok_or_else(|| Unreadable::new("a text"))
    }

    pub(super) fn as_bool(self) -> Result<bool, Unreadable> {
        self.0.as_bool().ok_or_else(|| Unreadable::new("true or false"))
    }

    pub(super) fn as_i32(self) -> Result<i32, Unreadable> {
        self.0.as_i64().and_then(|int| int.try_into().ok()).ok_or_else(|| Unreadable::new("a small whole number"))
    }

    pub(super) fn as_f32(self) -> Result<f32, Unreadable> {
        self.0.as_f64().map(|float| float as f32).ok_or_else(|| Unreadable::new("a number"))
    }

    pub(super) fn as_blob(self) -> Result<Blob, Unreadable> {
        STANDARD.decode(self.as_text()?).map(Blob::new).map_err(|_| Unreadable::new("base64"))
    }

    pub(super) fn document(self) -> Document {
        document(self.0)
    }
}

fn document(json: &Json) -> Document {
    match json {
        Json::Null => Document::Null,
        Json::Bool(bool) => Document::Bool(*bool),
        Json::Number(number) => Document::Number(match (number.as_u64(), number.as_i64()) {
            (Some(int), _) => Number::PosInt(int),
            (None, Some(int)) => Number::NegInt(int),
            (None, None) => Number::Float(number.as_f64().unwrap_or(f64::NAN)),
        }),
        Json::String(text) => Document::String(text.clone()),
        Json::Array(items) => Document::Array(items.iter().map(document).collect()),
        Json::Object(entries) => {
            let entries: HashMap<_, _> = entries.iter().map(|(key, value)| (key.clone(), document(value))).collect();
            Document::Object(entries)
        }
    }
}
