//! Writing what is to be summarised line by line, so that what is spoken stays with its speaker.

use std::fmt::{self, Write};

use super::unspoken::{call, described, result};
use super::{Format, Tags};
use crate::manager::escape::visible;
use crate::message::{Content, Message, Role};

/// Writes line by line; a line is what one speaker says, or one call or result.
pub(super) struct Writer<'a, O> {
    format: &'a Format,
    out: &'a mut O,
    /// The role whose line can go on.
    open: Option<Role>,
    first: bool,
    /// What could be taken for the beginning of a line, in what is said.
    marks: [&'a str; 6],
    /// The bytes that begin a mark, in either case, each once.
    openings: Vec<u8>,
}

impl<'a, O: Write> Writer<'a, O> {
    pub fn new(format: &'a Format, out: &'a mut O) -> Self {
        let Tags { summary, user, assistant, call, result } = &format.tags;
        // A separator of white space starts no line by itself: a tag must follow.
        let marks = [summary, user, assistant, call, result, &format.separator].map(|mark| mark.trim());
        let mut openings = Vec::new();
        for byte in marks.iter().filter_map(|mark| mark.bytes().next()) {
            for byte in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                if !openings.contains(&byte) {
                    openings.push(byte);
                }
            }
        }
        Self { format, out, open: None, first: true, marks, openings }
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
            if self.marks.iter().any(|mark| starts_with_ignoring_case(rest, mark)) {
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
        if self.openings.is_empty() {
            return !has_special(text.as_bytes(), 0);
        }
        !self.openings.iter().any(|opening| has_special(text.as_bytes(), *opening))
    }
}

/// Whether there is an `opening`, or anything but printable ASCII. Told without a branch for each byte, for every word
/// of a call comes through here.
fn has_special(bytes: &[u8], opening: u8) -> bool {
    let special = |byte: u8| byte.wrapping_sub(0x20) >= 0x5f || byte == opening;
    bytes.iter().fold(0, |any, byte| any | u8::from(special(*byte))) != 0
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    !start.is_empty() && text.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
}
