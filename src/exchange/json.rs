//! [`Json`]: the JSON that an exporter writes.

use std::borrow::Cow;
use std::fmt;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Error, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::plain::Plain;
use crate::message::{Text, Value};

/// A JSON value that borrows its text from a message.
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Text(Cow<'a, str>),
    /// Bytes, in base64.
    Bytes(&'a [u8]),
    /// Bytes in a URL of a MIME type.
    DataUrl(Cow<'a, str>, &'a [u8]),
    /// A value as plain JSON.
    Plain(&'a Value),
    /// JSON from elsewhere: documents of the SDK.
    #[cfg_attr(not(feature = "bedrock"), expect(dead_code, reason = "only `bedrock/` has such JSON"))]
    Other(serde_json::Value),
    List(Vec<Json<'a>>),
    /// A list whose items are already written.
    Written(Items),
    /// Entries in the order of writing.
    Object(Vec<(&'a str, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Returns an object of the entries that are `Some`.
    pub fn object<const N: usize>(entries: [(&'a str, Option<Json<'a>>); N]) -> Self {
        Self::Object(entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
    }

    /// Appends the entries of another object.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Object(mut entries), Self::Object(others)) => {
                entries.extend(others);
                Self::Object(entries)
            }
            (own, _) => own,
        }
    }

    /// Removes an entry of this object.
    pub fn without(self, key: &str) -> Self {
        match self {
            Self::Object(entries) => Self::Object(entries.into_iter().filter(|(other, _)| *other != key).collect()),
            other => other,
        }
    }
}

/// Serializing never fails, because keys are strings and numbers are JSON.
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.collect_str(&Base64(bytes)),
            Self::DataUrl(mime_type, bytes) => {
                serializer.collect_str(&format_args!("data:{mime_type};base64,{}", Base64(bytes)))
            }
            Self::Plain(value) => Plain(value).serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
            Self::List(items) => serializer.collect_seq(items),
            Self::Written(items) => {
                let list = RawValue::from_string(items.to_list()).map_err(S::Error::custom)?;
                list.serialize(serializer)
            }
            Self::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

/// The items of a list, written one after another.
#[derive(Default)]
pub(crate) struct Items(String);

impl Items {
    pub fn push(&mut self, item: &Json<'_>) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&item.to_string());
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn to_list(&self) -> String {
        format!("[{}]", self.0)
    }
}

/// Displays bytes in base64.
pub(super) struct Base64<'a>(pub &'a [u8]);

impl fmt::Display for Base64<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Base64Display::new(self.0, &STANDARD).fmt(f)
    }
}

impl<'a, T: Into<Cow<'a, str>>> From<T> for Json<'a> {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a Text> for Json<'a> {
    fn from(text: &'a Text) -> Self {
        text.as_str().into()
    }
}

impl<'a> FromIterator<Json<'a>> for Json<'a> {
    fn from_iter<I: IntoIterator<Item = Json<'a>>>(items: I) -> Self {
        Self::List(items.into_iter().collect())
    }
}
