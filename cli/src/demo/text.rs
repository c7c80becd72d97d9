//! The texts of a message; and text for a terminal, where what could do harm is escaped and what is too long is cut.

use verbale::Message;
use verbale::message::Text;

/// All that a message says.
pub fn texts_of(message: &Message) -> String {
    message.contents().texts().map(Text::as_str).collect()
}

/// With control characters, bidirectional and invisible ones as in Rust, such as `\u{1b}`.
pub fn visible(text: &str) -> String {
    text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// As much of the beginning as `width` columns take, visible.
pub fn start_of(text: &str, width: usize) -> String {
    let start: String = text.chars().take(width + 1).collect();
    let shown = visible(&start);
    if shown.chars().count() <= width {
        return shown;
    }
    let kept: String = shown.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// As much of the end as `width` columns take, visible.
pub fn end_of(text: &str, width: usize) -> String {
    let behind = text.chars().count().saturating_sub(width + 1);
    let shown = visible(&text.chars().skip(behind).collect::<String>());
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
    fn what_could_do_harm_is_escaped() {
        assert_eq!(visible("I'm \"fine\", perché 日本 😀"), "I'm \"fine\", perché 日本 😀");
        assert_eq!(visible("a\nb\u{1b}[31m\u{202e}c\u{feff}"), r"a\nb\u{1b}[31m\u{202e}c\u{feff}");
        assert_eq!(visible(r#"\' \" \n"#), r#"\\' \\" \\n"#);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        assert_eq!((start_of("one two", 7).as_str(), end_of("one two", 7).as_str()), ("one two", "one two"));
        assert_eq!((start_of("one two", 5).as_str(), end_of("one two", 5).as_str()), ("one…", "…two"));
        assert_eq!((start_of("\n\n\n", 5).as_str(), end_of("\n\n\n", 5).as_str()), (r"\n\n…", r"…\n\n"));
        assert_eq!((start_of("", 5).as_str(), end_of("", 5).as_str()), ("", ""));
    }
}
