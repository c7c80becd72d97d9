//! [`Quoted`]: a string of JSON text, and what its escapes stand for.

use std::borrow::Cow;

/// A string as it stands in the text, its escapes checked.
#[derive(Clone, Copy)]
pub(super) struct Quoted<'a> {
    between: &'a str,
    length: usize,
}

impl<'a> Quoted<'a> {
    /// What stands between the quotes, checked, and the bytes of what it says.
    pub fn new(between: &'a str, length: usize) -> Self {
        Self { between, length }
    }

    /// The bytes of what it says.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_escaped(&self) -> bool {
        // Every escape is longer than what it stands for.
        self.length < self.between.len()
    }

    /// Whether it says `text`.
    pub fn is(&self, text: &str) -> bool {
        self.length == text.len() && if self.is_escaped() { self.unescaped() == text } else { self.between == text }
    }

    /// What it says.
    pub fn unescaped(&self) -> Cow<'a, str> {
        if !self.is_escaped() {
            return Cow::Borrowed(self.between);
        }
        let mut text = String::with_capacity(self.length);
        let mut left = self.between;
        while let Some((plain, escape)) = left.split_once('\\') {
            text.push_str(plain);
            // Checked when it was read: an escape is whole.
            let Some((c, length)) = unescape(escape.as_bytes()) else { break };
            text.push(c);
            left = escape.get(length..).unwrap_or_default();
        }
        text.push_str(left);
        Cow::Owned(text)
    }
}

/// The character of an escape, and how many bytes it has behind the backslash.
pub(super) fn unescape(escape: &[u8]) -> Option<(char, usize)> {
    let c = match escape.first()? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let high = unit(escape.get(1..5)?)?;
            if !(0xD800..0xDC00).contains(&high) {
                return Some((char::from_u32(high)?, 5));
            }
            let low = unit(escape.get(5..)?.strip_prefix(b"\\u")?.get(..4)?)?;
            let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
            return Some((char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + low)?, 11));
        }
        _ => return None,
    };
    Some((c, 1))
}

fn unit(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}
