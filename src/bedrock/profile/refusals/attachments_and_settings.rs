//! Refusals of attachments, cache points and settings.

use super::{MESSAGE, REPAIRED, Refusal, Remedy, documented, seen};

pub(super) static ATTACHMENTS_AND_SETTINGS: [Refusal; 22] = [
    // Attachments.
    seen("attachments-number", "too many images and documents", "2025-10-07", "github.com/boto/boto3/issues/4632")
        .certain(REPAIRED),
    documented("image-bytes", "image exceeds", MESSAGE).certain(REPAIRED),
    seen(
        "image-pixels",
        "image dimensions exceed max allowed size",
        "2025-08-05",
        "github.com/anthropics/claude-code/issues/5147",
    )
    .certain(REPAIRED),
    documented(
        "image",
        "support the image content block",
        "docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html",
    )
    .certain(REPAIRED),
    documented(
        "video",
        "support the video content block",
        "docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html",
    )
    .certain(REPAIRED),
    documented("attachment-role", "blocks are not permitted within", MESSAGE).certain(REPAIRED),
    documented("attachment-in-s3", "source.type: Field required", MESSAGE).certain(REPAIRED),
    seen(
        "document-number",
        "include more than",
        "2026-08-26",
        "github.com/aws-samples/generative-ai-use-cases/issues/1685",
    )
    .certain(REPAIRED),
    seen(
        "document-bytes",
        "maximum document size is",
        "2026-05-28",
        "github.com/Boise-State-Development/agentcore-public-stack/pull/402",
    )
    .certain(REPAIRED),
    seen(
        "document-name",
        "document file name can only contain",
        "2024-12-04",
        "github.com/simonw/llm-bedrock/issues/8",
    )
    .certain(REPAIRED),
    seen(
        "document-name",
        "document.name' failed to satisfy constraint",
        "2026-09-04",
        "github.com/vercel/ai/issues/20365",
    )
    .certain(REPAIRED),
    seen("document-names-unique", "duplicate document names", "2026-09-08", "github.com/maximhq/bifrost/issues/7003")
        .certain(REPAIRED),
    seen(
        "document-alone",
        "text block must be included when using documents",
        "2026-08-11",
        "github.com/BerriAI/litellm/pull/36499",
    )
    .certain(REPAIRED),
    seen("cache-point", ".type: Field required", "2026-08-12", "github.com/pizza-bot-app/pizza-bot/pull/6")
        .fixed_by(Remedy::WithoutCachePoints, "turn cache points off"),
    // Cache points and inference.
    seen("cache-point", "support the cachePoint", "2025-07-08", "github.com/anomalyco/opencode/issues/782")
        .fixed_by(Remedy::WithoutCachePoints, "turn cache points off"),
    seen("cache-point", "did not allow prompt caching", "2025-07-08", "github.com/anomalyco/opencode/issues/782")
        .fixed_by(Remedy::WithoutCachePoints, "turn cache points off"),
    seen(
        "cache-point",
        "extraneous key [cachePoint]",
        "2026-08-28",
        "github.com/NousResearch/hermes-agent/issues/97281",
    )
    .fixed_by(Remedy::WithoutCachePoints, "turn cache points off"),
    seen(
        "cache-points-number",
        "blocks with cache_control may be provided",
        "2026-09-18",
        "github.com/twentyhq/twenty/issues/26217",
    )
    .fixed_by(Remedy::WithoutCachePoints, "turn cache points off"),
    documented(
        "inference",
        "'inferenceConfig.",
        "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html",
    )
    .certain("correct the inference settings"),
    documented(
        "request-metadata",
        "requestMetadata.",
        "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    )
    .certain("request metadata has at most 16 entries of 1 to 256 characters"),
    seen("inference", "cannot both be specified", "2025-09-30", "github.com/BerriAI/litellm/issues/15070")
        .certain("set the temperature or top_p, not both"),
    documented(
        "inference",
        "is deprecated for this model",
        "docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html",
    )
    .certain("the model does not support temperature or top_p; set neither"),
];
