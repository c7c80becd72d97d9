//! Writes a [`Summarizing`] as JSON Lines, for a model.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;

use crate::manager::Summarizing;
use crate::message::{Content, Message, json_on_one_line};

/// Writes a line for the previous summary, if any, and one for each message.
pub(in crate::manager) fn json_lines(summarizing: &Summarizing) -> String {
    let mut out = String::with_capacity(summarizing.text_bytes());
    for message in summarizing.previous().into_iter().chain(summarizing.messages()) {
        // A message always has a JSON form.
        json_on_one_line(&mut out, &serde_json::to_string(&Line(message)).unwrap_or_default());
        out.push('\n');
    }
    out
}

struct Line<'a>(&'a Message);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let contents = self.0.heard_contents();
        let mut map = serializer.serialize_map(Some(1))?;
        let speaker = if self.0.is_background() { "context" } else { self.0.role().as_str() };
        map.serialize_entry(speaker, &contents.iter().map(Brief).collect::<Vec<_>>())?;
        map.end()
    }
}

/// A content that is written without the data of media and documents.
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

/// Replaces binary data by its size.
pub(crate) fn without_bytes(json: &mut Json) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(without_bytes),
        Json::Object(fields) => match fields.get("$bytes").and_then(Json::as_str) {
            Some(base64) => *json = (base64.trim_end_matches('=').len() * 3 / 4).into(),
            None => fields.values_mut().for_each(without_bytes),
        },
        _ => {}
    }
}
