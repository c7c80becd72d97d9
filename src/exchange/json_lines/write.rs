//! Writing the lines of a message.

use std::borrow::Cow;

use crate::clock::write_moment;
use crate::exchange::block::{self, Naming};
use crate::exchange::export::{Losses, Lost};
use crate::exchange::failure;
use crate::exchange::writer::{Fidelity, Writer};
use crate::message::{
    Content, Contents, Document, Invocation, InvocationResult, Message, MessageId, Outcome, Role, Source, Text, Timing,
};

/// Writes the lines of a message, of which these contents were heard.
pub(super) fn message(lines: &mut String, message: &Message, contents: &Contents, losses: &mut Losses) {
    let (of, role) = (message.id(), message.role());
    let at = write_moment(message.metadata().timing(Timing::Creation).unwrap_or_default());
    let told: Vec<&Content> = contents.iter().filter(|content| block::is_told(content, of, losses)).collect();
    let mut line = |entries: &mut dyn FnMut(&mut Writer)| {
        let mut writer = Writer::default();
        writer.object(|writer| {
            entries(writer);
            writer.key("timestamp").string(&at);
        });
        lines.push_str(&writer.into_text());
        lines.push('\n');
    };
    if !role.is_spoken() && told.len() > 1 {
        // In lines of their own they would be several messages.
        return line(&mut |writer| {
            writer.key("role").string(role.as_str());
            writer.key("content").list(|writer| {
                told.iter().for_each(|content| block::write(writer, content, Naming::Unnamed, of, losses));
            });
        });
    }
    for content in told {
        line(&mut |writer| match content {
            Content::Invocation(call) => invocation(writer, call, of, losses),
            Content::InvocationResult(answer) => result(writer, answer, of, losses),
            Content::Document(document) if role == Role::User => reference(writer, document, of, losses),
            content => {
                writer.key("role").string(role.as_str());
                block::write(writer.key("content"), content, Naming::Unnamed, of, losses);
            }
        });
    }
}

fn invocation(writer: &mut Writer, call: &Invocation, of: MessageId, losses: &mut Losses) {
    if call.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
    writer.key("role").string("invocation");
    writer.key("identifier").string(call.id().as_str());
    writer.key("name").string(call.name().as_str());
    if writer.key("arguments").value(call.arguments()) == Fidelity::Told {
        losses.note(of, Lost::Value);
    }
}

fn result(writer: &mut Writer, result: &InvocationResult, of: MessageId, losses: &mut Losses) {
    if result.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
    writer.key("role").string("result");
    writer.key("invocation_id").string(result.invocation_id().as_str());
    match result.outcome() {
        Outcome::Failure(error) => failure::write(writer, error, of, losses),
        Outcome::Success(contents) => {
            writer.key("content");
            match contents.as_slice() {
                [content] => block::write_of_result(writer, content, of, losses),
                parts => writer.list(|writer| {
                    parts.iter().for_each(|part| block::write_of_result(writer, part, of, losses));
                }),
            }
        }
    }
}

/// A document of the user's.
fn reference(writer: &mut Writer, document: &Document, of: MessageId, losses: &mut Losses) {
    if document.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
    writer.key("role").string("document");
    document.title.iter().for_each(|title| writer.key("title").string(title));
    writer.key("content").object(|writer| {
        let mime_type = document.mime_type.as_deref();
        match words(document) {
            Some((key, words)) => {
                writer.key("type").string("text");
                writer.key(key).string(&words);
                let named = mime_type.filter(|mime_type| *mime_type != block::PLAIN);
                named.into_iter().for_each(|mime_type| writer.key("mime_type").string(mime_type));
            }
            None => {
                writer.key("type").string("document");
                block::source_entry(writer, &document.source);
                mime_type.into_iter().for_each(|mime_type| writer.key("mime_type").string(mime_type));
            }
        }
    });
}

/// The words of a document that is a text, or where they are, with their key.
fn words(document: &Document) -> Option<(&'static str, Cow<'_, str>)> {
    if !document.mime_type.as_ref().is_some_and(|mime_type| mime_type.starts_with("text/")) {
        return None;
    }
    match &document.source {
        Source::Bytes(bytes) => Some(("text", std::str::from_utf8(bytes).ok()?.into())),
        Source::ContentId(id) => Some(("content_id", Text::as_str(id).into())),
        Source::Url(_) => None,
    }
}
