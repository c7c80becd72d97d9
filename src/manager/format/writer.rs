//! Writing what is to be summarised line by line, so that what is spoken stays with its speaker.

use std::fmt::{self, Write};

use super::Format;
use super::unspoken::{call, described, result};
use crate::manager::escape::visible;
use crate::message::{Content, Message, Role};

/// Writes line by line; a line is what one speaker says, or one call or result.
pub(super) struct Writer<'a, O> {
    format: &'a Format,
    out: &'a mut O,
    /// The role whose line can go on.
    open: Option<Role>,
    first: bool,
}

impl<'a, O: Write> Writer<'a, O> {
    pub fn new(format: &'a Format, out: &'a mut O) -> Self {
        Self { format, out, open: None, first: true }
    }

    pub fn message(&mut self, message: &Message) -> fmt::Result {
        self.open = None;
        let tags = &self.format.tags;
        for content in message.heard_contents().iter() {
            match content {
                Content::Invocation(invocation) => self.line(&tags.call, &call(invocation))?,
                Content::InvocationResult(answer) => self.line(&tags.result, &result(answer))?,
                Content::Text(text) => self.said(message.role(), text)?,
                other => self.said(message.role(), &described(other))?,
            }
        }
        Ok(())
    }

    fn line(&mut self, tag: &str, text: &str) -> fmt::Result {
        self.start(tag)?;
        self.open = None;
        // Text of a tool may quote a caller.
        self.escaped(text)
    }

    fn said(&mut self, role: Role, text: &str) -> fmt::Result {
        if self.open == Some(role) {
            self.out.write_str(&self.format.content_separator)?;
        } else {
            let tags = &self.format.tags;
            self.start(match role {
                Role::Summary => &tags.summary,
                Role::User => &tags.user,
                Role::Assistant | Role::Supervisor => &tags.assistant,
            })?;
            self.open = Some(role);
        }
        self.put(&self.format.prefix)?;
        match &self.format.transformer {
            Some(transformer) => self.escaped(&transformer(role, text))?,
            None => self.escaped(text)?,
        }
        self.put(&self.format.postfix)
    }

    /// Prefix and postfix are mostly empty, and even that would be a copy.
    fn put(&mut self, text: &str) -> fmt::Result {
        if text.is_empty() { Ok(()) } else { self.out.write_str(text) }
    }

    fn start(&mut self, tag: &str) -> fmt::Result {
        if !std::mem::take(&mut self.first) {
            self.out.write_str(&self.format.separator)?;
        }
        self.out.write_str(tag)
    }

    fn escaped(&mut self, text: &str) -> fmt::Result {
        if self.is_plain(text) {
            return self.out.write_str(text);
        }
        for (at, c) in text.char_indices() {
            let rest = text.get(at..).unwrap_or_default();
            if self.format.marks().any(|mark| starts_with_ignoring_case(rest, mark)) {
                self.out.write_char('\\')?;
            }
            match c {
                '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => self.out.write_char(' ')?,
                c => visible(self.out, c)?,
            }
        }
        Ok(())
    }

    /// Whether the text is written as it is: most are.
    fn is_plain(&self, text: &str) -> bool {
        // A control character is special anyway.
        let openings = if self.format.openings.is_empty() { &[0] } else { &*self.format.openings };
        !openings.iter().any(|opening| has_special(text.as_bytes(), *opening))
    }
}

/// Whether there is an `opening`, or anything but printable ASCII. Sixteen bytes at once, for every word of a call
/// comes through here.
fn has_special(bytes: &[u8], opening: u8) -> bool {
    // Not 0 for what is special; without comparisons, which the compiler does one by one.
    let special = |byte: u8| byte.wrapping_sub(0x20).saturating_sub(0x5e) | 1_u8.saturating_sub(byte ^ opening);
    let look = |mut found: [u8; 16], chunk: &[u8; 16]| {
        for (found, byte) in found.iter_mut().zip(chunk) {
            *found |= special(*byte);
        }
        found
    };
    let Some(last) = bytes.last_chunk() else { return bytes.iter().any(|byte| special(*byte) != 0) };
    // The last chunk may look at some bytes twice: that is faster than one by one.
    let found = bytes.as_chunks().0.iter().fold([0; 16], look);
    look(found, last) != [0; 16]
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
}
