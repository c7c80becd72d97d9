//! [`Writer`]: JSON text, written from front to back.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::message::Value;

/// JSON text, written from front to back.
#[derive(Default)]
pub(super) struct Writer {
    text: String,
    wants_comma: bool,
}

/// Whether plain JSON says all of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Fidelity {
    Exact,
    /// Bytes are told as base64.
    Told,
}

impl Writer {
    pub fn into_text(self) -> String {
        self.text
    }

    /// An object, whose entries `entries` writes.
    pub fn object(&mut self, entries: impl FnOnce(&mut Self)) {
        self.around('{', '}', entries);
    }

    /// A list, whose items `items` writes.
    pub fn list(&mut self, items: impl FnOnce(&mut Self)) {
        self.around('[', ']', items);
    }

    /// A key, whose value is to be written next.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.string(key);
        self.text.push(':');
        self.wants_comma = false;
        self
    }

    pub fn string(&mut self, string: &str) {
        self.next();
        self.text.push('"');
        let mut left = string;
        while let Some(at) = left.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
            let (plain, special) = left.split_at(at);
            self.text.push_str(plain);
            let (escaped, rest) = special.split_at(1);
            self.escape(escaped.bytes().next().unwrap_or_default());
            left = rest;
        }
        self.text.push_str(left);
        self.text.push('"');
    }

    pub fn bool(&mut self, bool: bool) {
        self.plain(if bool { "true" } else { "false" });
    }

    pub fn null(&mut self) {
        self.plain("null");
    }

    /// Bytes, as a string in base64.
    pub fn base64(&mut self, bytes: &[u8]) {
        self.string(&STANDARD.encode(bytes));
    }

    /// Bytes, as a URL that holds them.
    pub fn data_url(&mut self, mime_type: &str, bytes: &[u8]) {
        self.string(&format!("data:{mime_type};base64,{}", STANDARD.encode(bytes)));
    }

    /// JSON that another writer wrote.
    pub fn written(&mut self, json: &str) {
        self.plain(json);
    }

    /// A value as plain JSON, each number exactly.
    pub fn value(&mut self, value: &Value) -> Fidelity {
        match value {
            Value::Null => self.null(),
            Value::Bool(bool) => self.bool(*bool),
            // As it is kept, it is a number of JSON.
            Value::Number(number) => self.plain(&number.to_string()),
            Value::String(text) => self.string(text),
            Value::List(items) => return self.values(items.iter()),
            Value::Map(entries) => {
                let mut fidelity = Fidelity::Exact;
                self.object(|writer| {
                    fidelity = entries.iter().map(|(key, value)| writer.key(key).value(value)).collect();
                });
                return fidelity;
            }
            Value::Bytes(bytes) => {
                self.base64(bytes);
                return Fidelity::Told;
            }
        }
        Fidelity::Exact
    }

    fn values<'a>(&mut self, values: impl Iterator<Item = &'a Value>) -> Fidelity {
        let mut fidelity = Fidelity::Exact;
        self.list(|writer| fidelity = values.map(|value| writer.value(value)).collect());
        fidelity
    }

    fn around(&mut self, open: char, close: char, inner: impl FnOnce(&mut Self)) {
        self.next();
        self.text.push(open);
        self.wants_comma = false;
        inner(self);
        self.text.push(close);
        self.wants_comma = true;
    }

    fn plain(&mut self, word: &str) {
        self.next();
        self.text.push_str(word);
    }

    fn next(&mut self) {
        if self.wants_comma {
            self.text.push(',');
        }
        self.wants_comma = true;
    }

    fn escape(&mut self, byte: u8) {
        match byte {
            b'"' => self.text.push_str("\\\""),
            b'\\' => self.text.push_str("\\\\"),
            b'\n' => self.text.push_str("\\n"),
            b'\r' => self.text.push_str("\\r"),
            b'\t' => self.text.push_str("\\t"),
            control => {
                let written = write!(self.text, "\\u{control:04x}");
                debug_assert!(written.is_ok(), "a text takes all that is written to it");
            }
        }
    }
}

/// Exact if each is.
impl FromIterator<Fidelity> for Fidelity {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        all.into_iter().fold(Self::Exact, |so_far, next| if next == Self::Told { Self::Told } else { so_far })
    }
}
