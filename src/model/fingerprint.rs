//! The fingerprint of a request: a short hash that identifies a prompt in the log.

use std::collections::HashMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Inference, ModelRequest};
use crate::message::{Content, Media, ResultContent, Source, ToolCallId};

impl ModelRequest {
    /// Returns the first 128 bits of the request's SHA-256, as 32 digits of lower-case hex.
    ///
    /// The fingerprint covers tools, instructions, memory, inference settings, and the roles and contents of the messages.
    /// It ignores message ids and uses tool call ids only to pair calls with results, so two runs of one script have equal
    /// fingerprints in every process. It may change with the version of this crate.
    ///
    /// Computing it takes time in proportion to the whole request, including the bytes of attachments.
    pub fn fingerprint(&self) -> String {
        // Without `..`, so that a new field does not compile until this function handles it.
        let Self { tools, system, late_system, memory, messages, inference } = self;
        let Inference { temperature, top_p, max_tokens, stop_sequences, model_fields } = inference;
        // Adding 0 turns -0 into 0.
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
        hasher.sha.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the fingerprint of the prompt without tools and inference settings. A log has all of the prompt, and none of
    /// the settings.
    pub(crate) fn prompt_fingerprint(&mut self) -> String {
        let (tools, inference) = (std::mem::take(&mut self.tools), std::mem::take(&mut self.inference));
        let fingerprint = self.fingerprint();
        (self.tools, self.inference) = (tools, inference);
        fingerprint
    }
}

/// Hashes lines of JSON. The encoding is unique: maps are sorted, and equal numbers are written alike.
#[derive(Default)]
struct Hasher<'a> {
    sha: Sha256,
    line: Vec<u8>,
    /// The number of each tool call id, in order of appearance.
    calls: HashMap<&'a ToolCallId, usize>,
}

impl<'a> Hasher<'a> {
    fn json(&mut self, value: &impl Serialize) {
        self.line.clear();
        // Never fails: the keys are texts, and no number is infinite.
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
            Content::ToolCall(call) => {
                let number = self.number(call.id());
                self.json(&("call", number, call.name().as_str(), call.arguments()));
            }
            Content::ToolResult(result) => {
                let number = self.number(result.tool_call_id());
                let name = result.name().as_str();
                match result.outcome() {
                    Ok(contents) => {
                        self.json(&("success", number, name, contents.len()));
                        contents.iter().for_each(|content| self.result(content));
                    }
                    Err(error) => {
                        let error = (error.error_type(), error.message(), error.retryable());
                        self.json(&("failure", number, name, error));
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
            ResultContent::Unknown(map) => self.json(&("unknown", &**map)),
        }
    }

    fn media(&mut self, media: &Media) {
        self.json(&(media.kind.as_str(), &media.mime_type, &media.label));
        self.source(&media.source);
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
