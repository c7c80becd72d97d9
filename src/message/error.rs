//! [`MessageError`]: why something cannot be part of a message.

use crate::message::text::Text;
use crate::message::value::{MAX_DEPTH, MAX_DIGITS};

/// Why something cannot be part of a message. Never holds what was said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The text of a message id is not a ULID.
    #[error("a message id is a ULID: 26 characters of Crockford's base 32")]
    InvalidId,
    /// Bedrock takes 1 to 64 of `[a-zA-Z0-9_-]` as `toolUseId`.
    #[error("a tool call id has 1 to 64 characters of [a-zA-Z0-9_-]; this one has {length} bytes")]
    InvalidToolCallId {
        /// Bytes of the refused id.
        length: usize,
    },
    /// Bedrock takes 1 to 64 of `[a-zA-Z0-9_-]` as the name of a tool.
    #[error("a tool name has 1 to 64 characters of [a-zA-Z0-9_-]; this one has {length} bytes")]
    InvalidToolName {
        /// Bytes of the refused name.
        length: usize,
    },
    /// An error told to the model must say something.
    #[error("the error message of an invocation result must not be blank")]
    BlankToolCallError,
    /// NaN and the infinities have no place in JSON, nor in DynamoDB.
    #[error("NaN and infinite numbers cannot be stored; leave the value out or store a text")]
    NotFinite,
    /// A time is in milliseconds since the Unix epoch.
    #[error("{at} is a time in seconds, and milliseconds since the Unix epoch are needed; multiply by 1000")]
    Seconds {
        /// The refused time.
        at: i64,
    },
    /// A confidence is a probability.
    #[error("a confidence is a decimal number from 0 to 1; divide a percentage by 100")]
    InvalidConfidence,
    /// Not a decimal number.
    #[error("not a decimal number such as -12.5 or 1e-9")]
    NotANumber,
    /// DynamoDB keeps 38 significant digits.
    #[error("a number has at most {MAX_DIGITS} significant digits; this one has {digits}")]
    TooManyDigits {
        /// Significant digits of the refused number.
        digits: usize,
    },
    /// DynamoDB keeps magnitudes from 1E-130 to 9.99…E+125.
    #[error("a number is 0 or has a magnitude from 1E-130 to 9.99E+125; store it as a text")]
    NumberOutOfRange,
    /// DynamoDB nests lists and maps 32 deep.
    #[error("lists and maps nest at most {MAX_DEPTH} deep")]
    TooDeep,
    /// JSON has no bytes, and not every number.
    #[error("{what} cannot be said in plain JSON")]
    NotJson {
        /// The kind of value.
        what: &'static str,
    },
    /// There is nothing in an image or a file.
    #[error("media and documents have bytes: this one has none")]
    NoBytes,
    /// The bytes of media or of a document are not what is said of them.
    #[error("the bytes are {found}, and not {}: leave the MIME type out, or give the one that they have", given.as_str())]
    ContradictedMimeType {
        /// What was said.
        given: Text,
        /// What they are.
        found: &'static str,
    },
    /// Media or a document is of another kind than is said.
    #[error("{kind} cannot be {}: add it as what it is", mime_type.as_str())]
    OtherKind {
        /// What it was to be.
        kind: &'static str,
        /// What it is.
        mime_type: Text,
    },
    /// Not a MIME type.
    #[error("a MIME type is like `image/png`; this one has {length} bytes and is not")]
    InvalidMimeType {
        /// Bytes of the refused one.
        length: usize,
    },
    /// Not a URL.
    #[error("a URL is a scheme, a colon and no white space, as in `https://…`; this one has {length} bytes and is not")]
    InvalidUrl {
        /// Bytes of the refused one.
        length: usize,
    },
    /// A `data:` URL that cannot be read.
    #[error("a `data:` URL is read as `data:image/png;base64,…`, with padding and without white space")]
    InvalidDataUrl,
    /// The arguments of a tool are an object.
    #[error("the schema of a tool's arguments is a JSON Schema with `\"type\": \"object\"`, also if it takes none")]
    NoObjectSchema,
    /// A value does not have the form of a content.
    #[error("not a content of a message: {reason}")]
    InvalidContent {
        /// What is missing or wrong.
        reason: &'static str,
    },
    /// A record does not have the form of one.
    #[error("not a record: {reason}")]
    InvalidRecord {
        /// What is missing or wrong.
        reason: &'static str,
    },
}
