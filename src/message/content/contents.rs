//! [`Contents`]: the list of contents of one message.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Content, Media, ResultContent, ToolCall, ToolResult};
use crate::message::text::Text;
use crate::message::value::entries_bytes;

/// The contents of one message, in order.
///
/// Converts from a string, a [`Text`], a [`Content`], [`Media`], a [`ToolCall`] or a [`ToolResult`],
/// and from arrays, slices and `Vec`s of one of these types.
#[derive(Clone)]
pub struct Contents(Repr);

enum Repr {
    // Most messages: no allocation besides the text.
    One([Content; 1]),
    // Copies of a message share it.
    Many(Arc<Box<[Content]>>),
}

// Not derived, because the clone of an array is slow.
impl Clone for Repr {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::One([one]) => Self::One([one.clone()]),
            Self::Many(many) => Self::Many(many.clone()),
        }
    }
}

impl Contents {
    /// Returns the texts in order.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.iter().filter_map(Content::as_text)
    }

    /// Takes the contents and leaves an empty text, without an allocation.
    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self(Repr::One([Content::Text(Text::default())])))
    }

    /// The approximate size in a record in bytes.
    pub(crate) fn record_bytes(&self) -> usize {
        self.iter().map(record_bytes).sum()
    }

    /// Compares like [`PartialEq`], but does not read contents that share an allocation.
    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::One([Content::Text(ours)]), Repr::One([Content::Text(theirs)])) if ours.is_same(theirs) => true,
            (Repr::Many(ours), Repr::Many(theirs)) if Arc::ptr_eq(ours, theirs) => true,
            _ => self == other,
        }
    }
}

/// The estimated size of the ids, names and types in a tool call or its result.
const AROUND: usize = 150;

/// The approximate size of a content in a record in bytes.
fn record_bytes(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Media(media) => media.source.record_bytes(),
        Content::ToolCall(tool_call) => AROUND + tool_call.arguments().record_bytes(),
        Content::ToolResult(result) => match result.outcome() {
            Ok(contents) => AROUND + contents.iter().map(ResultContent::record_bytes).sum::<usize>(),
            Err(error) => AROUND + error.message().len(),
        },
        Content::Unknown(map) => entries_bytes(&**map),
    }
}

impl ResultContent {
    /// The approximate size in a record in bytes.
    pub(crate) fn record_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Json(value) => value.record_bytes(),
            Self::Media(media) => media.source.record_bytes(),
            Self::Unknown(map) => entries_bytes(&**map),
        }
    }
}

impl Deref for Contents {
    type Target = [Content];

    #[inline]
    fn deref(&self) -> &[Content] {
        match &self.0 {
            Repr::One(one) => one,
            Repr::Many(many) => many,
        }
    }
}

impl Default for Contents {
    fn default() -> Self {
        Self(Repr::Many(Arc::default()))
    }
}

impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Contents {}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl From<Contents> for Vec<Content> {
    fn from(contents: Contents) -> Self {
        match contents.0 {
            Repr::One(one) => one.into(),
            Repr::Many(many) => Arc::unwrap_or_clone(many).into_vec(),
        }
    }
}

impl Extend<Content> for Contents {
    fn extend<I: IntoIterator<Item = Content>>(&mut self, contents: I) {
        let contents = contents.into_iter();
        let mut all = Vec::with_capacity(self.len() + contents.size_hint().0);
        all.extend_from_slice(self);
        all.extend(contents);
        *self = all.into();
    }
}

impl FromIterator<Content> for Contents {
    fn from_iter<I: IntoIterator<Item = Content>>(contents: I) -> Self {
        Vec::from_iter(contents).into()
    }
}

impl IntoIterator for Contents {
    type Item = Content;
    type IntoIter = std::vec::IntoIter<Content>;

    fn into_iter(self) -> Self::IntoIter {
        Vec::from(self).into_iter()
    }
}

impl<'a> IntoIterator for &'a Contents {
    type Item = &'a Content;
    type IntoIter = std::slice::Iter<'a, Content>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

macro_rules! contents_from_one {
    ($($one:ty),*) => {$(
        impl From<$one> for Contents {
            #[inline]
            fn from(one: $one) -> Self {
                Self(Repr::One([one.into()]))
            }
        }
    )*};
}

contents_from_one!(Content, &str, String, &String, Text, Media, ToolCall, ToolResult);

impl<T: Into<Content>> From<Vec<T>> for Contents {
    fn from(contents: Vec<T>) -> Self {
        // Needs no allocation if these are contents.
        let contents: Vec<Content> = contents.into_iter().map(Into::into).collect();
        match <[Content; 1]>::try_from(contents) {
            Ok(one) => Self(Repr::One(one)),
            Err(contents) => Self(Repr::Many(Arc::new(contents.into()))),
        }
    }
}

impl<T: Into<Content>, const N: usize> From<[T; N]> for Contents {
    fn from(contents: [T; N]) -> Self {
        contents.into_iter().map(Into::into).collect()
    }
}

impl<T: Into<Content> + Clone> From<&[T]> for Contents {
    fn from(contents: &[T]) -> Self {
        contents.iter().cloned().map(Into::into).collect()
    }
}

impl Serialize for Contents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Contents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Contents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of contents")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Contents, A::Error> {
                let Some(first) = items.next_element()? else { return Ok(Contents::default()) };
                let Some(second) = items.next_element()? else { return Ok(Contents(Repr::One([first]))) };
                let mut contents: Vec<Content> = vec![first, second];
                while let Some(content) = items.next_element()? {
                    contents.push(content);
                }
                Ok(contents.into())
            }
        }
        deserializer.deserialize_seq(Visitor)
    }
}
