//! Refusals of tools, tool calls and tool results.

use super::{Refusal, Remedy, documented, seen};

pub(super) static TOOLS: [Refusal; 24] = [
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
    seen("tool-sequence", "invalid sequence as part of ToolUse", "2026-08-13", "github.com/SEMOSS/Semoss/pull/2892")
        .fixed_by(Remedy::AskAgain, "ask again; Nova fails on tools whose names have a hyphen, so rename them"),
];
