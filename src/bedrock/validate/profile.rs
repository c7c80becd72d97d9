//! [`Profile`]: the differences between models.

/// The capabilities and limits of a model on Bedrock.
///
/// [`for_model`](Self::for_model) knows the profiles of many models. `Default` has the limits that Converse sets for
/// all models. Change a field if Bedrock behaves differently for your model.
///
/// ```
/// use verbale::bedrock::Profile;
///
/// let mut profile = Profile::for_model("eu.anthropic.claude-sonnet-5");
/// assert!(profile.must_end_with_user);
/// profile.max_images = 100;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Whether the model refuses a conversation that ends with the assistant. Other models continue it.
    pub must_end_with_user: bool,
    /// Whether the model refuses white space at the end of a conversation that ends with the assistant.
    pub last_text_trimmed: bool,
    /// Whether tool results must come first in their message.
    pub tool_results_first: bool,
    /// Whether a message with tool calls or results may have other contents.
    pub text_beside_tools: bool,
    /// Whether the model streams its answer to a request with tools. Otherwise the answer arrives in one piece.
    pub streams_with_tools: bool,
    /// Whether the model supports videos.
    pub supports_videos: bool,
    /// Whether Bedrock fetches attachments from `s3://` URLs for the model.
    pub supports_s3: bool,
    /// The maximum number of images in a request.
    pub max_images: usize,
    /// The maximum size of an image, in bytes.
    pub max_image_bytes: usize,
    /// The maximum number of documents in a request.
    pub max_documents: usize,
    /// The maximum size of a document, in bytes.
    pub max_document_bytes: usize,
    /// The maximum number of cache points in a request.
    pub max_cache_points: usize,
    pub(in crate::bedrock) cache_points: CachePlaces,
}

/// The places where a model accepts cache points.
///
/// A model without a prompt cache refuses any cache point. Nova also refuses one after a tool or a tool result, which the
/// [table of models](https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html) does not state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bedrock) enum CachePlaces {
    Nowhere,
    /// In the system prompt, and after texts in messages.
    SystemAndTexts,
    /// After the tools, in the system prompt, and anywhere in messages.
    Everywhere,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            must_end_with_user: false,
            last_text_trimmed: false,
            tool_results_first: false,
            text_beside_tools: true,
            streams_with_tools: true,
            supports_videos: true,
            supports_s3: true,
            max_images: 20,
            // 3.75 MB, which is 5 MB in base64. One of Bedrock's MB has 1,048,576 bytes.
            max_image_bytes: 3_932_160,
            max_documents: 5,
            // 4.5 MB.
            max_document_bytes: 4_718_592,
            cache_points: CachePlaces::Nowhere,
            max_cache_points: 4,
        }
    }
}

/// Models of Anthropic that continue a message of the assistant. The list is closed: newer models refuse it.
const CONTINUES_ASSISTANT: [&str; 9] = [
    "claude-v",
    "claude-instant",
    "claude-3",
    "claude-opus-4-2025",
    "claude-opus-4-1",
    "claude-opus-4-5",
    "claude-sonnet-4-2025",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
];

/// Models of Anthropic without a prompt cache.
const WITHOUT_CACHE: [&str; 6] =
    ["claude-v", "claude-instant", "claude-3-opus", "claude-3-sonnet", "claude-3-haiku", "claude-3-5-sonnet"];

/// Models that cannot stream with tools, from the
/// [table of features](https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html).
const WITHOUT_STREAMED_TOOLS: [&str; 5] =
    ["meta.llama", "mistral.mistral-large-24", "mistral.mistral-small-24", "mistral.pixtral", "writer.palmyra"];
/// Models for which Bedrock refused a text beside tool calls or results.
const WITHOUT_TEXT_BESIDE_TOOLS: [&str; 3] = ["meta.llama", "mistral.mistral-large-24", "mistral.mistral-small-24"];

impl Profile {
    /// The profile of Anthropic's models from Claude 4.6 on.
    pub(in crate::bedrock) fn claude() -> Self {
        Self {
            must_end_with_user: true,
            last_text_trimmed: true,
            tool_results_first: true,
            supports_videos: false,
            supports_s3: false,
            cache_points: CachePlaces::Everywhere,
            ..Self::default()
        }
    }

    /// Returns the profile of a model, by its id or by the id or ARN of an inference profile.
    ///
    /// Returns the default if the id does not name the model. The ARN of an application inference profile does not;
    /// pass the id of its model instead. The default has no cache points.
    pub fn for_model(model_id: &str) -> Self {
        if let Some((_, model)) = model_id.split_once("anthropic.") {
            let is_any = |models: &[&str]| models.iter().any(|older| model.starts_with(older));
            let cache_points = if is_any(&WITHOUT_CACHE) { CachePlaces::Nowhere } else { CachePlaces::Everywhere };
            return Self { must_end_with_user: !is_any(&CONTINUES_ASSISTANT), cache_points, ..Self::claude() };
        }
        let is_any = |models: &[&str]| models.iter().any(|model| model_id.contains(model));
        let is_nova = is_any(&["amazon.nova"]);
        let names_model = model_id.contains('.');
        Self {
            text_beside_tools: !is_any(&WITHOUT_TEXT_BESIDE_TOOLS),
            streams_with_tools: !is_any(&WITHOUT_STREAMED_TOOLS),
            // Only Nova is known to read from S3.
            supports_s3: is_nova || !names_model,
            cache_points: if is_nova { CachePlaces::SystemAndTexts } else { CachePlaces::Nowhere },
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_id_selects_the_profile() {
        let older = Profile { must_end_with_user: false, ..Profile::claude() };
        let oldest = Profile { cache_points: CachePlaces::Nowhere, ..older.clone() };
        let nova = Profile { cache_points: CachePlaces::SystemAndTexts, ..Profile::default() };
        let named = Profile { supports_s3: false, ..Profile::default() };
        let palmyra = Profile { streams_with_tools: false, ..named.clone() };
        let llama = Profile { text_beside_tools: false, ..palmyra.clone() };
        for (id, profile) in [
            ("anthropic.claude-v2:1", &oldest),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", &oldest),
            ("anthropic.claude-3-5-haiku-20241022-v1:0", &older),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", &older),
            ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", &older),
            ("global.anthropic.claude-opus-4-6-v1", &Profile::claude()),
            ("us.anthropic.claude-sonnet-5", &Profile::claude()),
            (
                "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-8",
                &Profile::claude(),
            ),
            ("eu.amazon.nova-lite-v1:0", &nova),
            ("us.meta.llama4-maverick-17b-instruct-v1:0", &llama),
            ("mistral.mistral-large-2407-v1:0", &llama),
            ("mistral.mistral-large-3-675b-instruct", &named),
            ("us.writer.palmyra-x5-v1:0", &palmyra),
            ("openai.gpt-oss-120b-1:0", &named),
            ("arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc", &Profile::default()),
        ] {
            assert_eq!(Profile::for_model(id), *profile, "{id}");
        }
    }
}
