//! [`PromptHash`]: the hash of a prompt in the record of its request.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Text;

/// The first 16 hexadecimal digits of a prompt's fingerprint. Copies of a record keep any other text as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PromptHash {
    /// In 8 bytes, because each turn has one.
    Digits(u64),
    Other(Text),
}

const LENGTH: usize = 16;

impl PromptHash {
    pub fn of_fingerprint(fingerprint: &str) -> Option<Self> {
        fingerprint.get(..LENGTH).map(Self::from)
    }
}

impl From<&str> for PromptHash {
    fn from(text: &str) -> Self {
        let digits = u64::from_str_radix(text, 16).ok().map(Self::Digits);
        // Only what is written again as it was read.
        digits.filter(|digits| digits.to_string() == text).unwrap_or_else(|| Self::Other(text.into()))
    }
}

impl fmt::Display for PromptHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digits(digits) => write!(f, "{digits:0LENGTH$x}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Serialize for PromptHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PromptHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(Text::deserialize(deserializer)?.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_written_as_it_was_read() {
        for text in [
            "0123456789abcdef",
            "0000000000000000",
            "ffffffffffffffff",
            "",
            "+123456789abcdef",
            "0123456789ABCDEF",
            "f",
        ] {
            assert_eq!(PromptHash::from(text).to_string(), text);
        }
        assert!(matches!(
            PromptHash::of_fingerprint("00123456789abcdef9876543210"),
            Some(PromptHash::Digits(0x0012_3456_789a_bcde))
        ));
        assert_eq!(PromptHash::of_fingerprint("0123"), None);
    }
}
