//! [`Contents`]: the list of contents of one message.

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use super::{Content, Document, Invocation, InvocationResult, Media};
use crate::message::text::Text;

/// The contents of one message, in their order.
///
/// Made from `&str`, `String`, any [`Content`], and arrays and `Vec`s of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
// One content, the usual case, is stored without an allocation of its own.
pub struct Contents(SmallVec<[Content; 1]>);

impl Contents {
    /// The texts, in their order.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.iter().filter_map(Content::as_text)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Content) -> bool) {
        self.0.retain(|content| keep(content));
    }

    /// Like [`PartialEq`], but texts that are one in memory are not compared.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.iter().zip(other.iter()).all(|pair| match pair {
                (Content::Text(ours), Content::Text(theirs)) => ours.is_same(theirs) || ours == theirs,
                (ours, theirs) => ours == theirs,
            })
    }
}

impl Deref for Contents {
    type Target = [Content];

    fn deref(&self) -> &[Content] {
        &self.0
    }
}

impl Extend<Content> for Contents {
    fn extend<I: IntoIterator<Item = Content>>(&mut self, contents: I) {
        self.0.extend(contents);
    }
}

impl FromIterator<Content> for Contents {
    fn from_iter<I: IntoIterator<Item = Content>>(contents: I) -> Self {
        Self(contents.into_iter().collect())
    }
}

impl IntoIterator for Contents {
    type Item = Content;
    type IntoIter = smallvec::IntoIter<[Content; 1]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
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
            fn from(one: $one) -> Self {
                Self(SmallVec::from_buf([one.into()]))
            }
        }
    )*};
}

contents_from_one!(Content, &str, String, &String, Text, Media, Document, Invocation, InvocationResult);

impl<T: Into<Content>> From<Vec<T>> for Contents {
    fn from(contents: Vec<T>) -> Self {
        contents.into_iter().map(Into::into).collect()
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

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of contents")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Contents, A::Error> {
                let mut contents = SmallVec::new();
                while let Some(content) = items.next_element()? {
                    contents.push(content);
                }
                Ok(Contents(contents))
            }
        }
        deserializer.deserialize_seq(Visitor)
    }
}
