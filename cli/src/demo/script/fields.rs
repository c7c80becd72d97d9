//! [`Fields`]: the fields of a JSON object, checked without ever quoting them.

use serde_json::{Map, Value as Json};

use super::error::Problem;

/// In bytes. A message with it, and all that is known about it, fits into an item of the log, which has 400 KB.
const LONGEST_TEXT: usize = 300_000;

/// The fields of a JSON object; those that nobody asks for may be anything.
#[derive(Clone, Copy)]
pub struct Fields<'a>(&'a Map<String, Json>);

impl<'a> Fields<'a> {
    pub fn of(object: &'a Map<String, Json>) -> Self {
        Self(object)
    }

    pub fn of_json(json: &'a Json) -> Result<Self, Problem> {
        json.as_object().map(Self).ok_or(Problem::NotAnObject)
    }

    pub fn text(self, field: &'static str) -> Result<&'a str, Problem> {
        self.optional_text(field)?.ok_or_else(|| self.missing_or_not(field, "a text"))
    }

    /// `None` where the field is absent or null.
    pub fn optional_text(self, field: &'static str) -> Result<Option<&'a str>, Problem> {
        let Some(json) = self.optional(field) else { return Ok(None) };
        match json.as_str() {
            None => Err(Problem::Not { field, wanted: "a text" }),
            Some(text) if text.len() > LONGEST_TEXT => Err(Problem::TooLong(field)),
            text => Ok(text),
        }
    }

    pub fn milliseconds(self, field: &'static str) -> Result<i64, Problem> {
        const WANTED: &str = "a whole number of ms, of 64 bits";
        let json = self.optional(field).ok_or_else(|| self.missing_or_not(field, WANTED))?;
        json.as_i64().ok_or(Problem::Not { field, wanted: WANTED })
    }

    pub fn object(self, field: &'static str) -> Result<Self, Problem> {
        const WANTED: &str = "an object";
        let json = self.optional(field).ok_or_else(|| self.missing_or_not(field, WANTED))?;
        json.as_object().map(Self).ok_or(Problem::Not { field, wanted: WANTED })
    }

    /// Empty where the field is absent or null.
    pub fn optional_list(self, field: &'static str) -> Result<&'a [Json], Problem> {
        let list = |json: &'a Json| json.as_array().ok_or(Problem::Not { field, wanted: "a list" });
        Ok(self.optional(field).map(list).transpose()?.map_or(&[], Vec::as_slice))
    }

    pub fn has(self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    fn optional(self, field: &str) -> Option<&'a Json> {
        self.0.get(field).filter(|json| !json.is_null())
    }

    fn missing_or_not(self, field: &'static str, wanted: &'static str) -> Problem {
        if self.has(field) { Problem::Not { field, wanted } } else { Problem::Missing(field) }
    }
}
