//! Parses the blocks of a message.

use aws_sdk_bedrockruntime::error::BuildError;
use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    AudioBlock, AudioSource, CachePointBlock, CitationsConfig, ContentBlock, DocumentBlock, DocumentContentBlock,
    DocumentSource, ErrorBlock, GuardrailConverseContentBlock, GuardrailConverseImageBlock,
    GuardrailConverseImageSource, GuardrailConverseTextBlock, ImageBlock, ImageSource, ReasoningContentBlock,
    ReasoningTextBlock, S3Location, SearchResultBlock, SearchResultContentBlock, ToolAdditionBlock, ToolReference,
    ToolRemovalBlock, ToolResultBlock, ToolResultContentBlock, ToolUseBlock, VideoBlock, VideoSource,
};

use super::citations;
use super::node::{Node, Unreadable};

pub(super) const KNOWN: &str = "a known kind of block";

pub(super) fn content_block(node: Node<'_>) -> Result<ContentBlock, Unreadable> {
    node.one_of(|kind, inner| {
        Ok(match kind {
            "text" => ContentBlock::Text(inner.as_text()?.to_owned()),
            "image" => ContentBlock::Image(image(inner)?),
            "video" => ContentBlock::Video(video(inner)?),
            "audio" => ContentBlock::Audio(audio(inner)?),
            "document" => ContentBlock::Document(document(inner)?),
            "toolUse" => ContentBlock::ToolUse(tool_use(inner)?),
            "toolResult" => ContentBlock::ToolResult(tool_result(inner)?),
            "cachePoint" => ContentBlock::CachePoint(cache_point(inner)?),
            "reasoningContent" => ContentBlock::ReasoningContent(reasoning(inner)?),
            "searchResult" => ContentBlock::SearchResult(search_result(inner)?),
            "citationsContent" => ContentBlock::CitationsContent(citations::content(inner)?),
            "guardContent" => ContentBlock::GuardContent(guard_content(inner)?),
            "toolAddition" => {
                let tool = inner.get("tool", tool_reference)?;
                ContentBlock::ToolAddition(ToolAdditionBlock::builder().set_tool(tool).build())
            }
            "toolRemoval" => {
                let tool = inner.get("tool", tool_reference)?;
                ContentBlock::ToolRemoval(ToolRemovalBlock::builder().set_tool(tool).build())
            }
            _ => return Err(Unreadable::new(KNOWN)),
        })
    })
}

fn tool_use(node: Node<'_>) -> Result<ToolUseBlock, Unreadable> {
    built(
        ToolUseBlock::builder()
            .tool_use_id(node.text("toolUseId")?)
            .name(node.text("name")?)
            .input(node.require("input", |input| Ok(input.document()))?)
            .set_type(node.get("type", |kind| Ok(kind.as_text()?.into()))?)
            .build(),
    )
}

fn tool_result(node: Node<'_>) -> Result<ToolResultBlock, Unreadable> {
    built(
        ToolResultBlock::builder()
            .tool_use_id(node.text("toolUseId")?)
            .set_content(node.list("content", tool_result_content)?)
            .set_status(node.get("status", |status| Ok(status.as_text()?.into()))?)
            .set_type(node.optional_text("type")?)
            .build(),
    )
}

fn tool_result_content(node: Node<'_>) -> Result<ToolResultContentBlock, Unreadable> {
    node.one_of(|kind, inner| {
        Ok(match kind {
            "text" => ToolResultContentBlock::Text(inner.as_text()?.to_owned()),
            "json" => ToolResultContentBlock::Json(inner.document()),
            "image" => ToolResultContentBlock::Image(image(inner)?),
            "video" => ToolResultContentBlock::Video(video(inner)?),
            "document" => ToolResultContentBlock::Document(document(inner)?),
            "searchResult" => ToolResultContentBlock::SearchResult(search_result(inner)?),
            _ => return Err(Unreadable::new(KNOWN)),
        })
    })
}

fn image(node: Node<'_>) -> Result<ImageBlock, Unreadable> {
    built(
        ImageBlock::builder()
            .format(node.text("format")?.into())
            .set_source(node.get("source", |node| source(node, ImageSource::Bytes, ImageSource::S3Location))?)
            .set_error(node.get("error", error)?)
            .build(),
    )
}

fn video(node: Node<'_>) -> Result<VideoBlock, Unreadable> {
    let source = node.get("source", |node| source(node, VideoSource::Bytes, VideoSource::S3Location))?;
    built(VideoBlock::builder().format(node.text("format")?.into()).set_source(source).build())
}

fn audio(node: Node<'_>) -> Result<AudioBlock, Unreadable> {
    built(
        AudioBlock::builder()
            .format(node.text("format")?.into())
            .set_source(node.get("source", |node| source(node, AudioSource::Bytes, AudioSource::S3Location))?)
            .set_error(node.get("error", error)?)
            .build(),
    )
}

fn source<T>(node: Node<'_>, bytes: fn(Blob) -> T, s3: fn(S3Location) -> T) -> Result<T, Unreadable> {
    node.one_of(|kind, inner| match kind {
        "bytes" => Ok(bytes(inner.as_blob()?)),
        "s3Location" => Ok(s3(s3_location(inner)?)),
        _ => Err(Unreadable::new(KNOWN)),
    })
}

fn document(node: Node<'_>) -> Result<DocumentBlock, Unreadable> {
    let content = |node: Node<'_>| Ok(DocumentContentBlock::Text(node.text("text")?.to_owned()));
    let source = |node: Node<'_>| {
        node.one_of(|kind, inner| match kind {
            "content" => Ok(DocumentSource::Content(inner.items(content)?)),
            "bytes" => Ok(DocumentSource::Bytes(inner.as_blob()?)),
            "s3Location" => Ok(DocumentSource::S3Location(s3_location(inner)?)),
            "text" => Ok(DocumentSource::Text(inner.as_text()?.to_owned())),
            _ => Err(Unreadable::new(KNOWN)),
        })
    };
    built(
        DocumentBlock::builder()
            .set_format(node.get("format", |format| Ok(format.as_text()?.into()))?)
            .name(node.text("name")?)
            .set_source(node.get("source", source)?)
            .set_context(node.optional_text("context")?)
            .set_citations(node.get("citations", citations_config)?)
            .build(),
    )
}

fn s3_location(node: Node<'_>) -> Result<S3Location, Unreadable> {
    built(S3Location::builder().uri(node.text("uri")?).set_bucket_owner(node.optional_text("bucketOwner")?).build())
}

fn error(node: Node<'_>) -> Result<ErrorBlock, Unreadable> {
    Ok(ErrorBlock::builder().set_message(node.optional_text("message")?).build())
}

pub(super) fn cache_point(node: Node<'_>) -> Result<CachePointBlock, Unreadable> {
    built(
        CachePointBlock::builder()
            .r#type(node.text("type")?.into())
            .set_ttl(node.get("ttl", |ttl| Ok(ttl.as_text()?.into()))?)
            .build(),
    )
}

fn reasoning(node: Node<'_>) -> Result<ReasoningContentBlock, Unreadable> {
    node.one_of(|kind, inner| match kind {
        "reasoningText" => {
            let block = ReasoningTextBlock::builder().text(inner.text("text")?);
            let block = block.set_signature(inner.optional_text("signature")?).build();
            Ok(ReasoningContentBlock::ReasoningText(built(block)?))
        }
        "redactedContent" => Ok(ReasoningContentBlock::RedactedContent(inner.as_blob()?)),
        _ => Err(Unreadable::new(KNOWN)),
    })
}

fn search_result(node: Node<'_>) -> Result<SearchResultBlock, Unreadable> {
    let content = |node: Node<'_>| built(SearchResultContentBlock::builder().text(node.text("text")?).build());
    built(
        SearchResultBlock::builder()
            .source(node.text("source")?)
            .title(node.text("title")?)
            .set_content(node.list("content", content)?)
            .set_citations(node.get("citations", citations_config)?)
            .build(),
    )
}

fn citations_config(node: Node<'_>) -> Result<CitationsConfig, Unreadable> {
    built(CitationsConfig::builder().enabled(node.require("enabled", Node::as_bool)?).build())
}

pub(super) fn guard_content(node: Node<'_>) -> Result<GuardrailConverseContentBlock, Unreadable> {
    node.one_of(|kind, inner| match kind {
        "text" => {
            let qualifiers = inner.list("qualifiers", |qualifier| Ok(qualifier.as_text()?.into()))?;
            let text = GuardrailConverseTextBlock::builder().text(inner.text("text")?).set_qualifiers(qualifiers);
            Ok(GuardrailConverseContentBlock::Text(built(text.build())?))
        }
        "image" => {
            let source =
                |node: Node<'_>| Ok(GuardrailConverseImageSource::Bytes(node.require("bytes", Node::as_blob)?));
            let image = GuardrailConverseImageBlock::builder()
                .format(inner.text("format")?.into())
                .set_source(inner.get("source", source)?);
            Ok(GuardrailConverseContentBlock::Image(built(image.build())?))
        }
        _ => Err(Unreadable::new(KNOWN)),
    })
}

fn tool_reference(node: Node<'_>) -> Result<ToolReference, Unreadable> {
    Ok(ToolReference::builder()
        .set_type(node.get("type", |kind| Ok(kind.as_text()?.into()))?)
        .set_name(node.optional_text("name")?)
        .set_server_name(node.optional_text("serverName")?)
        .build())
}

/// The SDK requires the same fields as Converse.
pub(super) fn built<T>(block: Result<T, BuildError>) -> Result<T, Unreadable> {
    block.map_err(|_| Unreadable::new("complete"))
}
