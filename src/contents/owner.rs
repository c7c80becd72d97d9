//! [`Owner`]: who uses contents.

use std::fmt;
use std::sync::Arc;

use super::ContentError;

/// Who uses contents: a call, by its id. Any text of 1 to [`MAX_BYTES`](Self::MAX_BYTES) bytes.
///
/// Printed with its control and invisible characters escaped.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// As long as the id of a call may be.
    pub const MAX_BYTES: usize = 1_000;

    /// Errors: empty, or longer than [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(name: impl Into<Arc<str>>) -> Result<Self, ContentError> {
        let name = name.into();
        if (1..=Self::MAX_BYTES).contains(&name.len()) { Ok(Self(name)) } else { Err(ContentError::InvalidOwner) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.escape_debug(), f)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_what_a_key_can_hold_and_a_log_can_print() {
        for good in ["1", "CA#1", "Anruf 7, ü", &"x".repeat(1_000)] {
            assert_eq!(Owner::new(good).unwrap().as_str(), good);
        }
        for bad in ["", &"x".repeat(1_001)] {
            assert!(matches!(Owner::new(bad), Err(ContentError::InvalidOwner)), "{bad}");
        }
        let owner = Owner::new("a\u{1b}[2J\u{202e}ü").unwrap();
        assert_eq!(format!("{owner} {owner:?}"), r"a\u{1b}[2J\u{202e}ü Owner(a\u{1b}[2J\u{202e}ü)");
    }
}
