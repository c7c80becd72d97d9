//! [`MessageError`]: why something cannot be part of a message.

use std::borrow::Cow;

/// The reason why something cannot be part of a message. Never contains the words of a caller.
///
/// It displays as one sentence for a developer; [`kind`](Self::kind) is for code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{text}", if *kind == MessageErrorKind::Record { "not a record: " } else { "" })]
pub struct MessageError {
    kind: MessageErrorKind,
    text: Cow<'static, str>,
}

/// The part of a message that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageErrorKind {
    /// The id of a message or a tool call, or the name of a tool.
    Identifier,
    /// A number, a time, a nested value, the schema of a tool's arguments, or the text of a tool's error.
    Value,
    /// An image, audio, video or document.
    Attachment,
    /// A stored record or one of its contents.
    Record,
}

impl MessageError {
    pub(crate) const INVALID_ID: Self =
        Self::new(MessageErrorKind::Identifier, "a message id is a ULID: 26 characters of Crockford's base 32");
    pub(crate) const BLANK_TOOL_CALL_ERROR: Self =
        Self::new(MessageErrorKind::Value, "the message of a tool call's error is blank; say what went wrong");
    pub(crate) const NOT_FINITE: Self = Self::new(
        MessageErrorKind::Value,
        "NaN and infinite numbers cannot be stored; leave the value out or store a text",
    );
    pub(crate) const INVALID_CONFIDENCE: Self =
        Self::new(MessageErrorKind::Value, "a confidence is a decimal number from 0 to 1; divide a percentage by 100");
    pub(crate) const NOT_A_NUMBER: Self =
        Self::new(MessageErrorKind::Value, "not a decimal number such as -12.5 or 1e-9");
    pub(crate) const NUMBER_OUT_OF_RANGE: Self = Self::new(
        MessageErrorKind::Value,
        "a number is 0 or has a magnitude from 1E-130 to 9.99E+125; store it as a text",
    );
    pub(crate) const TOO_DEEP: Self = Self::new(MessageErrorKind::Value, "lists and maps nest at most 32 deep");
    pub(crate) const NO_OBJECT_SCHEMA: Self = Self::new(
        MessageErrorKind::Value,
        "the schema of a tool's arguments is a JSON Schema with `\"type\": \"object\"`, even if the tool has none",
    );
    pub(crate) const NO_BYTES: Self =
        Self::new(MessageErrorKind::Attachment, "the attachment is empty; give at least one byte");
    pub(crate) const INVALID_DATA_URL: Self = Self::new(
        MessageErrorKind::Attachment,
        "a `data:` URL has the form `data:image/png;base64,…`, with padding and without white space",
    );

    pub(crate) const fn new(kind: MessageErrorKind, text: &'static str) -> Self {
        Self { kind, text: Cow::Borrowed(text) }
    }

    pub(crate) fn with_details(kind: MessageErrorKind, text: String) -> Self {
        Self { kind, text: Cow::Owned(text) }
    }

    /// A record, or a content in it, that does not have the form of one.
    pub(crate) const fn record(reason: &'static str) -> Self {
        Self::new(MessageErrorKind::Record, reason)
    }

    /// Returns the part of a message that was refused.
    pub fn kind(&self) -> MessageErrorKind {
        self.kind
    }
}
