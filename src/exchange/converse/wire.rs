//! Messages and blocks of Converse as JSON. Only this file spells their keys.
//!
//! [`super::write`] builds them from contents, and `bedrock` from the types of the SDK. Entries that are `None` are left out.

use crate::exchange::json::Json;

pub(crate) fn message<'a>(role: &'a str, content: Json<'a>) -> Json<'a> {
    Json::object([("role", Some(role.into())), ("content", Some(content))])
}

/// Returns a union, such as a block or a source: an object with one key.
pub(crate) fn one<'a>(kind: &'a str, value: Json<'a>) -> Json<'a> {
    Json::object([(kind, Some(value))])
}

pub(crate) fn text(text: &str) -> Json<'_> {
    one("text", text.into())
}

/// Returns the value of a media or document block.
pub(crate) fn file<'a>(format: &'a str, name: Option<&'a str>, source: Option<Json<'a>>) -> Json<'a> {
    Json::object([("format", Some(format.into())), ("name", name.map(Json::from)), ("source", source)])
}

pub(crate) fn bytes(bytes: &[u8]) -> Json<'_> {
    one("bytes", Json::Bytes(bytes))
}

pub(crate) fn s3<'a>(uri: &'a str, bucket_owner: Option<&'a str>) -> Json<'a> {
    one("s3Location", Json::object([("uri", Some(uri.into())), ("bucketOwner", bucket_owner.map(Json::from))]))
}

pub(crate) fn tool_use<'a>(id: &'a str, name: &'a str, input: Json<'a>) -> Json<'a> {
    Json::object([("toolUseId", Some(id.into())), ("name", Some(name.into())), ("input", Some(input))])
}

pub(crate) fn tool_result<'a>(id: &'a str, content: Json<'a>, status: Option<&'a str>) -> Json<'a> {
    Json::object([("toolUseId", Some(id.into())), ("content", Some(content)), ("status", status.map(Json::from))])
}
