//! Why `serde_json` refuses a text, as a [`Problem`].
//!
//! The messages of `serde` quote values. This module takes over only what precedes or follows the quoted value, and falls
//! back to a text of its own.

use std::fmt;

use super::error::Problem;

/// Marks an error of ours among those of `serde`. No message of `serde` starts with it.
const OURS: char = '\u{1}';

/// An error of ours that `serde` carries.
pub(super) struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OURS}{}", self.0)
    }
}

/// Returns the problem that an error means. `rest` is the text from the error on.
pub(super) fn problem(error: &serde_json::Error, rest: &str) -> Problem {
    let told = error.to_string();
    let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
    if !error.is_data() {
        // The text is JSON as a whole: only a name of a known set is read so.
        return match told {
            "expected value" if !rest.is_empty() => {
                Problem::WrongKind { expected: "a string".to_owned(), found: JsonKind::of(rest).name() }
            }
            rule => Problem::NotJson { reason: rule.to_owned() },
        };
    }
    if let Some(reason) = told.strip_prefix(OURS) {
        return Problem::invalid(reason);
    }
    let expected = || told.rsplit_once(", expected ").map_or("another value", |(_, expected)| expected);
    let known = || expected().trim_start_matches("one of ").to_owned();
    if let Some(found) = told.strip_prefix("invalid type: ") {
        return Problem::WrongKind { expected: plainly(expected()), found: found_kind(found) };
    }
    if let Some(key) = told.strip_prefix("missing field `") {
        return Problem::MissingKey { key: key.trim_end_matches('`').to_owned() };
    }
    if told.starts_with("unknown field `") {
        return Problem::UnknownKey { known: known() };
    }
    if told.starts_with("unknown variant `") {
        return Problem::UnknownName { known: known() };
    }
    if told.starts_with("duplicate field `") {
        return Problem::RepeatedKey;
    }
    Problem::invalid("the value does not have the form that belongs here")
}

fn plainly(expected: &str) -> String {
    match expected {
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
    .to_owned()
}

fn found_kind(unexpected: &str) -> &'static str {
    let kinds = [
        ("null", "null"),
        ("unit", "null"),
        ("boolean", "true or false"),
        ("integer", "a number"),
        ("floating", "a number"),
        ("string", "a string"),
        ("sequence", "a list"),
        ("map", "an object"),
    ];
    kinds.iter().find(|(told, _)| unexpected.starts_with(told)).map_or("another value", |(_, kind)| kind)
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
    /// The kind of the value that `json` begins with.
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
