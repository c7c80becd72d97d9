//! [`Writer`]: writes a conversation line by line, so that no speaker can imitate another one.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::Format;
use super::unspoken::{call, described, result};
use crate::message::{Content, Message, Role, is_invisible, visible};

/// Writes line by line. A line holds the words of one speaker, one tool call, or one tool result.
pub(super) struct Writer<'a, O> {
    format: &'a Format,
    out: &'a mut O,
    first: bool,
}

impl<'a, O: Write> Writer<'a, O> {
    pub fn new(format: &'a Format, out: &'a mut O) -> Self {
        Self { format, out, first: true }
    }

    pub fn message(&mut self, message: &Message) -> fmt::Result {
        let tags = &self.format.tags;
        let tag = match message.role() {
            Role::User if message.is_background() => &tags.context,
            Role::Summary => &tags.summary,
            Role::User => &tags.user,
            Role::Assistant | Role::System => &tags.assistant,
        };
        // Most messages are one text.
        if let ([Content::Text(text)], None, None) = (&**message.contents(), message.heard(), &self.format.transformer)
        {
            return self.line(tag, text);
        }
        let contents = message.heard_contents();
        let mut said: Vec<Cow<'_, str>> = Vec::with_capacity(contents.len());
        for content in contents.iter() {
            let text: Cow<'_, str> = match content {
                Content::ToolCall(tool_call) => {
                    self.said(tag, &said)?;
                    said.clear();
                    self.line(&tags.call, &call(tool_call))?;
                    continue;
                }
                Content::ToolResult(answer) => {
                    self.said(tag, &said)?;
                    said.clear();
                    self.line(&tags.result, &result(answer))?;
                    continue;
                }
                Content::Text(text) => Cow::Borrowed(text),
                other => Cow::Owned(described(other)),
            };
            said.push(match &self.format.transformer {
                Some(transformer) => Cow::Owned(transformer(message.role(), &text)),
                None => text,
            });
        }
        self.said(tag, &said)
    }

    fn line(&mut self, tag: &str, text: &str) -> fmt::Result {
        self.start(tag)?;
        // A tool may repeat a caller's words.
        self.escaped(text, &[])
    }

    /// Writes texts on one line, if there are any.
    fn said(&mut self, tag: &str, texts: &[Cow<'_, str>]) -> fmt::Result {
        if texts.is_empty() {
            return Ok(());
        }
        self.start(tag)?;
        let mut rest = texts;
        while let [text, following @ ..] = rest {
            self.escaped(text, following)?;
            if !following.is_empty() {
                self.out.write_char(' ')?;
            }
            rest = following;
        }
        Ok(())
    }

    fn start(&mut self, tag: &str) -> fmt::Result {
        if !std::mem::take(&mut self.first) {
            self.out.write_str(&self.format.separator)?;
        }
        self.out.write_str(tag)
    }

    /// Writes one text of a line. `following` holds the texts after it in the same line.
    fn escaped(&mut self, text: &str, following: &[Cow<'_, str>]) -> fmt::Result {
        if self.is_plain(text) {
            return self.out.write_str(text);
        }
        for (at, c) in text.char_indices() {
            if !is_skipped(c) && self.begins_mark(text.get(at..).unwrap_or_default(), following) {
                self.out.write_char('\\')?;
            }
            match c {
                '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => self.out.write_char(' ')?,
                c => visible(self.out, c)?,
            }
        }
        Ok(())
    }

    fn begins_mark(&self, rest: &str, following: &[Cow<'_, str>]) -> bool {
        // The spaces between the texts do not count.
        let mut chars = folded(rest.chars().chain(following.iter().flat_map(|text| text.chars())));
        let first = chars.next();
        self.format.marks().any(|mark| {
            let mut mark = folded(mark.chars());
            mark.next() == first && {
                let mut chars = chars.clone();
                mark.all(|c| chars.next() == Some(c))
            }
        })
    }

    /// Returns `true` if the text needs no escaping. Most texts do not.
    fn is_plain(&self, text: &str) -> bool {
        // 0 stands for no opening, because a control character is special anyway.
        let openings = if self.format.openings.is_empty() { &[0] } else { &*self.format.openings };
        !openings.iter().any(|opening| has_special(text.as_bytes(), *opening))
    }
}

/// Returns `true` if the bytes hold `opening` or anything but printable ASCII. Works on 16 bytes at a time, because every
/// word of a call passes through here.
fn has_special(bytes: &[u8], opening: u8) -> bool {
    // Not 0 for a special byte. Comparisons would keep the compiler from using vector instructions.
    let special = |byte: u8| byte.wrapping_sub(0x20).saturating_sub(0x5e) | 1_u8.saturating_sub(byte ^ opening);
    let look = |mut found: [u8; 16], chunk: &[u8; 16]| {
        for (found, byte) in found.iter_mut().zip(chunk) {
            *found |= special(*byte);
        }
        found
    };
    let Some(last) = bytes.last_chunk() else { return bytes.iter().any(|byte| special(*byte) != 0) };
    // The last chunk overlaps the one before, which is faster than single bytes.
    let found = bytes.as_chunks().0.iter().fold([0; 16], look);
    look(found, last) != [0; 16]
}

/// Folds case and width and drops invisible characters, so that texts that look alike compare equal.
pub(super) fn folded<'a>(chars: impl Iterator<Item = char> + Clone + 'a) -> impl Iterator<Item = char> + Clone + 'a {
    let narrow = |c| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    };
    chars.filter(|c| !is_skipped(*c)).map(narrow).flat_map(char::to_lowercase)
}

fn is_skipped(c: char) -> bool {
    c.is_whitespace() || is_invisible(c)
}
