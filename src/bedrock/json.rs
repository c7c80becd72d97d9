//! The JSON of messages on the wire of Converse.

use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    AudioBlock, CachePointBlock, Citation, CitationLocation, CitationsConfig, CitationsContentBlock, ContentBlock,
    DocumentBlock, DocumentSource, ErrorBlock, GuardrailConverseContentBlock, ImageBlock, Message,
    ReasoningContentBlock, S3Location, SearchResultBlock, ToolReference, ToolResultBlock, ToolResultContentBlock,
    ToolUseBlock, VideoBlock,
};

use super::document::document_json;
use crate::exchange::converse::wire;
use crate::exchange::json::Json;

/// Returns the JSON that the SDK sends to Converse for a message.
///
/// A block of a kind unknown to the SDK, which it cannot send, becomes `null`.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
///
/// let message =
///     Message::builder().role(ConversationRole::User).content(ContentBlock::Text("Good morning".into())).build()?;
/// assert_eq!(
///     verbale::bedrock::to_json(&message),
///     serde_json::json!({"role": "user", "content": [{"text": "Good morning"}]})
/// );
/// # Ok(()) }
/// ```
pub fn to_json(message: &Message) -> serde_json::Value {
    plain(&wire::message(message.role.as_str(), message.content.iter().map(content_block).collect()))
}

/// Returns the JSON of a tool call, the value of `toolUse`.
pub(super) fn tool_use_block(call: &ToolUseBlock) -> serde_json::Value {
    plain(&tool_use(call))
}

/// Returns the JSON of a tool result, the value of `toolResult`.
pub(super) fn tool_result_block(result: &ToolResultBlock) -> serde_json::Value {
    plain(&tool_result(result))
}

/// Cannot fail, because all keys are strings.
fn plain(json: &Json<'_>) -> serde_json::Value {
    serde_json::to_value(json).unwrap_or_default()
}

fn content_block(block: &ContentBlock) -> Json<'_> {
    match block {
        ContentBlock::Text(text) => wire::text(text),
        ContentBlock::Image(image) => wire::one("image", image_block(image)),
        ContentBlock::Video(video) => wire::one("video", video_block(video)),
        ContentBlock::Audio(audio) => wire::one("audio", audio_block(audio)),
        ContentBlock::Document(document) => wire::one("document", document_block(document)),
        ContentBlock::ToolUse(call) => wire::one("toolUse", tool_use(call)),
        ContentBlock::ToolResult(result) => wire::one("toolResult", tool_result(result)),
        ContentBlock::CachePoint(point) => wire::one("cachePoint", cache_point_block(point)),
        ContentBlock::ReasoningContent(reasoning) => wire::one("reasoningContent", reasoning_block(reasoning)),
        ContentBlock::SearchResult(result) => wire::one("searchResult", search_result_block(result)),
        ContentBlock::CitationsContent(content) => wire::one("citationsContent", citations_block(content)),
        ContentBlock::GuardContent(content) => wire::one("guardContent", guard_block(content)),
        ContentBlock::ToolAddition(addition) => {
            wire::one("toolAddition", Json::object([("tool", addition.tool.as_ref().map(tool_reference))]))
        }
        ContentBlock::ToolRemoval(removal) => {
            wire::one("toolRemoval", Json::object([("tool", removal.tool.as_ref().map(tool_reference))]))
        }
        _ => Json::Null,
    }
}

fn tool_use(call: &ToolUseBlock) -> Json<'_> {
    wire::tool_use(&call.tool_use_id, &call.name, Json::Other(document_json(&call.input)))
        .and(Json::object([("type", call.r#type.as_ref().map(|kind| kind.as_str().into()))]))
}

fn tool_result(result: &ToolResultBlock) -> Json<'_> {
    let content = result.content.iter().map(tool_result_content).collect();
    wire::tool_result(&result.tool_use_id, content, result.status.as_ref().map(|status| status.as_str()))
        .and(Json::object([("type", some(&result.r#type))]))
}

fn tool_result_content(block: &ToolResultContentBlock) -> Json<'_> {
    match block {
        ToolResultContentBlock::Text(text) => wire::text(text),
        ToolResultContentBlock::Json(document) => wire::one("json", Json::Other(document_json(document))),
        ToolResultContentBlock::Image(image) => wire::one("image", image_block(image)),
        ToolResultContentBlock::Video(video) => wire::one("video", video_block(video)),
        ToolResultContentBlock::Document(document) => wire::one("document", document_block(document)),
        ToolResultContentBlock::SearchResult(result) => wire::one("searchResult", search_result_block(result)),
        _ => Json::Null,
    }
}

fn image_block(image: &ImageBlock) -> Json<'_> {
    let source = image.source.as_ref().map(|source| binary(source.as_bytes().ok(), source.as_s3_location().ok()));
    wire::file(image.format.as_str(), None, source).and(Json::object([("error", image.error.as_ref().map(error))]))
}

fn video_block(video: &VideoBlock) -> Json<'_> {
    let source = video.source.as_ref().map(|source| binary(source.as_bytes().ok(), source.as_s3_location().ok()));
    wire::file(video.format.as_str(), None, source)
}

fn audio_block(audio: &AudioBlock) -> Json<'_> {
    let source = audio.source.as_ref().map(|source| binary(source.as_bytes().ok(), source.as_s3_location().ok()));
    wire::file(audio.format.as_str(), None, source).and(Json::object([("error", audio.error.as_ref().map(error))]))
}

fn document_block(document: &DocumentBlock) -> Json<'_> {
    let source = document.source.as_ref().map(|source| match source {
        DocumentSource::Text(text) => wire::text(text),
        DocumentSource::Content(blocks) => {
            wire::one("content", blocks.iter().map(|block| text(block.as_text().ok())).collect())
        }
        source => binary(source.as_bytes().ok(), source.as_s3_location().ok()),
    });
    wire::file(document.format.as_str(), Some(&document.name), source).and(Json::object([
        ("context", some(&document.context)),
        ("citations", document.citations.as_ref().map(citations_config)),
    ]))
}

/// Returns `null` for a source of a kind unknown to the SDK.
fn binary<'a>(bytes: Option<&'a Blob>, location: Option<&'a S3Location>) -> Json<'a> {
    match (bytes, location) {
        (Some(bytes), _) => wire::bytes(bytes.as_ref()),
        (None, Some(location)) => wire::s3(&location.uri, location.bucket_owner.as_deref()),
        (None, None) => Json::Null,
    }
}

/// Returns `null` for a text of a kind unknown to the SDK.
fn text(text: Option<&String>) -> Json<'_> {
    text.map_or(Json::Null, |text| wire::text(text))
}

fn error(error: &ErrorBlock) -> Json<'_> {
    Json::object([("message", some(&error.message))])
}

fn cache_point_block(point: &CachePointBlock) -> Json<'_> {
    let ttl = point.ttl.as_ref().map(|ttl| ttl.as_str().into());
    Json::object([("type", Some(point.r#type.as_str().into())), ("ttl", ttl)])
}

fn reasoning_block(reasoning: &ReasoningContentBlock) -> Json<'_> {
    match reasoning {
        ReasoningContentBlock::ReasoningText(block) => {
            let signature = Json::object([("signature", some(&block.signature))]);
            wire::one("reasoningText", wire::text(&block.text).and(signature))
        }
        ReasoningContentBlock::RedactedContent(blob) => wire::one("redactedContent", Json::Bytes(blob.as_ref())),
        _ => Json::Null,
    }
}

fn search_result_block(result: &SearchResultBlock) -> Json<'_> {
    Json::object([
        ("source", Some(result.source.as_str().into())),
        ("title", Some(result.title.as_str().into())),
        ("content", Some(result.content.iter().map(|block| wire::text(&block.text)).collect())),
        ("citations", result.citations.as_ref().map(citations_config)),
    ])
}

fn guard_block(content: &GuardrailConverseContentBlock) -> Json<'_> {
    match content {
        GuardrailConverseContentBlock::Text(block) => {
            let all = block.qualifiers.as_ref();
            let qualifiers = all.map(|all| all.iter().map(|qualifier| qualifier.as_str().into()).collect());
            wire::one("text", wire::text(&block.text).and(Json::object([("qualifiers", qualifiers)])))
        }
        GuardrailConverseContentBlock::Image(image) => {
            let source = image.source.as_ref().map(|source| binary(source.as_bytes().ok(), None));
            wire::one("image", wire::file(image.format.as_str(), None, source))
        }
        _ => Json::Null,
    }
}

fn tool_reference(tool: &ToolReference) -> Json<'_> {
    Json::object([
        ("type", tool.r#type.as_ref().map(|kind| kind.as_str().into())),
        ("name", some(&tool.name)),
        ("serverName", some(&tool.server_name)),
    ])
}

fn citations_config(config: &CitationsConfig) -> Json<'_> {
    wire::one("enabled", Json::Bool(config.enabled))
}

fn citations_block(block: &CitationsContentBlock) -> Json<'_> {
    let texts = block.content.iter().flatten().map(|content| text(content.as_text().ok()));
    Json::object([
        ("content", block.content.is_some().then(|| texts.collect())),
        ("citations", block.citations.as_ref().map(|all| all.iter().map(citation).collect())),
    ])
}

fn citation(citation: &Citation) -> Json<'_> {
    let texts = citation.source_content.iter().flatten().map(|content| text(content.as_text().ok()));
    Json::object([
        ("title", some(&citation.title)),
        ("source", some(&citation.source)),
        ("sourceContent", citation.source_content.is_some().then(|| texts.collect())),
        ("location", citation.location.as_ref().map(citation_location)),
    ])
}

fn citation_location(location: &CitationLocation) -> Json<'_> {
    let range = |of, index: Option<i32>, start: Option<i32>, end: Option<i32>| {
        let number = |number: i32| Json::Other(number.into());
        Json::object([(of, index.map(number)), ("start", start.map(number)), ("end", end.map(number))])
    };
    match location {
        CitationLocation::Web(web) => {
            wire::one("web", Json::object([("url", some(&web.url)), ("domain", some(&web.domain))]))
        }
        CitationLocation::DocumentChar(at) => {
            wire::one("documentChar", range("documentIndex", at.document_index, at.start, at.end))
        }
        CitationLocation::DocumentPage(at) => {
            wire::one("documentPage", range("documentIndex", at.document_index, at.start, at.end))
        }
        CitationLocation::DocumentChunk(at) => {
            wire::one("documentChunk", range("documentIndex", at.document_index, at.start, at.end))
        }
        CitationLocation::SearchResultLocation(at) => {
            wire::one("searchResultLocation", range("searchResultIndex", at.search_result_index, at.start, at.end))
        }
        _ => Json::Null,
    }
}

fn some(text: &Option<String>) -> Option<Json<'_>> {
    text.as_deref().map(Json::from)
}
