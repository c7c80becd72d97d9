//! [`Profile`]: what differs between models.

/// What a model takes, where models differ.
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
    /// Whether a conversation that ends with the assistant is refused, instead of continued.
    pub must_end_with_user: bool,
    /// Whether a text of the assistant that ends the conversation, and is to be continued, may not end with white space.
    pub last_text_trimmed: bool,
    /// Whether results of tools have to stand before anything else in their message.
    pub tool_results_first: bool,
    /// Whether a message with tool calls or results may say anything else.
    pub text_beside_tools: bool,
    /// Whether it streams an answer to a request with tools; else the answer comes whole.
    pub tools_while_streaming: bool,
    /// Whether it takes videos.
    pub takes_videos: bool,
    /// Whether Bedrock fetches for it what is at an `s3://` URL; else only bytes are taken.
    pub takes_s3: bool,
    /// Images in a request.
    pub max_images: usize,
    /// Bytes of an image.
    pub max_image_bytes: usize,
    /// Documents in a request.
    pub max_documents: usize,
    /// Bytes of a document.
    pub max_document_bytes: usize,
    /// Where a request may have cache points.
    pub cache_points: CachePlaces,
    /// Cache points in a request.
    pub max_cache_points: usize,
}

/// Where a model takes cache points.
///
/// A model that knows none refuses a request with one, and so does Nova at the tools and right behind a tool's result,
/// whatever the [table of models](https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html) leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CachePlaces {
    /// Nowhere.
    Nowhere,
    /// In the system prompt, and in messages behind texts.
    SystemAndTexts,
    /// At the tools, in the system prompt, and anywhere in messages.
    Everywhere,
}

/// What Converse asks of every model.
impl Default for Profile {
    fn default() -> Self {
        Self {
            must_end_with_user: false,
            last_text_trimmed: false,
            tool_results_first: false,
            text_beside_tools: true,
            tools_while_streaming: true,
            takes_videos: true,
            takes_s3: true,
            max_images: 20,
            // 3.75 MB, which is 5 MB in base64, and 4.5 MB; Bedrock's MB are of 1,048,576 bytes.
            max_image_bytes: 3_932_160,
            max_documents: 5,
            max_document_bytes: 4_718_592,
            cache_points: CachePlaces::Nowhere,
            max_cache_points: 4,
        }
    }
}

/// The models of Anthropic that continue what the assistant has begun. The list is closed: newer ones do not.
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

/// The models of Anthropic without a prompt cache.
const WITHOUT_CACHE: [&str; 6] =
    ["claude-v", "claude-instant", "claude-3-opus", "claude-3-sonnet", "claude-3-haiku", "claude-3-5-sonnet"];

/// What follows the provider's name of models that refuse tools in a stream, and a text beside them: the
/// [table of features](https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html)
/// for the first, what Bedrock was seen to refuse for the second.
const WITHOUT_STREAMED_TOOLS: [&str; 5] =
    ["meta.llama", "mistral.mistral-large-24", "mistral.mistral-small-24", "mistral.pixtral", "writer.palmyra"];
const WITHOUT_TEXT_BESIDE_TOOLS: [&str; 3] = ["meta.llama", "mistral.mistral-large-24", "mistral.mistral-small-24"];

impl Profile {
    /// What the newer models of Anthropic ask beyond that, from Claude 4.6 on.
    pub fn claude() -> Self {
        Self {
            must_end_with_user: true,
            last_text_trimmed: true,
            tool_results_first: true,
            takes_videos: false,
            takes_s3: false,
            cache_points: CachePlaces::Everywhere,
            ..Self::default()
        }
    }

    /// The profile of a model by its id, or by that or the ARN of an inference profile. An id that does not name the
    /// model gets the default.
    pub fn for_model(model_id: &str) -> Self {
        if let Some((_, model)) = model_id.split_once("anthropic.") {
            let is_of = |models: &[&str]| models.iter().any(|older| model.starts_with(older));
            let cache_points = if is_of(&WITHOUT_CACHE) { CachePlaces::Nowhere } else { CachePlaces::Everywhere };
            return Self { must_end_with_user: !is_of(&CONTINUES_ASSISTANT), cache_points, ..Self::claude() };
        }
        let is_of = |models: &[&str]| models.iter().any(|model| model_id.contains(model));
        let is_nova = is_of(&["amazon.nova"]);
        let names_model = model_id.contains('.');
        Self {
            text_beside_tools: !is_of(&WITHOUT_TEXT_BESIDE_TOOLS),
            tools_while_streaming: !is_of(&WITHOUT_STREAMED_TOOLS),
            // Nova alone, as far as is known.
            takes_s3: is_nova || !names_model,
            cache_points: if is_nova { CachePlaces::SystemAndTexts } else { CachePlaces::Nowhere },
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_by_model_id() {
        let older = Profile { must_end_with_user: false, ..Profile::claude() };
        let oldest = Profile { cache_points: CachePlaces::Nowhere, ..older.clone() };
        let nova = Profile { cache_points: CachePlaces::SystemAndTexts, ..Profile::default() };
        let named = Profile { takes_s3: false, ..Profile::default() };
        let palmyra = Profile { tools_while_streaming: false, ..named.clone() };
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
