//! Turns an error of `serde_json` into a [`Problem`].
//!
//! The messages of `serde` quote values. This module keeps only what precedes or follows the quoted value, and otherwise
//! uses a text of its own.

use std::fmt;

use super::error::Problem;

/// Marks an error of this crate among those of `serde`. No message of `serde` starts with it.
const OURS: char = '\u{1}';

/// An error of this crate that `serde` carries.
pub(super) struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OURS}{}", self.0)
    }
}

/// Returns the problem for an error of `serde_json`. `rest` is the text from the error on.
pub(super) fn problem(error: &serde_json::Error, rest: &str) -> Problem {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    if !error.is_data() {
        // The text as a whole is JSON. Only the name of an enum fails like this.
        return match message {
            "expected value" if !rest.is_empty() => Problem::wrong_kind("a string", JsonKind::of(rest).name()),
            rule => Problem::malformed(format!("the text is not JSON: {rule}")),
        };
    }
    if let Some(reason) = message.strip_prefix(OURS) {
        return Problem::malformed(reason);
    }
    let expected = message.rsplit_once(", expected ").map_or("another value", |(_, expected)| expected);
    if let Some(found) = message.strip_prefix("invalid type: ") {
        return Problem::wrong_kind(plain_name(expected), found_kind(found));
    }
    if let Some(key) = message.strip_prefix("missing field `") {
        return Problem::missing_key(key.trim_end_matches('`'));
    }
    let known = expected.trim_start_matches("one of ");
    match message {
        _ if message.starts_with("unknown field `") => Problem::unknown_key(known),
        _ if message.starts_with("unknown variant `") => Problem::unknown_name(known),
        _ if message.starts_with("duplicate field `") => Problem::repeated_key(),
        _ => Problem::malformed("the value does not have the expected form"),
    }
}

/// Returns the name that JSON users know for a type that `serde` expects.
fn plain_name(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

fn found_kind(unexpected: &str) -> &'static str {
    match unexpected.split([' ', '`']).next() {
        Some("null" | "unit") => JsonKind::Null.name(),
        Some("boolean") => JsonKind::Bool.name(),
        Some("integer" | "floating") => JsonKind::Number.name(),
        Some("string") => JsonKind::String.name(),
        Some("sequence") => JsonKind::List.name(),
        Some("map") => JsonKind::Object.name(),
        _ => "another value",
    }
}

/// The kinds of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonKind {
    Null,
    Bool,
    Number,
    String,
    List,
    Object,
}

impl JsonKind {
    /// Returns the kind of the value that `json` begins with.
    pub fn of(json: &str) -> Self {
        match json.trim_start().bytes().next() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::List,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Bool,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}
