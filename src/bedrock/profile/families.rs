//! The profile of each family of models, as a table.
//!
//! Sources, besides [`service`](super::service) and the table in `refusals`: the
//! [table of features](https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html)
//! (tools in streams, images), and the
//! [table of prompt caches](https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html).

use super::service;
use super::{CachePlaces, Profile, Schemas, ToolChoices};
use crate::bedrock::identifier::Characters;

/// The limits of Converse for all models.
pub(super) const CONVERSE: Profile = Profile {
    must_end_with_user: false,
    last_text_trimmed: false,
    tool_results_first: false,
    tool_calls_last: false,
    text_beside_tools: true,
    streams_with_tools: true,
    ids: Characters::Wide,
    result_status: true,
    result_images: true,
    schemas: Schemas::Any,
    tool_choice: ToolChoices::All,
    temperature_and_top_p: true,
    supports_images: true,
    supports_videos: true,
    supports_s3: true,
    max_images: service::MAX_IMAGES,
    max_image_bytes: service::MAX_IMAGE_BYTES,
    max_image_side: service::MAX_IMAGE_SIDE,
    max_documents: service::MAX_DOCUMENTS,
    max_document_bytes: service::MAX_DOCUMENT_BYTES,
    max_attachments: service::MAX_IMAGES + service::MAX_DOCUMENTS,
    max_cache_points: service::MAX_CACHE_POINTS,
    cache_points: CachePlaces::Nowhere,
};

/// A family without documented limits of its own. Only Nova is known to read from S3.
const NAMED: Profile = Profile { result_status: false, result_images: false, supports_s3: false, ..CONVERSE };

/// Claude from version 4.6 on.
pub(super) const CLAUDE: Profile = Profile {
    must_end_with_user: true,
    last_text_trimmed: true,
    tool_results_first: true,
    tool_calls_last: true,
    ids: Characters::Narrow,
    schemas: Schemas::PlainTop,
    temperature_and_top_p: false,
    supports_videos: false,
    supports_s3: false,
    max_attachments: 20,
    cache_points: CachePlaces::Everywhere,
    ..CONVERSE
};
/// Claude 4.1 and 4.5, which continue a message of the assistant.
const CLAUDE_4_5: Profile = Profile { must_end_with_user: false, ..CLAUDE };
const CLAUDE_4: Profile = Profile { temperature_and_top_p: true, ..CLAUDE_4_5 };
/// Claude without a prompt cache.
const CLAUDE_3: Profile = Profile { cache_points: CachePlaces::Nowhere, ..CLAUDE_4 };

const NOVA: Profile = Profile { schemas: Schemas::BasicTop, cache_points: CachePlaces::SystemAndTexts, ..CONVERSE };
const NOVA_TEXT: Profile = Profile { supports_images: false, supports_videos: false, ..NOVA };

const LLAMA_4: Profile = Profile {
    text_beside_tools: false,
    streams_with_tools: false,
    result_status: true,
    result_images: true,
    tool_choice: ToolChoices::Auto,
    supports_videos: false,
    ..NAMED
};
const LLAMA_3: Profile = Profile { result_images: false, supports_images: false, ..LLAMA_4 };
const LLAMA_3_VISION: Profile = Profile { supports_images: true, ..LLAMA_3 };

const MISTRAL: Profile = Profile { result_status: true, supports_videos: false, ..NAMED };
const PIXTRAL: Profile = Profile { streams_with_tools: false, ..MISTRAL };
/// Mistral's models of 2023 and 2024.
const MISTRAL_TEXT: Profile =
    Profile { text_beside_tools: false, tool_choice: ToolChoices::AutoAndAny, supports_images: false, ..PIXTRAL };

const COHERE: Profile = Profile { result_status: true, supports_images: false, supports_videos: false, ..NAMED };
const PALMYRA: Profile = Profile { streams_with_tools: false, supports_images: false, supports_videos: false, ..NAMED };
const TEXT: Profile = Profile { supports_images: false, supports_videos: false, ..NAMED };

/// Parts of model ids, with the profile of their family. The first row whose part is in an id applies.
///
/// Each row of an older Claude model lists only that model, because newer ones refuse what it accepts.
const FAMILIES: [(&str, Profile); 37] = [
    ("anthropic.claude-v", CLAUDE_3),
    ("anthropic.claude-instant", CLAUDE_3),
    ("anthropic.claude-3-opus", CLAUDE_3),
    ("anthropic.claude-3-sonnet", CLAUDE_3),
    ("anthropic.claude-3-haiku", CLAUDE_3),
    ("anthropic.claude-3-5-sonnet", CLAUDE_3),
    ("anthropic.claude-3", CLAUDE_4),
    ("anthropic.claude-opus-4-2025", CLAUDE_4),
    ("anthropic.claude-sonnet-4-2025", CLAUDE_4),
    ("anthropic.claude-opus-4-1", CLAUDE_4_5),
    ("anthropic.claude-opus-4-5", CLAUDE_4_5),
    ("anthropic.claude-sonnet-4-5", CLAUDE_4_5),
    ("anthropic.claude-haiku-4-5", CLAUDE_4_5),
    ("anthropic.", CLAUDE),
    ("amazon.nova-micro", NOVA_TEXT),
    ("amazon.nova", NOVA),
    ("meta.llama4", LLAMA_4),
    ("meta.llama3-2-11b", LLAMA_3_VISION),
    ("meta.llama3-2-90b", LLAMA_3_VISION),
    ("meta.llama", LLAMA_3),
    ("mistral.pixtral", PIXTRAL),
    ("mistral.mistral-7b", MISTRAL_TEXT),
    ("mistral.mixtral", MISTRAL_TEXT),
    ("mistral.mistral-large-24", MISTRAL_TEXT),
    ("mistral.mistral-small-24", MISTRAL_TEXT),
    ("mistral.", MISTRAL),
    ("cohere.command", COHERE),
    ("writer.palmyra", PALMYRA),
    ("ai21.", TEXT),
    ("amazon.titan", TEXT),
    ("deepseek.", TEXT),
    ("minimax.", TEXT),
    ("moonshot.", TEXT),
    ("openai.gpt-oss", TEXT),
    ("qwen.qwen3-coder", TEXT),
    ("zai.", TEXT),
    (".", NAMED),
];

pub(super) fn of(model_id: &str) -> Profile {
    FAMILIES.into_iter().find(|(part, _)| model_id.contains(part)).map_or(CONVERSE, |(_, profile)| profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_id_selects_the_profile() {
        for (id, profile) in [
            ("anthropic.claude-v2:1", CLAUDE_3),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", CLAUDE_3),
            ("anthropic.claude-3-5-haiku-20241022-v1:0", CLAUDE_4),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", CLAUDE_4),
            ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", CLAUDE_4_5),
            ("global.anthropic.claude-opus-4-6-v1", CLAUDE),
            ("us.anthropic.claude-sonnet-5", CLAUDE),
            ("arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-8", CLAUDE),
            ("eu.amazon.nova-lite-v1:0", NOVA),
            ("amazon.nova-micro-v1:0", NOVA_TEXT),
            ("us.meta.llama4-maverick-17b-instruct-v1:0", LLAMA_4),
            ("us.meta.llama3-3-70b-instruct-v1:0", LLAMA_3),
            ("mistral.mistral-large-2407-v1:0", MISTRAL_TEXT),
            ("mistral.mistral-large-3-675b-instruct", MISTRAL),
            ("us.writer.palmyra-x5-v1:0", PALMYRA),
            ("openai.gpt-oss-120b-1:0", TEXT),
            ("global.openai.gpt-6-astra", NAMED),
            ("moonshotai.kimi-k2.5", NAMED),
            ("arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc", CONVERSE),
        ] {
            assert_eq!(of(id), profile, "{id}");
        }
    }
}
