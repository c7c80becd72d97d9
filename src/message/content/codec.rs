//! How contents stand in a record: a text as a plain string, everything else as a map with a `type`.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value as Json;

use super::{
    Content, Document, Media, MediaKind, Outcome, ResultContent, Source, ToolCall, ToolCallError, ToolCallId, ToolName,
    ToolResult,
};
use crate::message::error::MessageError;
use crate::message::text::Text;
use crate::message::value::{Map, Value};

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Media(media) => media_fields(media).serialize(serializer),
            Self::Document(document) => document_fields(document).serialize(serializer),
            Self::ToolCall(tool_call) => tool_call_fields(tool_call).serialize(serializer),
            Self::ToolResult(result) => result_fields(result).serialize(serializer),
            Self::Unknown(map) => serializer.collect_map(map.iter()),
        }
    }
}

impl Serialize for ResultContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Json(value) => Fields::of_type("json", &None).put("json", value).serialize(serializer),
            Self::Media(media) => media_fields(media).serialize(serializer),
            Self::Document(document) => document_fields(document).serialize(serializer),
            Self::Unknown(map) => serializer.collect_map(map.iter()),
        }
    }
}

/// The entries of a content's map, as JSON with the tags of [`Value`].
// Not a `Map`: what is in it may by itself nest as deep as a value can.
struct Fields(Result<serde_json::Map<String, Json>, serde_json::Error>);

impl Fields {
    fn of_type(name: &str, unknown: &Option<Map>) -> Self {
        Self::of_unknown(unknown).put("type", name)
    }

    fn of_unknown(unknown: &Option<Map>) -> Self {
        let empty = Self(Ok(serde_json::Map::new()));
        unknown.iter().flat_map(|map| map.iter()).fold(empty, |fields, (key, value)| fields.put(key, value))
    }

    fn put(self, key: &str, value: impl Serialize) -> Self {
        Self(self.0.and_then(|mut fields| {
            fields.insert(key.into(), serde_json::to_value(value)?);
            Ok(fields)
        }))
    }

    fn put_some(self, key: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.put(key, value),
            None => self,
        }
    }

    fn put_source(self, source: &Source) -> Self {
        match source {
            Source::Bytes(bytes) => self.put("bytes", Value::from(bytes.clone())),
            Source::Url(url) => self.put("url", url),
            Source::ContentId(id) => self.put("contentId", id),
        }
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

fn media_fields(media: &Media) -> Fields {
    Fields::of_type(media.kind.as_str(), &media.unknown)
        .put_source(&media.source)
        .put_some("mimeType", media.mime_type.as_ref())
        .put_some("promptHint", media.prompt_hint.as_ref())
}

fn document_fields(document: &Document) -> Fields {
    Fields::of_type("document", &document.unknown)
        .put_source(&document.source)
        .put_some("title", document.title.as_ref())
        .put_some("mimeType", document.mime_type.as_ref())
}

fn tool_call_fields(tool_call: &ToolCall) -> Fields {
    Fields::of_type("toolCall", &tool_call.unknown)
        .put("id", tool_call.id().as_str())
        .put("name", tool_call.name().as_str())
        .put("arguments", tool_call.arguments())
}

fn result_fields(result: &ToolResult) -> Fields {
    let fields = Fields::of_type("toolResult", &result.unknown)
        .put("toolCallId", result.tool_call_id().as_str())
        .put("name", result.name().as_str());
    match result.outcome() {
        Outcome::Success(contents) => fields.put("content", contents),
        Outcome::Failure(error) => fields.put("error", error_fields(error)),
    }
}

fn error_fields(error: &ToolCallError) -> Fields {
    Fields::of_unknown(&error.unknown)
        .put_some("type", error.error_type())
        .put("message", error.message())
        .put_some("retryable", error.retryable())
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrMap(|taken: Taken| content_from(taken)))
    }
}

impl<'de> Deserialize<'de> for ResultContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrMap(|taken: Taken| result_content_from(taken)))
    }
}

/// Reads a plain string as a text, and a map with `F`.
struct TextOrMap<F>(F);

impl<'de, T: From<String>, F: FnOnce(Taken) -> Result<T, MessageError>> Visitor<'de> for TextOrMap<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a map with `type`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Ok(text.to_owned().into())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<T, E> {
        Ok(text.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        let fields = serde_json::Map::deserialize(de::value::MapAccessDeserializer::new(entries))?;
        (self.0)(Taken(fields)).map_err(de::Error::custom)
    }
}

fn invalid(reason: &'static str) -> MessageError {
    MessageError::InvalidContent { reason }
}

/// The entries of a content's map that are not taken yet.
struct Taken(serde_json::Map<String, Json>);

impl Taken {
    fn take<T: DeserializeOwned>(&mut self, key: &str, wanted: &'static str) -> Result<Option<T>, MessageError> {
        self.0.remove(key).map(|json| serde_json::from_value(json).map_err(|_| invalid(wanted))).transpose()
    }

    fn text(&mut self, key: &str) -> Result<Option<Text>, MessageError> {
        self.take(key, "a key that holds a text holds something else")
    }

    fn source(&mut self) -> Result<Source, MessageError> {
        match (self.take("bytes", "`bytes` holds no bytes")?, self.text("url")?, self.text("contentId")?) {
            (Some(Value::Bytes(bytes)), None, None) => Ok(Source::Bytes(bytes)),
            (None, Some(url), None) => Ok(Source::Url(url)),
            (None, None, Some(id)) => Ok(Source::ContentId(id)),
            _ => Err(invalid("media and documents have exactly one of `bytes`, `url`, `contentId`")),
        }
    }

    fn type_name(&mut self) -> Result<Text, MessageError> {
        self.text("type")?.ok_or_else(|| invalid("a content that is no text has a `type`"))
    }

    /// What is left when all known keys are taken.
    fn unknown(self) -> Result<Option<Map>, MessageError> {
        if self.0.is_empty() { Ok(None) } else { self.into_map().map(Some) }
    }

    fn into_map(self) -> Result<Map, MessageError> {
        let value = |json| serde_json::from_value(json).map_err(|_| invalid("a value that DynamoDB cannot hold"));
        Map::new(self.0.into_iter().map(|(key, json)| Ok((key, value(json)?))).collect::<Result<_, MessageError>>()?)
    }
}

fn content_from(mut fields: Taken) -> Result<Content, MessageError> {
    let name = fields.type_name()?;
    if let Some(kind) = media_kind(&name) {
        return media_from(kind, fields).map(Content::from);
    }
    match name.as_str() {
        // With more than the words, it is a newer writer's.
        "text" if fields.0.len() == 1 && fields.0.get("text").is_some_and(Json::is_string) => {
            fields.text("text")?.map(Content::Text).ok_or_else(|| invalid("a text has a `text`"))
        }
        "document" => document_from(fields).map(Content::from),
        "toolCall" => tool_call_from(fields).map(Content::from),
        "toolResult" => result_from(fields).map(Content::from),
        other => {
            fields.0.insert("type".into(), other.into());
            Ok(Content::Unknown(Box::new(fields.into_map()?)))
        }
    }
}

fn media_kind(name: &str) -> Option<MediaKind> {
    [MediaKind::Image, MediaKind::Audio, MediaKind::Video].into_iter().find(|kind| kind.as_str() == name)
}

fn media_from(kind: MediaKind, mut fields: Taken) -> Result<Media, MessageError> {
    Ok(Media {
        kind,
        source: fields.source()?,
        mime_type: fields.text("mimeType")?,
        prompt_hint: fields.text("promptHint")?,
        unknown: fields.unknown()?,
    })
}

fn document_from(mut fields: Taken) -> Result<Document, MessageError> {
    Ok(Document {
        source: fields.source()?,
        title: fields.text("title")?,
        mime_type: fields.text("mimeType")?,
        unknown: fields.unknown()?,
    })
}

fn tool_call_from(mut fields: Taken) -> Result<ToolCall, MessageError> {
    let (Some(id), Some(name), Some(arguments)) =
        (fields.text("id")?, fields.text("name")?, fields.take::<Value>("arguments", "not the arguments of a call")?)
    else {
        return Err(invalid("an invocation has `id`, `name` and `arguments`"));
    };
    let mut tool_call = ToolCall::new(id, name, arguments)?;
    tool_call.unknown = fields.unknown()?;
    Ok(tool_call)
}

fn result_from(mut fields: Taken) -> Result<ToolResult, MessageError> {
    const FORM: &str = "an invocation result has `toolCallId`, `name` and either a list `content` or a map `error`";
    let (Some(id), Some(name)) = (fields.text("toolCallId")?, fields.text("name")?) else {
        return Err(invalid(FORM));
    };
    let outcome = match (fields.take("content", FORM)?, fields.take("error", FORM)?) {
        (Some(contents), None) => Outcome::Success(contents),
        (None, Some(error)) => Outcome::Failure(error_from(Taken(error))?),
        _ => return Err(invalid(FORM)),
    };
    let mut result = ToolResult::new(ToolCallId::new(id)?, ToolName::new(name)?, outcome);
    result.unknown = fields.unknown()?;
    Ok(result)
}

fn error_from(mut fields: Taken) -> Result<ToolCallError, MessageError> {
    let message = fields.text("message")?.ok_or_else(|| invalid("the error of a result has a `message`"))?;
    let mut error = ToolCallError::new(message)?;
    error = fields.text("type")?.into_iter().fold(error, ToolCallError::with_type);
    error = fields.take("retryable", "`retryable` is no bool")?.into_iter().fold(error, ToolCallError::with_retryable);
    error.unknown = fields.unknown()?;
    Ok(error)
}

fn result_content_from(mut fields: Taken) -> Result<ResultContent, MessageError> {
    let name = fields.type_name()?;
    match (name.as_str(), media_kind(&name)) {
        (_, Some(kind)) => Ok(ResultContent::Media(Box::new(media_from(kind, fields)?))),
        ("document", _) => Ok(ResultContent::Document(Box::new(document_from(fields)?))),
        // With more than the value, it is a newer writer's.
        ("json", _) if fields.0.len() <= 1 => Ok(ResultContent::Json(
            fields.take("json", "not a value")?.ok_or_else(|| invalid("a json content has `json`"))?,
        )),
        (other, _) => {
            fields.0.insert("type".into(), other.into());
            Ok(ResultContent::Unknown(Box::new(fields.into_map()?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nests_as_deep_as_a_value_can_is_written_and_read() {
        let deep = (0..32).fold(Value::Null, |value, _| Value::list([value]).unwrap());
        let call = ToolCall::new("call_1", "f", deep.clone()).unwrap();
        for content in [Content::from(call.success([deep])), Content::from(call)] {
            let json = serde_json::to_string(&content).unwrap();
            assert!(serde_json::from_str::<Content>(&json).unwrap() == content);
        }
    }

    fn reads_back(json: serde_json::Value) {
        let content: Content = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&content).unwrap(), json);
    }

    #[test]
    fn every_kind_reads_back_as_written() {
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
            reads_back(json);
        }
    }

    #[test]
    fn what_a_newer_writer_added_is_kept() {
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
            reads_back(json);
        }
        assert_eq!(
            serde_json::from_value::<Content>(json!({"type": "text", "text": "a"})).unwrap(),
            Content::from("a")
        );
    }

    #[test]
    fn what_is_no_content_is_refused() {
        for json in [
            json!(7),
            json!({"text": "no type"}),
            json!({"type": "image"}),
            json!({"type": "image", "url": "u", "contentId": "c"}),
            json!({"type": "toolCall", "id": "not an id!", "name": "f", "arguments": {}}),
            json!({"type": "toolResult", "toolCallId": "a", "name": "f"}),
            json!({"type": "toolResult", "toolCallId": "a", "name": "f", "error": {"message": " "}}),
        ] {
            assert!(serde_json::from_value::<Content>(json.clone()).is_err(), "{json}");
        }
    }
}
