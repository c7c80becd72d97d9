//! [`MessageError`]: why something cannot be part of a message.

/// The reason why something cannot be part of a message, as one sentence for a developer.
///
/// Never contains the words of a caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MessageError(Reason);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error("{0}")]
    Fixed(&'static str),
    #[error("{0}")]
    Detailed(String),
    /// A record, or a content in it, does not have the form of one.
    #[error("not a record: {0}")]
    Record(&'static str),
}

impl MessageError {
    pub(crate) const INVALID_ID: Self = Self::new("a message id is a ULID: 26 characters of Crockford's base 32");
    pub(crate) const BLANK_TOOL_ERROR: Self =
        Self::new("the message of a tool call's error is blank; say what went wrong");
    pub(crate) const NOT_FINITE: Self =
        Self::new("NaN and infinite numbers cannot be stored; leave the value out or store a text");
    pub(crate) const INVALID_CONFIDENCE: Self =
        Self::new("a confidence is a decimal number from 0 to 1; divide a percentage by 100");
    pub(crate) const NOT_A_NUMBER: Self = Self::new("not a decimal number such as -12.5 or 1e-9");
    pub(crate) const NUMBER_OUT_OF_RANGE: Self =
        Self::new("a number is 0 or has a magnitude from 1E-130 to 9.99E+125; store it as a text");
    pub(crate) const TOO_DEEP: Self = Self::new("lists and maps nest at most 32 deep");
    pub(crate) const NO_OBJECT_SCHEMA: Self = Self::new(
        "the schema of a tool's arguments is a JSON Schema with `\"type\": \"object\"`, even if the tool has none",
    );
    pub(crate) const NO_BYTES: Self = Self::new("the attachment is empty; give at least one byte");
    pub(crate) const INVALID_DATA_URL: Self =
        Self::new("a `data:` URL has the form `data:image/png;base64,…`, with padding and without white space");

    const fn new(text: &'static str) -> Self {
        Self(Reason::Fixed(text))
    }

    pub(crate) fn with_details(text: String) -> Self {
        Self(Reason::Detailed(text))
    }

    /// A record, or a content in it, that does not have the form of one.
    pub(crate) const fn record(reason: &'static str) -> Self {
        Self(Reason::Record(reason))
    }
}
