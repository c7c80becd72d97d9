//! [`ToolCallId`] and [`ToolName`]: identifiers that Bedrock accepts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::message::error::MessageError;
use crate::message::text::Text;

/// Defines an identifier: a text that Bedrock accepts as an id or a name.
macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $characters:literal, $symbols:pat) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "Text")]
        pub struct $name(Text);

        impl $name {
            #[doc = concat!("Returns a [`MessageError`] if the text is not 1 to 64 characters of `", $characters, "`.")]
            pub(crate) fn new(text: impl Into<Text>) -> Result<Self, MessageError> {
                let text = text.into();
                let is_valid = (1..=64).contains(&text.len())
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, $symbols));
                if is_valid { Ok(Self(text)) } else { Err(refused($kind, $characters, text.len())) }
            }

            /// Returns the text as a string slice.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        #[doc = concat!("Returns a [`MessageError`] if the text is not 1 to 64 characters of `", $characters, "`.")]
        impl TryFrom<Text> for $name {
            type Error = MessageError;

            fn try_from(text: Text) -> Result<Self, MessageError> {
                Self::new(text)
            }
        }

        #[doc = concat!("Returns a [`MessageError`] if the text is not 1 to 64 characters of `", $characters, "`.")]
        impl FromStr for $name {
            type Err = MessageError;

            fn from_str(text: &str) -> Result<Self, MessageError> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

identifier! {
    /// The id that pairs a tool call with its result: 1 to 64 characters of `[a-zA-Z0-9_.:-]`, as Bedrock's
    /// [`toolUseId`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html).
    ToolCallId, "tool call id", "[a-zA-Z0-9_.:-]", b'_' | b'.' | b':' | b'-'
}

identifier! {
    /// The name of a tool: 1 to 64 characters of `[a-zA-Z0-9_-]`, as Bedrock's
    /// [`ToolSpecification`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html).
    ToolName, "tool name", "[a-zA-Z0-9_-]", b'_' | b'-'
}

impl ToolCallId {
    /// Returns this id with a number at its end, such as `call_1-2`, for a call whose id was used before. A long id is cut.
    ///
    /// Returns a [`MessageError`] for a number of more than 7 digits if the id is long.
    pub(crate) fn numbered(&self, number: u32) -> Result<Self, MessageError> {
        // An id has at most 64 characters, each of one byte.
        let stem: String = self.as_str().chars().take(56).collect();
        Self::new(format!("{stem}-{number}"))
    }
}

fn refused(kind: &str, characters: &str, bytes: usize) -> MessageError {
    MessageError::with_details(format!("a {kind} has 1 to 64 characters of {characters}; this one has {bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_that_bedrock_accepts() {
        let longest = "x".repeat(64);
        for good in ["a", "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q", "call-1", &longest] {
            assert!(ToolCallId::new(good).is_ok() && ToolName::new(good).is_ok(), "{good}");
        }
        assert!(ToolCallId::new("functions.balance:0").is_ok());
        for bad in ["", "get user", "é", "a/b", &"x".repeat(65)] {
            let rule =
                |characters: &str| format!("has 1 to 64 characters of {characters}; this one has {} bytes", bad.len());
            let (id, name) = (ToolCallId::new(bad).unwrap_err(), ToolName::new(bad).unwrap_err());
            assert_eq!(id.to_string(), format!("a tool call id {}", rule("[a-zA-Z0-9_.:-]")));
            assert_eq!(name.to_string(), format!("a tool name {}", rule("[a-zA-Z0-9_-]")));
        }
        assert!(ToolName::new("functions.balance").is_err());
    }
}
