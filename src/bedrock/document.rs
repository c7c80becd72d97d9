//! Conversions between [`Value`]s, the SDK's documents (tool arguments, schemas, results) and JSON.

use aws_smithy_types::{Document, Number as SdkNumber};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::message::{MessageError, Number, Value};

/// Converts a value to a document of the SDK, such as the input of a tool call or the schema of a tool.
///
/// Values that JSON cannot express become strings. Bytes become base64. A number becomes its digits if no `i64`, `u64`
/// or `f64` holds it exactly.
pub(super) fn to_document(value: &Value) -> Document {
    match value {
        Value::Null => Document::Null,
        Value::Bool(bool) => Document::Bool(*bool),
        Value::Number(number) => number_document(number),
        Value::String(text) => Document::String(text.as_str().to_owned()),
        Value::Bytes(bytes) => Document::String(STANDARD.encode(bytes)),
        Value::List(list) => Document::Array(list.iter().map(to_document).collect()),
        Value::Map(map) => Document::Object(map.iter().map(|(key, value)| (key.clone(), to_document(value))).collect()),
    }
}

fn number_document(number: &Number) -> Document {
    if let Some(int) = number.as_u64() {
        return Document::Number(SdkNumber::PosInt(int));
    }
    if let Some(int) = number.as_i64() {
        return Document::Number(SdkNumber::NegInt(int));
    }
    let float = number.to_f64();
    if Number::try_from(float).as_ref() == Ok(number) {
        Document::Number(SdkNumber::Float(float))
    } else {
        Document::String(number.to_string())
    }
}

/// Converts a document of the SDK, such as the input of a tool call, to a value.
///
/// Returns [`MessageError`] if a number is NaN, infinite or outside DynamoDB's range, or if the document is nested more than
/// 32 levels deep.
pub(super) fn from_document(document: &Document) -> Result<Value, MessageError> {
    Ok(match document {
        Document::Null => Value::Null,
        Document::Bool(bool) => Value::Bool(*bool),
        Document::Number(SdkNumber::PosInt(int)) => Value::from(*int),
        Document::Number(SdkNumber::NegInt(int)) => Value::from(*int),
        Document::Number(SdkNumber::Float(float)) => Value::try_from(*float)?,
        Document::String(text) => Value::from(text.as_str()),
        Document::Array(items) => Value::list(items.iter().map(from_document).collect::<Result<Vec<_>, _>>()?)?,
        Document::Object(entries) => Value::map(
            entries
                .iter()
                .map(|(key, value)| Ok((key.as_str(), from_document(value)?)))
                .collect::<Result<Vec<_>, MessageError>>()?,
        )?,
    })
}

/// Returns the JSON that the SDK sends for a document.
pub(super) fn document_json(document: &Document) -> Json {
    match document {
        Document::Null => Json::Null,
        Document::Bool(bool) => Json::Bool(*bool),
        Document::Number(SdkNumber::PosInt(int)) => (*int).into(),
        Document::Number(SdkNumber::NegInt(int)) => (*int).into(),
        Document::Number(SdkNumber::Float(float)) => float_json(*float),
        Document::String(text) => text.as_str().into(),
        Document::Array(items) => items.iter().map(document_json).collect(),
        Document::Object(entries) => entries.iter().map(|(key, value)| (key.as_str(), document_json(value))).collect(),
    }
}

/// The SDK sends numbers that JSON lacks as strings.
fn float_json(float: f64) -> Json {
    if float.is_nan() {
        "NaN".into()
    } else if float.is_infinite() {
        if float > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        float.into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_values_survive_a_round_trip() {
        let json = json!({"a": [1, -2, 2.5, null, true, "x"], "big": u64::MAX, "small": i64::MIN, "none": {}});
        let value = Value::try_from(json.clone()).unwrap();
        let document = to_document(&value);
        assert_eq!(document_json(&document), json);
        assert!(from_document(&document).unwrap() == value);
    }

    #[test]
    fn bytes_and_long_numbers_become_strings() {
        let long: Number = "12345678901234567890123456789012345678".parse().unwrap();
        let value = Value::map([("bytes", Value::from(b"hi".as_slice())), ("long", long.into())]).unwrap();
        assert_eq!(
            document_json(&to_document(&value)),
            json!({"bytes": "aGk=", "long": "12345678901234567890123456789012345678"})
        );
    }

    #[test]
    fn nan_and_deep_nesting_are_refused() {
        let nan = Document::Number(SdkNumber::Float(f64::NAN));
        assert_eq!(from_document(&nan), Err(MessageError::NOT_FINITE));
        let deep = (0..33).fold(Document::Null, |inner, _| Document::Array(vec![inner]));
        assert_eq!(from_document(&deep), Err(MessageError::TOO_DEEP));
    }
}
