//! [`ContentId`]: the hash of a content's bytes.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::{ContentError, ContentProblem};

const PREFIX: &str = "sha256:";
const BYTES: usize = 32;
const INVALID: ContentProblem =
    ContentProblem::Invalid { expected: "a content id, which is `sha256:` and 64 digits of lower-case hex" };

/// The SHA-256 hash of a content's bytes.
///
/// Its text is `sha256:` and 64 digits of lower-case hex. No other text parses, so a content has exactly one id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId([u8; BYTES]);

impl ContentId {
    /// Computes the id of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the 64 digits without `sha256:`.
    pub(crate) fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl FromStr for ContentId {
    type Err = ContentError;

    fn from_str(text: &str) -> Result<Self, ContentError> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_hex = |hex: &&str| hex.len() == 2 * BYTES && hex.bytes().all(is_digit);
        let hex = text.strip_prefix(PREFIX).filter(is_hex).ok_or(INVALID)?;
        let mut bytes = [0; BYTES];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let pair = hex.get(2 * at..2 * at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
            *byte = pair.ok_or(INVALID)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // FIPS 180-2, appendix B.1.
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn id_is_the_hash_and_parses_back() {
        let id = ContentId::of(b"abc");
        assert_eq!(id.to_string(), ABC);
        assert_eq!(ABC.parse::<ContentId>().unwrap(), id);
    }

    #[test]
    fn only_the_canonical_text_parses() {
        let upper = ABC.to_uppercase().replace("SHA256", "sha256");
        let signed = format!("sha256:+f{}", "0".repeat(62));
        let accented = format!("sha256:é{}", "0".repeat(62));
        for text in ["", "sha256:", &ABC[7..], &ABC[..70], &format!("{ABC}0"), &upper, &signed, &accented] {
            assert!(
                matches!(text.parse::<ContentId>(), Err(error) if matches!(*error.0, ContentProblem::Invalid { .. })),
                "{text}"
            );
        }
    }
}
