//! Prints a manager for debugging. No other code of the crate prints what callers say.

mod line;
mod turn;

use std::fmt::{self, Write};

use super::{LeftOut, MessagesManager};
use crate::message::{
    Content, Map, Message, MessageId, MessageWrapper, Metadata, ResultContent, Source, Value, on_one_line, quoted,
};

/// Prints one line per message, starting with its index:
///
/// ```text
/// 6       [assistant] {'How can I help you?'} -- '01JRZJ1676BES92QBJC6ZMKG36' {timing=[{creation=1744815823078}]},
/// ```
///
/// A line `[released]` counts the pruned messages. A line `[missing]` names a record that was [left
/// out](MessagesManager::left_out), and the reason.
///
/// `*` marks the first message of the window, `^` the last summary, and `-` a message that is not logged. `heard={…}` is
/// the heard part of an assistant message. `confidence=0.93/?` has the confidence of each part. Control, ANSI and
/// bidirectional characters are escaped.
impl<W: MessageWrapper> fmt::Display for MessagesManager<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "    META MESSAGES ('*' -> first message to LLM, '-' -> next message to convert into a Map, \
             '^' -> last summary message):",
        )?;
        let opener = self.uncovered().position(|wrapper| wrapper.role().is_spoken());
        let opener = opener.map(|offset| self.window_start() + offset);
        let last_summary = self.window_start().checked_sub(1);
        let mut all_logged = true;
        let mut left_out = self.left_out().iter().peekable();
        if self.pruned() > 0 {
            write!(f, "\n          [released] {} messages that left memory", self.pruned())?;
        }
        for (index, wrapper) in self.list.indexed(0..self.list.end()) {
            let pending = self.logged.is_dirty(index, wrapper.message().position());
            all_logged &= !pending;
            let log = if pending { '-' } else { ' ' };
            let mark = match Some(index) {
                here if here == opener => '*',
                here if here == last_summary => '^',
                _ => ' ',
            };
            let end = if index + 1 == self.list.end() { '.' } else { ',' };
            let message = wrapper.message();
            while let Some(missing) = left_out.next_if(|missing| missing.position < message.position()) {
                write_missing(f, missing)?;
            }
            let shown = Shown { message, summary_ids: self.ids_covered_by(message).collect() };
            write!(f, "\n{index:<3}{log}{mark}   {shown}{end}")?;
        }
        left_out.try_for_each(|missing| write_missing(f, missing))?;
        if all_logged {
            write!(f, "\n.  - -> index {}.", self.list.end())?;
        }
        Ok(())
    }
}

fn write_missing(f: &mut fmt::Formatter<'_>, missing: &LeftOut) -> fmt::Result {
    write!(f, "\n          [missing] {missing}")
}

struct Shown<'a> {
    message: &'a Message,
    summary_ids: Vec<MessageId>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message;
        write!(f, "[{}] {{", message.role())?;
        separated(f, " ", message.contents(), shown)?;
        write!(f, "}} -- '{}' {{", message.id())?;
        if let Some(heard) = message.heard() {
            f.write_str("heard={")?;
            separated(f, " ", heard.prefixes(message.contents()), |f, text| quoted(f, text))?;
            write!(f, " by {}}}, ", heard.source())?;
        }
        if message.parts().any(|part| part.confidence().is_some()) {
            f.write_str("confidence=")?;
            separated(f, "/", message.parts(), |f, part| match part.confidence() {
                Some(confidence) => write!(f, "{confidence}"),
                None => f.write_char('?'),
            })?;
            f.write_str(", ")?;
        }
        metadata(f, message.metadata(), &self.summary_ids)?;
        f.write_char('}')
    }
}

fn shown(f: &mut fmt::Formatter<'_>, content: &Content) -> fmt::Result {
    match content {
        Content::Text(text) => quoted(f, text),
        Content::Media(media) => sourced(f, media.kind.as_str(), media.label.as_deref(), &media.source),
        Content::ToolCall(call) => {
            write!(f, "call {} ({}) ", call.name(), call.id())?;
            value(f, call.arguments())
        }
        Content::ToolResult(result) => {
            write!(f, "result {} ({}) ", result.name(), result.tool_call_id())?;
            match result.outcome() {
                Ok(contents) => {
                    f.write_char('[')?;
                    separated(f, " ", contents, |f, content| match content {
                        ResultContent::Text(text) => quoted(f, text),
                        ResultContent::Json(json) => value(f, json),
                        ResultContent::Media(media) => {
                            sourced(f, media.kind.as_str(), media.label.as_deref(), &media.source)
                        }
                        ResultContent::Unknown(map) => entries(f, map),
                    })?;
                    f.write_char(']')
                }
                Err(error) => {
                    f.write_str("failed: ")?;
                    if let Some(kind) = error.error_type() {
                        on_one_line(f, kind)?;
                        f.write_char(' ')?;
                    }
                    quoted(f, error.message())
                }
            }
        }
        Content::Unknown(map) => entries(f, map),
    }
}

fn sourced(f: &mut fmt::Formatter<'_>, kind: &str, label: Option<&str>, source: &Source) -> fmt::Result {
    write!(f, "{kind} ")?;
    if let Some(label) = label {
        quoted(f, label)?;
        f.write_char(' ')?;
    }
    match source {
        Source::Bytes(bytes) => write!(f, "({} bytes)", bytes.len()),
        Source::Url(url) => quoted(f, url),
        Source::ContentId(id) => quoted(f, id),
    }
}

fn metadata(f: &mut fmt::Formatter<'_>, metadata: &Metadata, summary_ids: &[MessageId]) -> fmt::Result {
    if metadata.attributes().next().is_some() {
        f.write_str("attribute=[")?;
        separated(f, ", ", metadata.attributes(), |f, attribute| write!(f, "{attribute}"))?;
        f.write_str("], ")?;
    }
    if !summary_ids.is_empty() {
        f.write_str("summaryIds=[")?;
        separated(f, ", ", summary_ids, |f, id| write!(f, "{id}"))?;
        f.write_str("], ")?;
    }
    if let Some(forked_from) = metadata.forked_from() {
        f.write_str("forkedFrom=")?;
        quoted(f, &forked_from.conversation)?;
        f.write_str(", ")?;
    }
    if let Some(decision) = metadata.decision() {
        decision.step.iter().try_for_each(|step| write!(f, "step={step}, "))?;
        if let Some(policy) = &decision.decided_by {
            f.write_str("policy=")?;
            quoted(f, policy)?;
            f.write_str(", ")?;
        }
        decision.role_hint.iter().try_for_each(|hint| write!(f, "roleHint={hint}, "))?;
    }
    if let Some(record) = metadata.turn() {
        turn::turn(f, record)?;
        f.write_str(", ")?;
    }
    if let Some(record) = metadata.request() {
        f.write_str("request={model")?;
        turn::request(f, record)?;
        f.write_str("}, ")?;
    }
    if !metadata.aux().is_empty() {
        f.write_str("aux=")?;
        entries(f, metadata.aux())?;
        f.write_str(", ")?;
    }
    f.write_str("timing=[")?;
    separated(f, ", ", metadata.timings(), |f, (timing, at)| write!(f, "{{{timing}={at}}}"))?;
    f.write_char(']')
}

fn value(f: &mut fmt::Formatter<'_>, shown: &Value) -> fmt::Result {
    match shown {
        Value::Null => f.write_str("null"),
        Value::Bool(bool) => write!(f, "{bool}"),
        Value::Number(number) => write!(f, "{number}"),
        Value::String(text) => quoted(f, text),
        Value::Bytes(bytes) => write!(f, "({} bytes)", bytes.len()),
        Value::List(list) => {
            f.write_char('[')?;
            separated(f, ", ", list.iter(), value)?;
            f.write_char(']')
        }
        Value::Map(map) => entries(f, map),
    }
}

fn entries(f: &mut fmt::Formatter<'_>, entries: &Map) -> fmt::Result {
    f.write_char('{')?;
    separated(f, ", ", entries, |f, (key, shown)| {
        on_one_line(f, key)?;
        f.write_char('=')?;
        value(f, shown)
    })?;
    f.write_char('}')
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    separator: &str,
    items: impl IntoIterator<Item = T>,
    mut show: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        show(f, item)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
