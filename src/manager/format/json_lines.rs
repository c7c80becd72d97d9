//! What is to be summarised as JSON Lines, for a model.

use std::fmt::Write;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;

use crate::manager::Summarizing;
use crate::manager::escape::is_harmful;
use crate::message::{Content, Message};

/// A line for the previous summary, if any, and one for each message.
pub(in crate::manager) fn json_lines(summarizing: &Summarizing) -> String {
    let mut out = String::with_capacity(summarizing.text_bytes());
    for message in summarizing.previous().into_iter().chain(summarizing.messages()) {
        // A message always is JSON, and writing to a String cannot fail.
        let line = serde_json::to_string(&Line(message)).unwrap_or_default();
        let mut rest = line.as_str();
        // Inside of a string: elsewhere JSON has no such character.
        while let Some((at, harmful)) = rest.char_indices().find(|(_, c)| is_harmful(*c)) {
            let Some((before, from)) = rest.split_at_checked(at) else { break };
            out.push_str(before);
            for unit in harmful.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
            rest = from.get(harmful.len_utf8()..).unwrap_or_default();
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

struct Line<'a>(&'a Message);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let contents = self.0.heard_contents();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0.role().as_str(), &contents.iter().map(Brief).collect::<Vec<_>>())?;
        map.end()
    }
}

/// A content without the data of media and documents.
struct Brief<'a>(&'a Content);

impl Serialize for Brief<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Content::Text(text) => text.serialize(serializer),
            other => {
                let mut json = serde_json::to_value(other).map_err(serde::ser::Error::custom)?;
                without_bytes(&mut json);
                json.serialize(serializer)
            }
        }
    }
}

fn without_bytes(json: &mut Json) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(without_bytes),
        Json::Object(fields) => match fields.get("$bytes").and_then(Json::as_str) {
            Some(base64) => *json = (base64.trim_end_matches('=').len() * 3 / 4).into(),
            None => fields.values_mut().for_each(without_bytes),
        },
        _ => {}
    }
}
