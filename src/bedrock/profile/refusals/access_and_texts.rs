//! Refusals of access, roles, texts and lengths.

use super::{REPAIRED, Refusal, Remedy, TOO_LONG, documented, seen};

pub(super) static ACCESS_AND_TEXTS: [Refusal; 16] = [
    // Access to the model.
    documented(
        "model-id",
        "model identifier is invalid",
        "docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html",
    )
    .fixed_by(Remedy::Operator, "check the model id and the region"),
    documented(
        "inference-profile",
        "on-demand throughput",
        "docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles.html",
    )
    .fixed_by(Remedy::Operator, "use an inference profile of the model"),
    documented("access", "Operation not allowed", "docs.aws.amazon.com/bedrock/latest/userguide/model-access.html")
        .fixed_by(Remedy::Operator, "request access to the model for the account"),
    documented("retired", "end of its life", "docs.aws.amazon.com/bedrock/latest/userguide/model-lifecycle.html")
        .fixed_by(Remedy::Operator, "the model is retired; use a newer one"),
    // Roles and texts.
    seen("starts-with-user", "must start with a user message", "2025-12-15", "github.com/elastic/kibana/pull/246393")
        .certain(REPAIRED),
    seen(
        "roles-alternate",
        "must alternate between user and assistant roles",
        "2024-10-01",
        "github.com/cline/cline/issues/431",
    )
    .certain(REPAIRED),
    seen(
        "ends-with-user",
        "does not support assistant message prefill",
        "2026-09-11",
        "github.com/NousResearch/hermes-agent/issues/108200",
    )
    .of_messages(),
    seen(
        "content-empty",
        "Add a ContentBlock object to the content field",
        "2025-09-20",
        "github.com/aws/aws-sdk-net/pull/4015",
    )
    .certain(REPAIRED),
    seen(
        "text-blank",
        "is blank. Add text to the text field",
        "2026-09-02",
        "github.com/NousResearch/hermes-agent/issues/55092",
    )
    .certain(REPAIRED),
    seen(
        "text-blank",
        "text content blocks must be non-empty",
        "2026-09-13",
        "github.com/anomalyco/opencode/pull/48846",
    )
    .certain(REPAIRED),
    seen(
        "text-blank",
        "text content blocks must contain non-whitespace text",
        "2026-06-08",
        "github.com/NousResearch/hermes-agent/pull/41985",
    )
    .certain(REPAIRED),
    seen(
        "text-trailing-space",
        "final assistant content cannot end with trailing whitespace",
        "2025-08-28",
        "github.com/langchain-ai/langchain-aws/pull/599",
    )
    .certain(REPAIRED),
    seen(
        "too-long",
        "Input is too long",
        "2026-09-18",
        "github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/pull/998",
    )
    .certain(TOO_LONG),
    documented("too-long", "prompt is too long", "docs.anthropic.com/en/docs/build-with-claude/context-windows")
        .certain(TOO_LONG),
    documented(
        "too-long",
        "maximum context length",
        "docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html",
    )
    .certain(TOO_LONG),
    documented(
        "system",
        "support system messages",
        "docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html",
    )
    .certain("the model does not support a system prompt; send none"),
];
