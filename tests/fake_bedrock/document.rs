//! Documents of the SDK from JSON.

use aws_smithy_types::{Document, Number};
use serde_json::Value as Json;

pub fn document(json: Json) -> Document {
    match json {
        Json::Null => Document::Null,
        Json::Bool(bool) => Document::Bool(bool),
        Json::Number(number) => Document::Number(match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Number::PosInt(number),
            (None, Some(number)) => Number::NegInt(number),
            (None, None) => Number::Float(number.as_f64().unwrap()),
        }),
        Json::String(text) => Document::String(text),
        Json::Array(items) => Document::Array(items.into_iter().map(document).collect()),
        Json::Object(entries) => {
            Document::Object(entries.into_iter().map(|(key, value)| (key, document(value))).collect())
        }
    }
}
