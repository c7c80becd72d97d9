//! [`Message::summary_line`]: one line about a message for people.

use std::fmt::Write;

use crate::message::escape::quoted;
use crate::message::{Content, Message, Outcome};

/// The maximum number of characters of a text in the line.
const SHOWN: usize = 80;

impl Message {
    /// Returns one line about the message for people: its role, its first content, and the number of further contents.
    ///
    /// The line contains the first 80 characters of a text, so do not write it to logs that must not contain the words of
    /// a caller. Characters that are harmful on a terminal are escaped.
    ///
    /// ```
    /// # use verbale::{MessagesManager, PlainMessage};
    /// # fn main() -> Result<(), verbale::ManagerError> {
    /// let mut manager = MessagesManager::<PlainMessage>::new();
    /// let entry = manager.add_user(["What's the weather?", "In Genoa"])?;
    /// assert_eq!(entry.message().summary_line(), "user: 'What's the weather?' and 1 more");
    /// # Ok(()) }
    /// ```
    pub fn summary_line(&self) -> String {
        let mut line = self.role().to_string();
        line.push_str(if self.is_fake() { " (fake): " } else { ": " });
        match self.contents().first() {
            Some(Content::Text(text)) => push_text(&mut line, text),
            Some(Content::Media(media)) => push_labelled(&mut line, media.kind.as_str(), media.prompt_hint.as_deref()),
            Some(Content::Document(document)) => push_labelled(&mut line, "document", document.title.as_deref()),
            Some(Content::ToolCall(call)) => push(&mut line, format_args!("calls {} ({})", call.name(), call.id())),
            Some(Content::ToolResult(result)) => {
                let failed = matches!(result.outcome(), Outcome::Failure(_));
                let outcome = if failed { "failure" } else { "result" };
                push(&mut line, format_args!("{outcome} of {} ({})", result.name(), result.tool_call_id()));
            }
            Some(Content::Unknown(_)) => line.push_str("unknown content"),
            None => line.push_str("nothing"),
        }
        match self.contents().len() {
            0 | 1 => {}
            many => push(&mut line, format_args!(" and {} more", many - 1)),
        }
        line
    }
}

fn push_labelled(line: &mut String, kind: &str, label: Option<&str>) {
    line.push_str(kind);
    if let Some(label) = label {
        line.push(' ');
        push_text(line, label);
    }
}

/// Appends the beginning of a text in quotes.
fn push_text(line: &mut String, text: &str) {
    let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    // Writing to a String cannot fail.
    let _ = quoted(line, text.get(..end).unwrap_or(text));
    if end < text.len() {
        line.push('…');
    }
}

fn push(line: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = line.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use crate::message::{
        Attribute, Contents, Document, Media, MediaKind, Message, Position, Role, Source, ToolCall, ToolCallError,
        Value,
    };

    fn line(role: Role, contents: impl Into<Contents>) -> String {
        Message::new(1.into(), Position::message(0), role, contents.into(), 0).summary_line()
    }

    #[test]
    fn line_has_role_kind_and_beginning() {
        let call = ToolCall::new("call_1", "balance", Value::Null).unwrap();
        let image = Media::new(MediaKind::Image, Source::Url("https://e.com/1".into())).with_prompt_hint("the hat");
        let document = Document::new(Source::ContentId("sha256:ab".into()));
        let failure = call.failure(ToolCallError::new("no answer").unwrap());
        let mut fake = Message::new(1.into(), Position::message(0), Role::User, "...".into(), 0);
        fake.metadata_mut().add_attribute(Attribute::Fake);
        let lines = [
            line(Role::Assistant, "Hello!\n[user] {'x'}\u{200b}\u{202e}"),
            line(Role::User, ["é".repeat(81), "b".to_owned(), "c".to_owned()]),
            line(Role::Assistant, call.clone()),
            line(Role::User, call.success("12.50")),
            line(Role::User, failure),
            line(Role::User, image),
            line(Role::User, document),
            line(Role::Summary, "They met."),
            fake.summary_line(),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        assistant: 'Hello!\n[user] {\'x\'}\u{200b}\u{202e}'
        user: 'éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé'… and 2 more
        assistant: calls balance (call_1)
        user: result of balance (call_1)
        user: failure of balance (call_1)
        user: image 'the hat'
        user: document
        summary: 'They met.'
        user (fake): '...'
        ");
    }
}
