//! [`Text`]: immutable text that clones share.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use arcstr::ArcStr;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::message::escape::is_invisible;

/// The text of a message without words. Bedrock refuses blank text.
pub(crate) const PLACEHOLDER: &str = "...";

/// Immutable text. Clones share its bytes.
///
/// The words may be a caller's, so `Debug` shows only the length, and there is no `Display`: print
/// [`as_str`](Self::as_str) where words belong.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
// One word: the length is beside the bytes, so that a list of messages is small.
pub struct Text(ArcStr);

impl Text {
    /// Returns the text as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether both share one allocation. Such texts are equal.
    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        ArcStr::ptr_eq(&self.0, &other.0)
    }
}

/// Returns whether `text` has only white space and invisible characters.
///
/// Bedrock refuses such a text block: `The text field in the ContentBlock object is blank`.
#[inline]
pub fn is_blank(text: &str) -> bool {
    // Fast path: the first byte of most texts is visible.
    let is_visible = text.bytes().next().is_some_and(|byte| byte.is_ascii_graphic());
    !is_visible && text.chars().all(is_blank_char)
}

/// Returns whether a character is white space or invisible.
pub(crate) fn is_blank_char(c: char) -> bool {
    c.is_whitespace() || is_invisible(c)
}

/// The empty text.
impl Default for Text {
    fn default() -> Self {
        Self(ArcStr::new())
    }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    #[inline]
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self(text.as_str().into())
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        Self(text.into())
    }
}

// Not derived, because that would copy the text twice.
impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(text.into())
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} bytes)", self.len())
    }
}
