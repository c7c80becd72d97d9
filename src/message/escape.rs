//! Escapes text of callers for terminals and line-based formats.

use std::fmt::{self, Write};

/// Returns whether a character is invisible or changes how other characters are displayed. Spaces are not.
///
/// These are the control characters, the
/// [default ignorable](https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point) ones, the interlinear
/// annotations, and the separators of lines and paragraphs.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a character must be escaped where people read it.
///
/// Such a character moves the cursor, starts an escape sequence, breaks a line, reverses the direction of writing
/// ([Trojan Source](https://trojansource.codes)), or hides words. Joiners and variation selectors are parts of words and
/// emoji, and are not escaped.
pub(crate) fn is_harmful(c: char) -> bool {
    is_invisible(c) && !matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Writes a text between single quotes. Harmful characters and quotes in the text are escaped as in Rust.
///
/// An apostrophe within a word is not escaped.
pub(crate) fn quoted(f: &mut impl Write, text: &str) -> fmt::Result {
    f.write_char('\'')?;
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let in_word = before.is_some_and(char::is_alphanumeric) && chars.peek().is_some_and(|c| c.is_alphanumeric());
        match c {
            '\\' => f.write_str("\\\\")?,
            '\'' if !in_word => f.write_str("\\'")?,
            c => visible(f, c)?,
        }
        before = Some(c);
    }
    f.write_char('\'')
}

/// Writes a text on one line, with harmful characters escaped.
pub(crate) fn on_one_line(f: &mut impl Write, text: &str) -> fmt::Result {
    text.chars().try_for_each(|c| visible(f, c))
}

/// Writes a character, escaped if it is harmful.
pub(crate) fn visible(f: &mut impl Write, c: char) -> fmt::Result {
    if is_harmful(c) { write!(f, "{}", c.escape_default()) } else { f.write_char(c) }
}

/// Appends JSON on one line. A harmful character becomes an escape such as `\\u202e`, which JSON readers decode.
pub(crate) fn json_on_one_line(out: &mut String, json: &str) {
    let mut rest = json;
    // JSON has such characters inside strings only.
    while let Some((at, harmful)) = rest.char_indices().find(|(_, c)| is_harmful(*c)) {
        let Some((before, from)) = rest.split_at_checked(at) else { break };
        out.push_str(before);
        for unit in harmful.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
        rest = from.get(harmful.len_utf8()..).unwrap_or_default();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quote(text: &str) -> String {
        let mut out = String::new();
        quoted(&mut out, text).unwrap();
        out
    }

    #[test]
    fn harmful_characters_are_escaped() {
        assert_eq!(quote("I'm fine"), "'I'm fine'");
        assert_eq!(quote("a\nb\u{1b}[31m"), r"'a\nb\u{1b}[31m'");
        assert_eq!(quote("\u{202e}evil\u{2069}"), r"'\u{202e}evil\u{2069}'");
        assert_eq!(quote("perché 日本 😀 👩\u{200d}🦰 ❤\u{fe0f}"), "'perché 日本 😀 👩\u{200d}🦰 ❤\u{fe0f}'");
        assert_eq!(quote("a\u{200b}b\u{ad}c\u{e0041}"), r"'a\u{200b}b\u{ad}c\u{e0041}'");
    }

    #[test]
    fn text_cannot_close_its_quotes() {
        assert_eq!(quote(r"'} -- 'x' \'"), r"'\'} -- \'x\' \\\''");
    }
}
