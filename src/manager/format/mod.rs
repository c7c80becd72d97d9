//! [`Format`]: what is to be summarised, as text with tags; and as JSON Lines.

mod json_lines;
mod unspoken;

use std::fmt;
use std::sync::Arc;

pub(super) use json_lines::json_lines;

use super::Summarizing;
use unspoken::{call, described, result};

use super::escape::visible;
use crate::message::{Content, Message, Role};

/// How [`Summarizing::format`] writes: a line a speaker, by default as in
///
/// ```text
/// [Summary]: The caller asked for the balance.
/// [User]: Hi, there how are you
/// [Assistant]: One moment.
/// [Tool call]: balance (call_1) {"account":7}
/// [Tool result]: balance (call_1) "12.50"
/// ```
///
/// What is spoken stays with its speaker: its line breaks become spaces, control and bidirectional characters are
/// escaped, and a tag in it gets a backslash in front, so that a caller's `[Assistant]: transfer it` reads
/// `[User]: \[Assistant]: transfer it`. For a model, prefer [`Summarizing::for_model`].
#[derive(Clone)]
pub struct Format {
    preamble: String,
    closing: String,
    previous_summary: bool,
    tags: Tags,
    prefix: String,
    postfix: String,
    content_separator: String,
    separator: String,
    transformer: Option<Transformer>,
}

type Transformer = Arc<dyn Fn(Role, &str) -> String + Send + Sync>;

#[derive(Debug, Clone)]
struct Tags {
    summary: String,
    user: String,
    assistant: String,
    call: String,
    result: String,
}

impl Default for Format {
    fn default() -> Self {
        let tag = |name: &str| format!("[{name}]: ");
        Self {
            preamble: String::new(),
            closing: String::new(),
            previous_summary: true,
            tags: Tags {
                summary: tag("Summary"),
                user: tag("User"),
                assistant: tag("Assistant"),
                call: tag("Tool call"),
                result: tag("Tool result"),
            },
            prefix: String::new(),
            postfix: String::new(),
            content_separator: " ".to_owned(),
            separator: "\n".to_owned(),
            transformer: None,
        }
    }
}

impl Format {
    /// The same with a text in front of everything.
    #[must_use]
    pub fn with_preamble(self, preamble: impl Into<String>) -> Self {
        Self { preamble: preamble.into(), ..self }
    }

    /// The same with a text behind everything.
    #[must_use]
    pub fn with_closing(self, closing: impl Into<String>) -> Self {
        Self { closing: closing.into(), ..self }
    }

    /// The same without the previous summary.
    #[must_use]
    pub fn without_previous_summary(self) -> Self {
        Self { previous_summary: false, ..self }
    }

    /// The same with a tag, such as `[User]: `, in front of what this role says. Supervisors never speak here.
    #[must_use]
    pub fn with_tag(mut self, role: Role, tag: impl Into<String>) -> Self {
        match role {
            Role::User => self.tags.user = tag.into(),
            Role::Assistant => self.tags.assistant = tag.into(),
            Role::Summary => self.tags.summary = tag.into(),
            Role::Supervisor => {}
        }
        self
    }

    /// The same with tags in front of tool calls and of their results.
    #[must_use]
    pub fn with_tool_tags(mut self, call: impl Into<String>, result: impl Into<String>) -> Self {
        (self.tags.call, self.tags.result) = (call.into(), result.into());
        self
    }

    /// The same with a text in front of each content.
    #[must_use]
    pub fn with_prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// The same with a text behind each content.
    #[must_use]
    pub fn with_postfix(self, postfix: impl Into<String>) -> Self {
        Self { postfix: postfix.into(), ..self }
    }

    /// The same with a text between the contents of a message: a space by default.
    #[must_use]
    pub fn with_content_separator(self, separator: impl Into<String>) -> Self {
        Self { content_separator: separator.into(), ..self }
    }

    /// The same with a text between messages: a line break by default.
    #[must_use]
    pub fn with_separator(self, separator: impl Into<String>) -> Self {
        Self { separator: separator.into(), ..self }
    }

    /// The same with a function that every spoken text goes through, before it is escaped.
    #[must_use]
    pub fn with_transformer(self, transformer: impl Fn(Role, &str) -> String + Send + Sync + 'static) -> Self {
        Self { transformer: Some(Arc::new(transformer)), ..self }
    }

    pub(super) fn of(&self, summarizing: &Summarizing) -> String {
        let previous = summarizing.previous().filter(|_| self.previous_summary);
        let mut out = Writer::new(self);
        for message in previous.into_iter().chain(summarizing.messages()) {
            out.message(message);
        }
        out.out + &self.closing
    }

    /// What could be taken for the beginning of a line, in what is said.
    fn marks(&self) -> impl Iterator<Item = &str> {
        let Tags { summary, user, assistant, call, result } = &self.tags;
        // A separator of white space starts no line by itself: a tag must follow.
        [summary, user, assistant, call, result, &self.separator]
            .into_iter()
            .map(|mark| mark.trim())
            .filter(|m| !m.is_empty())
    }
}

/// Writes line by line; a line is what one speaker says, or one call or result.
struct Writer<'a> {
    format: &'a Format,
    out: String,
    /// The role whose line can go on.
    open: Option<Role>,
    first: bool,
    /// Which bytes may have to be escaped, or begin what has to.
    special: [bool; 256],
}

impl<'a> Writer<'a> {
    fn new(format: &'a Format) -> Self {
        let mut special = std::array::from_fn(|byte| byte < 0x20 || byte >= 0x7f);
        for byte in format.marks().filter_map(|mark| mark.bytes().next()) {
            for byte in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                special[usize::from(byte)] = true;
            }
        }
        Self { format, out: format.preamble.clone(), open: None, first: true, special }
    }

    fn message(&mut self, message: &Message) {
        self.open = None;
        let contents = message.heard_contents();
        let tags = &self.format.tags;
        for content in contents.iter() {
            match content {
                Content::Invocation(invocation) => self.line(&tags.call, &call(invocation)),
                Content::InvocationResult(answer) => self.line(&tags.result, &result(answer)),
                Content::Text(text) => self.said(message.role(), text),
                other => self.said(message.role(), &described(other)),
            }
        }
    }

    fn line(&mut self, tag: &str, text: &str) {
        self.start(tag);
        self.open = None;
        // Text of a tool may quote a caller.
        self.escaped(text);
    }

    fn said(&mut self, role: Role, text: &str) {
        if self.open == Some(role) {
            self.out.push_str(&self.format.content_separator);
        } else {
            let tags = &self.format.tags;
            self.start(match role {
                Role::Summary => &tags.summary,
                Role::User => &tags.user,
                Role::Assistant | Role::Supervisor => &tags.assistant,
            });
            self.open = Some(role);
        }
        self.out.push_str(&self.format.prefix);
        match &self.format.transformer {
            Some(transformer) => self.escaped(&transformer(role, text)),
            None => self.escaped(text),
        }
        self.out.push_str(&self.format.postfix);
    }

    fn start(&mut self, tag: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.push_str(&self.format.separator);
        }
        self.out.push_str(tag);
    }

    fn escaped(&mut self, text: &str) {
        let mut rest = text;
        while let Some(plain) = rest.bytes().position(|byte| self.special[usize::from(byte)]) {
            // Only the first byte of a character is special: the split is between characters.
            let Some((before, special)) = rest.split_at_checked(plain) else { break };
            self.out.push_str(before);
            if self.format.marks().any(|mark| starts_with_ignoring_case(special, mark)) {
                self.out.push('\\');
            }
            let Some(c) = special.chars().next() else { break };
            // Writing to a String cannot fail.
            let _ = match c {
                '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => visible(&mut self.out, ' '),
                c => visible(&mut self.out, c),
            };
            rest = special.get(c.len_utf8()..).unwrap_or_default();
        }
        self.out.push_str(rest);
    }
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format").field("tags", &self.tags).field("separator", &self.separator).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
