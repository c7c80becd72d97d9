//! Contents in a record: a text is a plain string, any other content is a map with a `type`.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::{Error, Serialize, Serializer};
use serde_json::{Map as JsonMap, Value as Json};

use super::{Content, Media, ResultContent};
use crate::message::error::MessageError;
use crate::message::text::Text;
use crate::message::value::{Map, Value};

impl Serialize for Content {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Media(media) => typed(media.kind.as_str(), media, serializer),
            Self::ToolCall(tool_call) => typed("toolCall", tool_call, serializer),
            Self::ToolResult(result) => typed("toolResult", result, serializer),
            Self::Unknown(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for ResultContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Json(value) => typed("json", &serde_json::json!({"json": value}), serializer),
            Self::Media(media) => typed(media.kind.as_str(), media, serializer),
            Self::Unknown(map) => map.serialize(serializer),
        }
    }
}

/// Writes a content with its type, and all keys in their order.
fn typed<S: Serializer>(name: &str, content: &impl Serialize, serializer: S) -> Result<S::Ok, S::Error> {
    // Not a `Map`, which nests at most 32 deep: the content adds a level around a value that may already nest that
    // deep.
    let mut json = serde_json::to_value(content).map_err(S::Error::custom)?;
    if let Some(entries) = json.as_object_mut() {
        entries.insert("type".to_owned(), name.into());
    }
    json.serialize(serializer)
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrMap(read_content))
    }
}

impl<'de> Deserialize<'de> for ResultContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrMap(read_result_content))
    }
}

/// Reads a plain string as a text, and a map with `F`.
struct TextOrMap<F>(F);

impl<'de, T: From<Text>, F: FnOnce(JsonMap<String, Json>) -> Result<T, MessageError>> Visitor<'de> for TextOrMap<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a map with `type`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Ok(Text::from(text).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        let entries = JsonMap::deserialize(de::value::MapAccessDeserializer::new(entries))?;
        (self.0)(entries).map_err(de::Error::custom)
    }
}

fn read_content(entries: JsonMap<String, Json>) -> Result<Content, MessageError> {
    Ok(match type_of(&entries)? {
        // A newer version wrote a text with other keys.
        "text"
            if entries.len() == 2
                && let Some(Json::String(text)) = entries.get("text") =>
        {
            text.as_str().into()
        }
        "image" | "audio" | "video" | "document" => Content::Media(Box::new(read_attachment(entries)?)),
        "toolCall" => Content::ToolCall(Box::new(read(
            without_type(entries),
            "a tool call has `id` and `name`, each 1 to 64 of [a-zA-Z0-9_-] (in `id` also `.` and `:`), and `arguments`",
        )?)),
        "toolResult" => Content::ToolResult(Box::new(read_result(without_type(entries))?)),
        _ => Content::Unknown(Box::new(read_unknown(entries)?)),
    })
}

fn read_result_content(entries: JsonMap<String, Json>) -> Result<ResultContent, MessageError> {
    Ok(match type_of(&entries)? {
        "image" | "audio" | "video" | "document" => ResultContent::Media(Box::new(read_attachment(entries)?)),
        // A newer version wrote a value with other keys.
        "json" if entries.len() <= 2 => {
            let json = without_type(entries).remove("json");
            let value = json.and_then(|json| serde_json::from_value(json).ok());
            ResultContent::Json(value.ok_or(MessageError::record("a content of type `json` has a value in `json`"))?)
        }
        _ => ResultContent::Unknown(Box::new(read_unknown(entries)?)),
    })
}

fn type_of(entries: &JsonMap<String, Json>) -> Result<&str, MessageError> {
    entries
        .get("type")
        .and_then(Json::as_str)
        .ok_or(MessageError::record("a content is a text or has a text in `type`"))
}

fn without_type(mut entries: JsonMap<String, Json>) -> JsonMap<String, Json> {
    entries.remove("type");
    entries
}

/// Reads a content. Errors of serde may quote what was said, so `form` replaces them.
fn read<T: DeserializeOwned>(entries: JsonMap<String, Json>, form: &'static str) -> Result<T, MessageError> {
    serde_json::from_value(Json::Object(entries)).map_err(|_| MessageError::record(form))
}

fn read_attachment(entries: JsonMap<String, Json>) -> Result<Media, MessageError> {
    const FORM: &str = "an attachment has one of `bytes`, `url` and `contentId`, and texts in its other known keys";
    read_with_one_of(&["bytes", "url", "contentId"], entries, FORM)
}

fn read_result<T: DeserializeOwned>(entries: JsonMap<String, Json>) -> Result<T, MessageError> {
    const FORM: &str =
        "a tool result has `toolCallId`, `name`, and either a list `content` or an `error` with a `message`";
    read_with_one_of(&["content", "error"], entries, FORM)
}

fn read_with_one_of<T: DeserializeOwned>(
    keys: &[&str],
    entries: JsonMap<String, Json>,
    form: &'static str,
) -> Result<T, MessageError> {
    // Serde would take the first of several keys as the variant, and the others as unknown.
    if keys.iter().filter(|key| entries.contains_key(**key)).count() != 1 {
        return Err(MessageError::record(form));
    }
    read(entries, form)
}

fn read_unknown(entries: JsonMap<String, Json>) -> Result<Map, MessageError> {
    read(entries, "a content has a value that DynamoDB cannot store")
}

/// Reads a key that is present and not `null`.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads the remaining entries of a map, if there are any.
pub(super) fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Map>, D::Error> {
    Map::deserialize(deserializer).map(|map| Some(map).filter(|map| !map.is_empty()))
}

/// Bytes with the tag of a [`Value`].
pub(super) mod bytes {
    use std::sync::Arc;

    use super::{Deserialize, Deserializer, Serialize, Serializer, Value, de};

    pub fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        Value::Bytes(bytes.clone()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(de::Error::custom("`bytes` has no bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::ToolCall;

    #[test]
    fn deepest_value_round_trips() {
        let deep = (0..32).fold(Value::Null, |value, _| Value::list([value]).unwrap());
        let call = ToolCall::new("call_1", "f", deep.clone()).unwrap();
        for content in [Content::from(call.success([deep])), Content::from(call)] {
            let json = serde_json::to_string(&content).unwrap();
            assert!(serde_json::from_str::<Content>(&json).unwrap() == content);
        }
    }

    fn assert_round_trip(json: serde_json::Value) {
        let content: Content = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&content).unwrap(), json);
    }

    #[test]
    fn every_kind_round_trips() {
        for json in [
            json!("Hi, there"),
            json!({"type": "image", "bytes": {"$bytes": "aGk="}, "mimeType": "image/png", "promptHint": "the receipt"}),
            json!({"type": "audio", "url": "https://example.com/a.mp3"}),
            json!({"type": "video", "contentId": "sha256:ab"}),
            json!({"type": "document", "url": "https://example.com/a.pdf", "title": "Terms"}),
            json!({"type": "toolCall", "id": "call_1", "name": "get_user", "arguments": {"id": 7}}),
            json!({"type": "toolResult", "toolCallId": "call_1", "name": "get_user",
                "content": ["found", {"type": "json", "json": {"name": "Mia"}}, {"type": "image", "url": "https://e.com/i"}]}),
            json!({"type": "toolResult", "toolCallId": "call_1", "name": "get_user",
                "error": {"type": "Timeout", "message": "no answer", "retryable": true}}),
        ] {
            assert_round_trip(json);
        }
    }

    #[test]
    fn entries_of_a_newer_version_are_kept() {
        for json in [
            json!({"type": "hologram", "depth": 3}),
            json!({"type": "text", "text": "hello", "language": "it"}),
            json!({"type": "image", "url": "https://e.com/i", "detail": "high"}),
            json!({"type": "toolCall", "id": "call_1", "name": "f", "arguments": {}, "server": true}),
            json!({"type": "toolResult", "toolCallId": "call_1", "name": "f",
                "content": [{"type": "hologram", "depth": 3}, {"type": "text", "text": "hello", "language": "it"},
                    {"type": "json", "json": {"a": 1}, "schema": "s"}]}),
            json!({"type": "toolResult", "toolCallId": "call_1", "name": "f",
                "error": {"message": "no answer", "code": 504}}),
        ] {
            assert_round_trip(json);
        }
        assert_eq!(
            serde_json::from_value::<Content>(json!({"type": "text", "text": "a"})).unwrap(),
            Content::from("a")
        );
    }

    #[test]
    fn invalid_content_is_refused() {
        for json in [
            json!(7),
            json!({"text": "no type"}),
            json!({"type": "image"}),
            json!({"type": "image", "url": "u", "contentId": "c"}),
            json!({"type": "image", "url": "u", "mimeType": null}),
            json!({"type": "image", "bytes": "aGk="}),
            json!({"type": "toolCall", "id": "not an id!", "name": "f", "arguments": {}}),
            json!({"type": "toolResult", "toolCallId": "a", "name": "f"}),
            json!({"type": "toolResult", "toolCallId": "a", "name": "f", "content": [], "error": {"message": "a"}}),
            json!({"type": "toolResult", "toolCallId": "a", "name": "f", "error": {"message": " "}}),
        ] {
            assert!(serde_json::from_value::<Content>(json.clone()).is_err(), "{json}");
        }
    }

    #[test]
    fn error_does_not_quote_the_content() {
        let error = serde_json::from_value::<Content>(json!({"type": "image", "url": ["my pin is 4711"]})).unwrap_err();
        assert!(!error.to_string().contains("4711"), "{error}");
    }
}
