//! The file of a call: a name that any file system takes, and that no other call has.

use std::fmt::Write;
use std::path::PathBuf;

use crate::log::CallId;

/// What the name of a call's file ends with.
pub(super) const EXTENSION: &str = "jsonl";

/// A name has 255 bytes at most; longer ones go into folders.
const PIECE: usize = 200;

/// The path of a call's file within the log's directory.
///
/// Small letters, digits, `-` and `_` stand for themselves, `+a` for `A`, since not every file system tells them apart,
/// and `%2f` for any other byte. A folder has no dot in its name, so that it is never taken for a file.
pub(super) fn of(call_id: &CallId) -> PathBuf {
    let mut name = String::from("call-");
    for byte in call_id.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'A'..=b'Z' => name.extend(['+', char::from(byte.to_ascii_lowercase())]),
            _ => {
                let written = write!(name, "%{byte:02x}");
                debug_assert!(written.is_ok(), "a text takes all that is written to it");
            }
        }
    }
    let mut path = PathBuf::new();
    let mut rest = name.as_str();
    while let Some((piece, behind)) = rest.split_at_checked(PIECE).filter(|(_, behind)| !behind.is_empty()) {
        path.push(piece);
        rest = behind;
    }
    path.push(format!("{rest}.{EXTENSION}"));
    path
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn name(id: &str) -> String {
        of(&CallId::new(id).unwrap()).display().to_string()
    }

    #[test]
    fn any_id_is_a_name_of_its_own() {
        assert_eq!(name("CA1"), "call-+c+a1.jsonl");
        assert_eq!(name("../etc/passwd"), "call-%2e%2e%2fetc%2fpasswd.jsonl");
        assert_eq!(name("con"), "call-con.jsonl");
        let long = |length: usize| "x".repeat(length);
        let ids = ["a", "A", "+a", "%41", "a/b", "a%2fb", "ü", ".", "a.jsonl", &long(195), &long(196), &long(1_000)];
        let names: HashSet<String> = ids.iter().map(|id| name(id).to_lowercase()).collect();
        assert_eq!(names.len(), ids.len());
        for name in names {
            assert!(name.split('/').all(|part| part.len() <= 255 && !part.starts_with('.')), "{name}");
        }
    }
}
