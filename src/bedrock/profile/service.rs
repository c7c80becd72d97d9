//! Limits in AWS's machine-readable model of Bedrock Runtime, which apply to all models.
//!
//! Source: `bedrock-runtime/2023-09-30/service-2.json` of
//! [botocore](https://github.com/boto/botocore/blob/0e6e2404b85dc336dd2889814e089bde7d1a4c55/botocore/data/bedrock-runtime/2023-09-30/service-2.json),
//! as of 2026-08-07. It says of `toolResult.status` and of images in tool results: "only supported by Amazon Nova and
//! Anthropic Claude 3 and 4 models"; of `toolChoice.tool`: "only supported by Anthropic Claude 3 and Amazon Nova models".
//! Until 2025 the pattern of `ToolUseId` was that of `ToolName`.

/// `ToolUseId` and `ToolName`: at least 1 and at most 64 characters.
pub(in crate::bedrock) const MAX_IDENTIFIER: usize = 64;
/// `ToolUseId`.
pub(in crate::bedrock) const TOOL_USE_ID_PATTERN: &str = "[a-zA-Z0-9_.:-]+";
/// `ToolName`.
pub(in crate::bedrock) const TOOL_NAME_PATTERN: &str = "[a-zA-Z0-9_-]+";
/// `DocumentBlockNameString`, in characters.
pub(in crate::bedrock) const MAX_DOCUMENT_NAME: usize = 200;
/// `InferenceConfigurationStopSequencesList`.
pub(in crate::bedrock) const MAX_STOP_SEQUENCES: usize = 2_500;
/// `RequestMetadata`: at least 1 and at most 16 entries.
pub(in crate::bedrock) const MAX_METADATA_ENTRIES: usize = 16;
/// `RequestMetadataKeyString` and `RequestMetadataValueString`, in characters. A key has at least 1.
pub(in crate::bedrock) const MAX_METADATA_LENGTH: usize = 256;

// The limits of attachments are those of the documentation of `Message`:
// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html>.

/// The number of images in a request.
pub(in crate::bedrock) const MAX_IMAGES: usize = 20;
/// 3.75 MB, which is 5 MB in base64. One of Bedrock's MB has 1,048,576 bytes.
pub(in crate::bedrock) const MAX_IMAGE_BYTES: usize = 3_932_160;
/// The height and the width of an image, in pixels.
pub(in crate::bedrock) const MAX_IMAGE_SIDE: u32 = 8_000;
/// The number of documents in a request.
pub(in crate::bedrock) const MAX_DOCUMENTS: usize = 5;
/// 4.5 MB.
pub(in crate::bedrock) const MAX_DOCUMENT_BYTES: usize = 4_718_592;
/// The number of cache points in a request.
pub(in crate::bedrock) const MAX_CACHE_POINTS: usize = 4;
