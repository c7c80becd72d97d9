//! [`one_line`]: a text of a call on one line of the memory.

use crate::message::is_invisible;

/// Writes a text on one line, without quotation marks and invisible characters, and cuts it to `longest` characters.
pub(super) fn one_line(text: &str, longest: usize) -> String {
    let mut line = String::new();
    let visible = |c: &char| c.is_whitespace() || c.is_control() || !is_invisible(*c);
    let mut chars = text.trim().chars().filter(visible);
    for c in chars.by_ref().take(longest) {
        match c {
            '"' => line.push('\''),
            _ if c.is_whitespace() || c.is_control() => {
                if !line.ends_with(' ') {
                    line.push(' ');
                }
            }
            _ => line.push(c),
        }
    }
    if chars.next().is_some() {
        line.push('…');
    }
    line
}
