//! Text for a terminal.

/// Escapes control, bidirectional and invisible characters as in Rust, such as `\u{1b}`.
pub fn visible(text: &str) -> String {
    text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmful_characters_are_escaped() {
        assert_eq!(visible("I'm \"fine\", perché 日本 😀"), "I'm \"fine\", perché 日本 😀");
        assert_eq!(visible("a\nb\u{1b}[31m\u{202e}c\u{feff}"), r"a\nb\u{1b}[31m\u{202e}c\u{feff}");
    }
}
