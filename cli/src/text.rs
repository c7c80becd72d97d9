//! Text for a terminal: harmful characters are escaped, and long texts are cut.

use verbale::Message;
use verbale::message::{Position, Text};

/// Returns the texts of a message, joined.
pub fn texts_of(message: &Message) -> String {
    message.contents().texts().map(Text::as_str).collect()
}

/// Escapes control, bidirectional and invisible characters as Rust does, such as `\u{1b}`.
pub fn visible(text: &str) -> String {
    text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// Returns the name of a position, such as `message 5` or `summary 2`. Messages count from 0, as in the log.
pub fn place(position: Position) -> String {
    match position.summary_number() {
        Some(number) => format!("summary {number}"),
        None => format!("message {}", position.seq()),
    }
}

/// Returns a number and its noun, such as `1 message` or `2 messages`.
pub fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Returns the beginning of a text, escaped, in at most `width` columns.
pub fn start_of(text: &str, width: usize) -> String {
    let start: String = text.chars().take(width + 1).collect();
    let shown = visible(&start);
    if shown.chars().count() <= width {
        return shown;
    }
    let kept: String = shown.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Returns the end of a text, escaped, in at most `width` columns.
pub fn end_of(text: &str, width: usize) -> String {
    let skipped = text.chars().count().saturating_sub(width + 1);
    let shown = visible(&text.chars().skip(skipped).collect::<String>());
    let length = shown.chars().count();
    if length <= width {
        return shown;
    }
    let kept: String = shown.chars().skip(length - width.saturating_sub(1)).collect();
    format!("…{}", kept.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmful_characters_are_escaped() {
        assert_eq!(visible("I'm \"fine\", perché 日本 😀"), "I'm \"fine\", perché 日本 😀");
        assert_eq!(visible("a\nb\u{1b}[31m\u{202e}c\u{feff}"), r"a\nb\u{1b}[31m\u{202e}c\u{feff}");
        assert_eq!(visible(r#"\' \" \n"#), r#"\\' \\" \\n"#);
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!((start_of("one two", 7).as_str(), end_of("one two", 7).as_str()), ("one two", "one two"));
        assert_eq!((start_of("one two", 5).as_str(), end_of("one two", 5).as_str()), ("one…", "…two"));
        assert_eq!((start_of("\n\n\n", 5).as_str(), end_of("\n\n\n", 5).as_str()), (r"\n\n…", r"…\n\n"));
        assert_eq!((start_of("", 5).as_str(), end_of("", 5).as_str()), ("", ""));
    }
}
