//! Messages as the JSON that Converse takes on the wire.

use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    AudioBlock, AudioSource, CachePointBlock, Citation, CitationGeneratedContent, CitationLocation,
    CitationSourceContent, CitationsConfig, CitationsContentBlock, ContentBlock, DocumentBlock, DocumentContentBlock,
    DocumentSource, ErrorBlock, GuardrailConverseContentBlock, GuardrailConverseImageSource, ImageBlock, ImageSource,
    Message, ReasoningContentBlock, S3Location, SearchResultBlock, ToolReference, ToolResultBlock,
    ToolResultContentBlock, ToolUseBlock, VideoBlock, VideoSource,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::document::document_json;

/// The JSON of a message, as the SDK sends it to Converse.
///
/// A block of a kind that the SDK itself does not know, and could not send, is `null`.
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
pub fn to_json(message: &Message) -> Json {
    json!({"role": message.role.as_str(), "content": list(&message.content, content_block)})
}

fn content_block(block: &ContentBlock) -> Json {
    match block {
        ContentBlock::Text(text) => json!({"text": text}),
        ContentBlock::Image(image) => json!({"image": image_block(image)}),
        ContentBlock::Video(video) => json!({"video": video_block(video)}),
        ContentBlock::Audio(audio) => json!({"audio": audio_block(audio)}),
        ContentBlock::Document(document) => json!({"document": document_block(document)}),
        ContentBlock::ToolUse(call) => json!({"toolUse": tool_use_block(call)}),
        ContentBlock::ToolResult(result) => json!({"toolResult": tool_result_block(result)}),
        ContentBlock::CachePoint(point) => json!({"cachePoint": cache_point_block(point)}),
        ContentBlock::ReasoningContent(reasoning) => json!({"reasoningContent": reasoning_block(reasoning)}),
        ContentBlock::SearchResult(result) => json!({"searchResult": search_result_block(result)}),
        ContentBlock::CitationsContent(content) => json!({"citationsContent": citations_block(content)}),
        ContentBlock::GuardContent(content) => json!({"guardContent": guard_block(content)}),
        ContentBlock::ToolAddition(addition) => {
            json!({"toolAddition": object([("tool", addition.tool.as_ref().map(tool_reference))])})
        }
        ContentBlock::ToolRemoval(removal) => {
            json!({"toolRemoval": object([("tool", removal.tool.as_ref().map(tool_reference))])})
        }
        _ => Json::Null,
    }
}

/// A tool call, as under `toolUse`.
pub(super) fn tool_use_block(call: &ToolUseBlock) -> Json {
    object([
        ("toolUseId", some(&call.tool_use_id)),
        ("name", some(&call.name)),
        ("input", Some(document_json(&call.input))),
        ("type", call.r#type.as_ref().map(|kind| kind.as_str().into())),
    ])
}

/// The result of a tool call, as under `toolResult`.
pub(super) fn tool_result_block(result: &ToolResultBlock) -> Json {
    object([
        ("toolUseId", some(&result.tool_use_id)),
        ("content", Some(list(&result.content, tool_result_content))),
        ("status", result.status.as_ref().map(|status| status.as_str().into())),
        ("type", result.r#type.as_ref().and_then(some)),
    ])
}

fn tool_result_content(block: &ToolResultContentBlock) -> Json {
    match block {
        ToolResultContentBlock::Text(text) => json!({"text": text}),
        ToolResultContentBlock::Json(document) => json!({"json": document_json(document)}),
        ToolResultContentBlock::Image(image) => json!({"image": image_block(image)}),
        ToolResultContentBlock::Video(video) => json!({"video": video_block(video)}),
        ToolResultContentBlock::Document(document) => json!({"document": document_block(document)}),
        ToolResultContentBlock::SearchResult(result) => json!({"searchResult": search_result_block(result)}),
        _ => Json::Null,
    }
}

fn image_block(image: &ImageBlock) -> Json {
    let source = image.source.as_ref().map(|source| match source {
        ImageSource::Bytes(blob) => bytes(blob),
        ImageSource::S3Location(location) => s3(location),
        _ => Json::Null,
    });
    object([("format", some(image.format.as_str())), ("source", source), ("error", image.error.as_ref().map(error))])
}

fn video_block(video: &VideoBlock) -> Json {
    let source = video.source.as_ref().map(|source| match source {
        VideoSource::Bytes(blob) => bytes(blob),
        VideoSource::S3Location(location) => s3(location),
        _ => Json::Null,
    });
    object([("format", some(video.format.as_str())), ("source", source)])
}

fn audio_block(audio: &AudioBlock) -> Json {
    let source = audio.source.as_ref().map(|source| match source {
        AudioSource::Bytes(blob) => bytes(blob),
        AudioSource::S3Location(location) => s3(location),
        _ => Json::Null,
    });
    object([("format", some(audio.format.as_str())), ("source", source), ("error", audio.error.as_ref().map(error))])
}

fn document_block(document: &DocumentBlock) -> Json {
    let source = document.source.as_ref().map(|source| match source {
        DocumentSource::Bytes(blob) => bytes(blob),
        DocumentSource::S3Location(location) => s3(location),
        DocumentSource::Text(text) => json!({"text": text}),
        DocumentSource::Content(blocks) => json!({"content": list(blocks, |block| match block {
            DocumentContentBlock::Text(text) => json!({"text": text}),
            _ => Json::Null,
        })}),
        _ => Json::Null,
    });
    object([
        ("format", some(document.format.as_str())),
        ("name", some(&document.name)),
        ("source", source),
        ("context", document.context.as_ref().and_then(some)),
        ("citations", document.citations.as_ref().map(citations_config)),
    ])
}

fn bytes(blob: &Blob) -> Json {
    json!({"bytes": STANDARD.encode(blob)})
}

fn s3(location: &S3Location) -> Json {
    let uri_and_owner = [("uri", some(&location.uri)), ("bucketOwner", location.bucket_owner.as_ref().and_then(some))];
    json!({"s3Location": object(uri_and_owner)})
}

fn error(error: &ErrorBlock) -> Json {
    object([("message", error.message.as_ref().and_then(some))])
}

fn cache_point_block(point: &CachePointBlock) -> Json {
    object([("type", some(point.r#type.as_str())), ("ttl", point.ttl.as_ref().map(|ttl| ttl.as_str().into()))])
}

fn reasoning_block(reasoning: &ReasoningContentBlock) -> Json {
    match reasoning {
        ReasoningContentBlock::ReasoningText(block) => {
            let text = object([("text", some(&block.text)), ("signature", block.signature.as_ref().and_then(some))]);
            json!({"reasoningText": text})
        }
        ReasoningContentBlock::RedactedContent(blob) => json!({"redactedContent": STANDARD.encode(blob)}),
        _ => Json::Null,
    }
}

fn search_result_block(result: &SearchResultBlock) -> Json {
    object([
        ("source", some(&result.source)),
        ("title", some(&result.title)),
        ("content", Some(list(&result.content, |block| json!({"text": block.text})))),
        ("citations", result.citations.as_ref().map(citations_config)),
    ])
}

fn guard_block(content: &GuardrailConverseContentBlock) -> Json {
    match content {
        GuardrailConverseContentBlock::Text(block) => {
            let qualifiers = block.qualifiers.as_ref().map(|all| list(all, |qualifier| qualifier.as_str().into()));
            json!({"text": object([("text", some(&block.text)), ("qualifiers", qualifiers)])})
        }
        GuardrailConverseContentBlock::Image(image) => {
            let source = image.source.as_ref().map(|source| match source {
                GuardrailConverseImageSource::Bytes(blob) => bytes(blob),
                _ => Json::Null,
            });
            json!({"image": object([("format", some(image.format.as_str())), ("source", source)])})
        }
        _ => Json::Null,
    }
}

fn tool_reference(tool: &ToolReference) -> Json {
    object([
        ("type", tool.r#type.as_ref().map(|kind| kind.as_str().into())),
        ("name", tool.name.as_ref().and_then(some)),
        ("serverName", tool.server_name.as_ref().and_then(some)),
    ])
}

fn citations_config(config: &CitationsConfig) -> Json {
    json!({"enabled": config.enabled})
}

fn citations_block(block: &CitationsContentBlock) -> Json {
    let content = block.content.as_ref().map(|all| {
        list(all, |content| match content {
            CitationGeneratedContent::Text(text) => json!({"text": text}),
            _ => Json::Null,
        })
    });
    object([("content", content), ("citations", block.citations.as_ref().map(|all| list(all, citation)))])
}

fn citation(citation: &Citation) -> Json {
    let source_content = citation.source_content.as_ref().map(|all| {
        list(all, |content| match content {
            CitationSourceContent::Text(text) => json!({"text": text}),
            _ => Json::Null,
        })
    });
    object([
        ("title", citation.title.as_ref().and_then(some)),
        ("source", citation.source.as_ref().and_then(some)),
        ("sourceContent", source_content),
        ("location", citation.location.as_ref().map(citation_location)),
    ])
}

fn citation_location(location: &CitationLocation) -> Json {
    let range = |of: &str, index: Option<i32>, start: Option<i32>, end: Option<i32>| {
        object([(of, index.map(Json::from)), ("start", start.map(Json::from)), ("end", end.map(Json::from))])
    };
    match location {
        CitationLocation::Web(web) => {
            json!({"web": object([("url", web.url.as_ref().and_then(some)), ("domain", web.domain.as_ref().and_then(some))])})
        }
        CitationLocation::DocumentChar(at) => {
            json!({"documentChar": range("documentIndex", at.document_index, at.start, at.end)})
        }
        CitationLocation::DocumentPage(at) => {
            json!({"documentPage": range("documentIndex", at.document_index, at.start, at.end)})
        }
        CitationLocation::DocumentChunk(at) => {
            json!({"documentChunk": range("documentIndex", at.document_index, at.start, at.end)})
        }
        CitationLocation::SearchResultLocation(at) => {
            json!({"searchResultLocation": range("searchResultIndex", at.search_result_index, at.start, at.end)})
        }
        _ => Json::Null,
    }
}

fn some(text: impl AsRef<str>) -> Option<Json> {
    Some(text.as_ref().into())
}

fn list<T>(items: &[T], json: impl Fn(&T) -> Json) -> Json {
    items.iter().map(json).collect()
}

/// The SDK leaves out what is not set.
fn object<const N: usize>(entries: [(&str, Option<Json>); N]) -> Json {
    entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
