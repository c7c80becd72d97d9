//! File names of calls: unique per call and valid on any file system.

use std::fmt::Write;
use std::path::PathBuf;

use crate::log::CallId;

/// The extension of a call's file.
pub(super) const EXTENSION: &str = "jsonl";

/// File systems allow 255 bytes per name; longer names are split into folders.
const PIECE: usize = 200;

/// Returns the path of a call's file, relative to the log's directory.
///
/// Lower-case letters, digits, `-` and `_` are kept. `A` becomes `+a`, because some file systems ignore case, and any
/// other byte becomes hexadecimal, such as `%2f`. Folder names contain no dot, so a folder is never taken for a file.
pub(super) fn of(call_id: &CallId) -> PathBuf {
    let mut name = String::from("call-");
    for byte in call_id.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'A'..=b'Z' => name.extend(['+', char::from(byte.to_ascii_lowercase())]),
            _ => {
                let written = write!(name, "%{byte:02x}");
                debug_assert!(written.is_ok(), "writing to a string never fails");
            }
        }
    }
    let mut path = PathBuf::new();
    let mut rest = name.as_str();
    while let Some((piece, tail)) = rest.split_at_checked(PIECE).filter(|(_, tail)| !tail.is_empty()) {
        path.push(piece);
        rest = tail;
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
    fn every_call_id_has_its_own_file_name() {
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
