//! [`Owner`]: the user of contents.

use std::fmt;
use std::sync::Arc;

use super::{ContentError, ContentProblem};

/// The name of an owner of contents: any text of 1 to 1,000 bytes. A log uses the id of the call.
///
/// `Display` and `Debug` escape control and invisible characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// The maximum length in bytes, which is that of a call id.
    pub(crate) const MAX_BYTES: usize = 1_000;

    /// Creates an owner.
    ///
    /// Returns [`ContentError`] if the name is empty or longer than 1,000 bytes.
    pub fn new(name: impl Into<Arc<str>>) -> Result<Self, ContentError> {
        let name = name.into();
        let is_valid = (1..=Self::MAX_BYTES).contains(&name.len());
        let expected = "an owner of contents, whose name has 1 to 1,000 bytes";
        if is_valid { Ok(Self(name)) } else { Err(ContentProblem::Invalid { expected }.into()) }
    }

    /// Returns the name.
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
    fn owner_fits_a_key_and_prints_safely() {
        for good in ["1", "CA#1", "Anruf 7, ü", &"x".repeat(1_000)] {
            assert_eq!(Owner::new(good).unwrap().as_str(), good);
        }
        for bad in ["", &"x".repeat(1_001)] {
            assert!(
                matches!(Owner::new(bad), Err(error) if matches!(*error.0, ContentProblem::Invalid { .. })),
                "{bad}"
            );
        }
        let owner = Owner::new("a\u{1b}[2J\u{202e}ü").unwrap();
        assert_eq!(format!("{owner} {owner:?}"), r"a\u{1b}[2J\u{202e}ü Owner(a\u{1b}[2J\u{202e}ü)");
    }
}
