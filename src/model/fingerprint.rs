//! [`Fingerprint`]: a short hash of a request, to tell which prompt was sent.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Inference, ModelRequest};
use crate::message::{Content, Document, Media, Outcome, ResultContent, Source, ToolCallId};

/// The first 128 bits of the SHA-256 of what a request says. As text: 32 digits of lower-case hex.
///
/// It covers tools, instructions, memory, roles and contents of the messages, and inference settings. It is the same in
/// every process. Ids of messages do not count, and ids of tool calls only as far as they pair calls with results, so two
/// runs of one script have equal fingerprints. Another version of this crate may give other ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl ModelRequest {
    /// Returns the fingerprint of the request.
    ///
    /// It reads all of the request, the bytes of attachments too.
    pub fn fingerprint(&self) -> Fingerprint {
        // Named one by one, so that a new field does not compile until it is decided on here.
        let Self { tools, system, late_system, memory, messages, inference } = self;
        let Inference { temperature, top_p, max_tokens, stop_sequences, model_fields } = inference;
        // Adding 0 makes one of the two zeros.
        let bits = |number: &Option<f64>| number.map(|number| (number + 0.0).to_bits());
        let mut hasher = Hasher::default();
        hasher.json(&(tools.len(), system, late_system, memory, messages.len()));
        hasher.json(&(bits(temperature), bits(top_p), max_tokens, stop_sequences, model_fields));
        for tool in tools.iter() {
            hasher.json(&(tool.name.as_str(), &tool.description, &tool.input_schema));
        }
        for message in messages {
            hasher.json(&(message.role().as_str(), message.contents().len()));
            for content in message.contents() {
                hasher.content(content);
            }
        }
        let digest: [u8; 32] = hasher.sha.finalize().into();
        Fingerprint(digest.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte)))
    }
}

/// Hashes lines of JSON, which says everything in one way: maps are sorted, and equal numbers are written alike.
#[derive(Default)]
struct Hasher<'a> {
    sha: Sha256,
    line: Vec<u8>,
    /// The ids of tool calls, numbered in the order in which they come.
    calls: HashMap<&'a ToolCallId, usize>,
}

impl<'a> Hasher<'a> {
    fn json(&mut self, value: &impl Serialize) {
        self.line.clear();
        // Values have texts as keys and no infinite number, so JSON can say them.
        let _ = serde_json::to_writer(&mut self.line, value);
        self.line.push(b'\n');
        self.sha.update(&self.line);
    }

    fn number(&mut self, call: &'a ToolCallId) -> usize {
        let next = self.calls.len();
        *self.calls.entry(call).or_insert(next)
    }

    fn content(&mut self, content: &'a Content) {
        match content {
            Content::Text(text) => self.json(text),
            Content::Media(media) => self.media(media),
            Content::Document(document) => self.document(document),
            Content::ToolCall(call) => {
                let number = self.number(call.id());
                self.json(&("call", number, call.name().as_str(), call.arguments()));
            }
            Content::ToolResult(result) => {
                let number = self.number(result.tool_call_id());
                let name = result.name().as_str();
                match result.outcome() {
                    Outcome::Success(contents) => {
                        self.json(&("success", number, name, contents.len()));
                        contents.iter().for_each(|content| self.result(content));
                    }
                    Outcome::Failure(error) => {
                        let said = (error.error_type(), error.message(), error.retryable());
                        self.json(&("failure", number, name, said));
                    }
                }
            }
            Content::Unknown(map) => self.json(&("unknown", &**map)),
        }
    }

    fn result(&mut self, content: &ResultContent) {
        match content {
            ResultContent::Text(text) => self.json(text),
            ResultContent::Json(value) => self.json(&("json", value)),
            ResultContent::Media(media) => self.media(media),
            ResultContent::Document(document) => self.document(document),
            ResultContent::Unknown(map) => self.json(&("unknown", &**map)),
        }
    }

    fn media(&mut self, media: &Media) {
        self.json(&(media.kind.as_str(), &media.mime_type, &media.prompt_hint));
        self.source(&media.source);
    }

    fn document(&mut self, document: &Document) {
        self.json(&("document", &document.mime_type, &document.title));
        self.source(&document.source);
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Bytes(bytes) => {
                self.json(&("bytes", bytes.len()));
                self.sha.update(bytes);
            }
            Source::Url(url) => self.json(&("url", url)),
            Source::ContentId(id) => self.json(&("contentId", id)),
        }
    }
}

#[cfg(test)]
mod tests;
