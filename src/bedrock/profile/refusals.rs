//! The refusals of Bedrock that were seen: wording, date and source of each.
//!
//! [`validate`](crate::bedrock::validate()) refuses in these words, and the client recognises them by a part that quotes
//! nothing of the request.

/// A refusal that was seen.
pub(in crate::bedrock) struct Refusal {
    /// The name of the rule.
    pub rule: &'static str,
    /// A part of Bedrock's message.
    pub part: &'static str,
    /// The date of the report, empty without one.
    pub seen: &'static str,
    /// The report, or the documentation.
    pub source: &'static str,
    /// What to do, if [`Remedy`] is not enough.
    pub advice: &'static str,
    pub remedy: Remedy,
}

/// What the client changes before it sends the refused request once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bedrock) enum Remedy {
    /// Nothing helps: the request cannot be sent.
    None,
    /// Nothing helps, and an operator must fix the access to the model.
    Operator,
    /// Ask for an answer in one piece.
    WithoutStreaming,
    WithoutCachePoints,
    /// Send tool calls and results as texts, and no tools.
    WithoutTools,
    /// Send tool calls and results as texts, and offer the tools.
    ToolsAsTexts,
}

const REPAIRED: &str = "`repair` prevents this; choose the profile of the model, or `Profile::strict()`";
const TOO_LONG: &str = "the prompt is too long for the model; summarise earlier";
const MESSAGE: &str = "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html";

const fn seen(rule: &'static str, part: &'static str, seen: &'static str, source: &'static str) -> Refusal {
    Refusal { rule, part, seen, source, advice: REPAIRED, remedy: Remedy::WithoutTools }
}

/// A refusal without a dated report.
const fn documented(rule: &'static str, part: &'static str, source: &'static str) -> Refusal {
    seen(rule, part, "", source)
}

impl Refusal {
    const fn fixed_by(self, remedy: Remedy, advice: &'static str) -> Self {
        Self { remedy, advice, ..self }
    }

    const fn of_messages(self) -> Self {
        Self { remedy: Remedy::ToolsAsTexts, ..self }
    }

    const fn certain(self, advice: &'static str) -> Self {
        self.fixed_by(Remedy::None, advice)
    }
}

/// All refusals. Sources are addresses without `https://`, most of them issues of `github.com`.
pub(in crate::bedrock) static REFUSALS: [Refusal; 59] = [
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
    // Tool calls and tool results.
    seen("tools-in-streams", "tool use in streaming mode", "2026-04-26", "github.com/earendil-works/pi/issues/3739")
        .fixed_by(Remedy::WithoutStreaming, "choose the profile of a model that does not stream with tools"),
    documented("tools", "support tool use", "github.com/langchain-ai/langchain-aws/issues/447")
        .fixed_by(Remedy::WithoutTools, "the model does not support tools; send none"),
    seen("tools-missing", "toolConfig field must be defined", "2026-06-08", "github.com/patriceckhart/zot/pull/18"),
    seen("tool-names-unique", "Tool names must be unique", "2025-06-03", "github.com/tailcallhq/forgecode/issues/892"),
    seen(
        "tool-name",
        "toolSpec.name' failed to satisfy constraint",
        "2026-09-07",
        "github.com/aws-samples/remote-swe-agents/pull/457",
    ),
    seen(
        "tool-name",
        "toolUse.name' failed to satisfy constraint",
        "2026-08-19",
        "github.com/NousResearch/hermes-agent/issues/90008",
    )
    .of_messages(),
    seen(
        "tool-call-id",
        "toolUseId' failed to satisfy constraint",
        "2026-08-21",
        "github.com/run-llama/llama_index/pull/22775",
    )
    .of_messages(),
    seen("tool-call-id", "id: String should match pattern", "2026-05-11", "github.com/awsl-project/maxx/pull/557")
        .of_messages(),
    seen("tool-call-ids-unique", "contain duplicate Ids", "2026-01-30", "github.com/BerriAI/litellm/issues/20047")
        .of_messages(),
    seen("tool-call-ids-unique", "ids must be unique", "2026-01-30", "github.com/BerriAI/litellm/issues/20047")
        .of_messages(),
    seen(
        "tool-results-missing",
        "Expected toolResult blocks",
        "2026-02-23",
        "github.com/zeroclaw-labs/zeroclaw/pull/1476",
    )
    .of_messages(),
    seen(
        "tool-results-surplus",
        "exceeds the number of toolUse blocks",
        "2025-03-07",
        "github.com/Just-Curieous/Curie/issues/16",
    )
    .of_messages(),
    seen(
        "tool-results-first",
        "at the beginning of this message",
        "2025-04-06",
        "github.com/langchain-ai/langchain-aws/issues/451",
    )
    .of_messages(),
    seen(
        "tool-calls-last",
        "ids were found without `tool_result` blocks",
        "2026-03-22",
        "github.com/BerriAI/litellm/issues/24361",
    )
    .of_messages(),
    seen(
        "text-beside-tools",
        "cannot be provided in the same turn",
        "2025-11-21",
        "github.com/strands-agents/harness-sdk/issues/1223",
    )
    .of_messages(),
    seen(
        "tool-input",
        "Provide a json object for the field",
        "2026-08-13",
        "github.com/deepset-ai/haystack-core-integrations/pull/3766",
    )
    .of_messages(),
    seen(
        "tool-result-status",
        "support the status field",
        "2025-07-09",
        "github.com/strands-agents/harness-sdk/issues/393",
    )
    .of_messages(),
    seen(
        "tool-result-image",
        "support the image field for user messages",
        "2026-09-21",
        "github.com/anomalyco/opencode/pull/50272",
    )
    .of_messages(),
    seen(
        "tool-result-empty",
        "cannot be empty when status value is error",
        "2026-06-01",
        "github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15",
    )
    .of_messages(),
    seen(
        "tool-schema-type",
        "inputSchema.json.type must be one of",
        "2025-10-08",
        "github.com/aaif-goose/goose/pull/5064",
    ),
    seen(
        "tool-schema",
        "does not support oneOf, allOf, or anyOf at the top level",
        "2025-04-11",
        "github.com/aaif-goose/goose/issues/2150",
    ),
    seen(
        "tool-schema",
        "toolSpec/inputSchema/json: extraneous key",
        "2025-04-09",
        "github.com/lastmile-ai/mcp-agent/pull/126",
    ),
    seen("tool-choice", "support the toolConfig.toolChoice", "2025-01-14", "github.com/vercel/ai/issues/4396"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_a_date_and_a_source() {
        for (at, refusal) in REFUSALS.iter().enumerate() {
            let date: Vec<_> = refusal.seen.split('-').filter_map(|part| part.parse::<u32>().ok()).collect();
            assert!(matches!(date[..], [] | [2024..=2026, 1..=12, 1..=31]), "{}", refusal.part);
            assert!(refusal.source.contains('/') && !refusal.source.starts_with("https"), "{}", refusal.part);
            assert!(REFUSALS[..at].iter().all(|before| before.part != refusal.part), "{}", refusal.part);
        }
    }
}
